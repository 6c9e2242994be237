"""What is in one cluster comes into its mirror and stays the same, whatever the network and the server do."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from kschedweb.cluster.models import Change, Cluster
from kschedweb.cluster.services import cluster_delete
from kschedweb.mirror import services
from kschedweb.mirror.models import Mirror
from kschedweb.mirror.services import Copied, NotHeldError
from tests.builders import make_node, make_pod
from tests.waiting import eventually
from tests.web.mirror.conftest import Followed
from tests.web.mirror.proxy import Fault, Passing

pytestmark = pytest.mark.django_db(transaction=True)
CREATED = "2026-01-01T00:00:00Z"
EVENTS_BYTES = 5_000  # some events of a watch, and a part of the next


def node(name: str, **labels: str) -> dict[str, Any]:
    return make_node(name).capacity(cpu="8", memory="16Gi", pods="110").label(**labels).created(CREATED).manifest()


def pod(name: str, **labels: str) -> dict[str, Any]:
    return make_pod(name).req(cpu="100m").label(**labels).created(CREATED).manifest()


def _world(followed: Followed, pods: int = 20) -> None:
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p", "metadata": {"name": "s"}}
    followed.put(node("n1"), node("n2"), storage, *[pod(f"p{i}") for i in range(pods)])


def test_everything_is_listed_and_then_followed_with_foreign_uids(followed: Followed) -> None:
    _world(followed)
    with followed.following_on():
        assert followed.is_equal()
        followed.put(pod("late", a="b"), node("n1", zone="a"))
        followed.delete("Pod", "p3", "default")
        followed.soon(followed.is_equal)
        followed.soon(lambda: followed.row().state == "following" and followed.row().lag_seconds is not None)
    row = followed.row()
    assert row.lag_seconds is not None and row.lag_seconds >= 0
    assert row.positions["Pod"] and row.positions["Node"] and row.lists >= 15


def test_every_change_is_an_entry_of_our_own_log(followed: Followed) -> None:
    _world(followed, pods=1)
    with followed.following_on():
        for value in "abc":
            followed.put(pod("p0", step=value))
        followed.soon(followed.is_equal)
    entries = Change.objects.filter(cluster=followed.mirror, kind="Pod", name="p0").order_by("rv")
    assert [each.operation for each in entries] == ["created", *["updated"] * 3]
    assert {each.actor for each in entries} == {"mirror"}
    rvs = list(Change.objects.filter(cluster=followed.mirror).order_by("rv").values_list("rv", flat=True))
    assert rvs == list(range(1, rvs[-1] + 1))


def test_nothing_but_get_leaves_and_secrets_are_never_asked_for(followed: Followed) -> None:
    _world(followed)
    with followed.following_on():
        followed.proxy.cut()
        followed.put(pod("late"))
        followed.soon(followed.is_equal)
    assert set(followed.proxy.verbs) == {"GET"}
    paths = {each.path for each in followed.proxy.seen}
    assert not [path for path in paths if "secret" in path or "configmap" in path]
    assert f"/k8s/{followed.source.name}/api/v1/pods" in paths


def test_namesake_with_another_uid_is_deleted_and_created(followed: Followed) -> None:
    _world(followed, pods=1)
    with followed.following_on():
        followed.delete("Pod", "p0", "default")
        again = pod("p0")
        again["metadata"]["uid"] = "another"
        followed.put(again)
        followed.soon(followed.is_equal)
    entries = Change.objects.filter(cluster=followed.mirror, kind="Pod").order_by("rv").values_list("operation", "uid")
    assert list(entries) == [("created", "pod-default/p0"), ("deleted", "pod-default/p0"), ("created", "another")]


def test_lists_come_in_pages(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.mirror.source.PAGE", 7)
    _world(followed, pods=30)
    with followed.following_on():
        assert followed.is_equal()
    assert any("continue" in each.query for each in followed.proxy.seen)


def test_cut_connections_lose_and_repeat_nothing(followed: Followed) -> None:
    _world(followed, pods=5)
    with followed.following_on():
        followed.proxy.plan = lambda passing: Fault(cut_after=EVENTS_BYTES) if passing.is_watch else None
        followed.proxy.cut()
        for number in range(60):
            followed.put(pod("counter", n=str(number)))
        followed.soon(followed.is_equal)
    entries = Change.objects.filter(cluster=followed.mirror, kind="Pod", name="counter")
    assert entries.count() == 60
    assert followed.proxy.lists_of("pods") == 1
    assert followed.proxy.watches_of("pods") > 1


@pytest.mark.parametrize("how", ["status", "event"])
def test_forgotten_position_leads_to_a_list_that_deletes_what_vanished(followed: Followed, how: str) -> None:
    _world(followed)
    followed.follow_once()
    followed.delete("Pod", "p1", "default")
    followed.delete("Node", "n2")
    followed.put(pod("late"))
    told: set[str] = set()

    def forget(passing: Passing) -> Fault | None:
        if passing.is_watch and passing.path not in told:
            told.add(passing.path)
            return Fault(status=410) if how == "status" else Fault(error_event=True)
        return None

    followed.proxy.plan = forget
    with followed.following():
        followed.soon(lambda: followed.proxy.lists_of("pods") == 2)
        followed.soon(followed.is_equal)
        followed.soon(followed.is_synced)


def test_busy_and_broken_servers_are_asked_again(followed: Followed) -> None:
    _world(followed)
    faults = itertools.cycle(
        [Fault(status=500), Fault(status=429, retry_after=1), None, Fault(pause=0.2), Fault(cut_after=40), None]
    )
    guard = threading.Lock()

    def fault(_: Passing) -> Fault | None:
        with guard:
            return next(faults)

    followed.proxy.plan = fault
    with followed.following_on():
        followed.put(pod("late"))
        followed.soon(followed.is_equal)
        followed.soon(lambda: followed.row().failures > 0)


def test_list_that_breaks_off_deletes_nothing(followed: Followed) -> None:
    _world(followed)
    followed.follow_once()
    before = Change.objects.filter(cluster=followed.mirror, operation="deleted").count()
    Mirror.objects.filter(pk=followed.mirror.pk).update(positions={})
    followed.proxy.plan = lambda passing: None if passing.is_watch else Fault(cut_after=200)
    with followed.following():
        followed.soon(lambda: followed.row().failures > 5)
    assert Change.objects.filter(cluster=followed.mirror, operation="deleted").count() == before


def test_restart_goes_on_without_a_list(followed: Followed) -> None:
    _world(followed)
    followed.follow_once()
    followed.put(pod("meanwhile"))
    followed.delete("Pod", "p2", "default")
    with followed.following():
        followed.soon(followed.is_equal)
    assert followed.proxy.lists_of("pods") == 1


def test_kind_that_may_not_be_read_is_left_out_and_named(followed: Followed) -> None:
    _world(followed)
    followed.proxy.plan = lambda passing: Fault(status=403) if passing.path.endswith("storageclasses") else None
    with followed.following_on():
        followed.soon(lambda: followed.row().collections.get("StorageClass", [""])[0] == "forbidden")
        followed.soon(lambda: followed.row().state == "following")


def test_pods_that_may_not_be_read_are_a_problem(followed: Followed) -> None:
    _world(followed)
    followed.proxy.plan = lambda passing: Fault(status=403) if passing.path.endswith("/pods") else None
    with followed.following():
        followed.soon(lambda: followed.row().state == "problem")
        assert followed.row().problem == "Pod: fault 403"
        assert not followed.is_synced()


def test_one_process_follows_and_an_older_one_cannot_write(followed: Followed) -> None:
    (held,) = services.mirrors_take(holder="first")
    assert not services.mirrors_take(holder="second")
    Mirror.objects.filter(pk=followed.mirror.pk).update(held_until="2020-01-01T00:00:00Z")
    (taken,) = services.mirrors_take(holder="second")
    assert taken.epoch > held.epoch
    copied = [Copied({**node("n9")})]
    with pytest.raises(NotHeldError):
        services.batch_store(held=held, copied=copied, positions={"Node": "5"}, is_synced=True)
    assert not Change.objects.filter(cluster=followed.mirror, kind="Node").exists()
    assert services.batch_store(held=taken, copied=copied, positions={"Node": "5"}, is_synced=None) == 1


def test_stopped_mirror_is_followed_by_nobody(followed: Followed) -> None:
    _world(followed)
    with followed.following_on() as session:
        services.mirror_change(cluster_id=followed.mirror.pk, is_wanted=False)
        followed.soon(lambda: session.is_over)
    assert not services.mirrors_take(holder="x")
    services.mirror_change(cluster_id=followed.mirror.pk, is_wanted=True)
    with followed.following():
        followed.put(pod("later"))
        followed.soon(followed.is_equal)


def test_object_that_cannot_be_read_here_is_left_out_and_named(followed: Followed) -> None:
    (held,) = services.mirrors_take(holder="x")
    broken = {**pod("odd"), "spec": {"containers": "none"}}
    services.batch_store(held=held, copied=[Copied(broken), Copied(pod("good"))], positions={}, is_synced=None)
    assert [each[:2] for each in followed.row().unreadable] == [["Pod", "default/odd"]]
    assert Change.objects.filter(cluster=followed.mirror, kind="Pod").count() == 1


def test_cluster_that_is_deleted_is_followed_no_more(followed: Followed) -> None:
    _world(followed)
    with followed.following_on() as session:
        cluster_delete(cluster_id=followed.mirror.pk)
        eventually(lambda: session.is_over)
    assert not Cluster.objects.filter(pk=followed.mirror.pk).exists()
