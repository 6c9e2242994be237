"""Leases on real PostgreSQL: who may lead, and that nobody who was replaced can write."""

import threading
from datetime import UTC, datetime

import pytest
from django.db import InternalError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from kschedweb.cluster.models import Cluster, Event, Node, Pod
from kschedweb.scheduling import leases
from kschedweb.scheduling.leases import LeaseView
from kschedweb.scheduling.models import Binding, Lease, LeaseFence
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web.scheduling.electors import Clock, make_elector

pytestmark = pytest.mark.django_db


NOW = datetime(2026, 11, 21, tzinfo=UTC)


def view_of(cluster: Cluster) -> LeaseView:
    return next(view for view in leases.leases_list() if view.cluster_id == cluster.pk)


def test_acquire_raises_the_epoch_each_time(cluster: Cluster) -> None:
    first = leases.lease_acquire(view=view_of(cluster), holder="a", duration_seconds=15, now=NOW)
    second = leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, now=NOW)
    assert first is not None and second is not None
    assert second[1] == first[1] + 1
    assert Lease.objects.get(pk=cluster.pk).transitions == 2


def test_acquire_fails_when_somebody_wrote_the_lease_since(cluster: Cluster) -> None:
    stale = view_of(cluster)
    assert leases.lease_acquire(view=stale, holder="a", duration_seconds=15, now=NOW)
    assert leases.lease_acquire(view=stale, holder="b", duration_seconds=15, now=NOW) is None
    assert LeaseFence.objects.get(pk=cluster.pk).holder == "a"


@cases(
    "change",
    ("the holder itself wrote it since", {"version": -1}),
    ("a version that was never written", {"version": 1}),
    ("another holds it", {"holder": "b"}),
)
def test_renewal_writes_nothing_when_the_lease_is_not_as_it_was_read(
    cluster: Cluster, change: dict[str, int | str]
) -> None:
    taken = leases.lease_acquire(view=view_of(cluster), holder="a", duration_seconds=15, now=NOW)
    assert taken is not None
    known, _ = taken
    stale = LeaseView(
        known.cluster_id, str(change.get("holder", known.holder)), known.version + int(change.get("version", 0)), 15
    )
    other = Cluster.objects.create(name="other")
    free = view_of(other)
    assert leases.leases_renew(views=[stale, free], duration_seconds=40).keys() == {other.pk}
    row = Lease.objects.get(pk=cluster.pk)
    assert (row.holder, row.version, row.duration_seconds, row.renewed_at) == ("a", known.version, 15, NOW)
    assert leases.leases_renew(views=[known], duration_seconds=40)[cluster.pk].version == known.version + 1


def test_takeover_inherits_pending_bindings_and_voids_those_of_pods_and_nodes_that_are_gone(cluster: Cluster) -> None:
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="a")
    Node.objects.create(cluster=cluster, name="n", uid="n", manifest={})
    places = {"here": "n", "gone": "n", "bound": "n", "leaving": "n", "homeless": "m", "done": "n"}
    for name, node_name in places.items():
        if name != "gone":
            Pod.objects.create(
                cluster=cluster, namespace="d", name=name, uid=name, created_at=NOW, manifest={},
                node_name="other" if name == "bound" else "", deletion_timestamp=NOW if name == "leaving" else None,
            )  # fmt: skip
        Binding.objects.create(
            cluster=cluster, epoch=epoch, namespace="d", name=name, pod_uid=name, node_name=node_name, created_at=NOW,
            status="done" if name == "done" else "pending",
        )  # fmt: skip
    leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, now=NOW)
    found = {name: (status, at - epoch) for name, status, at in Binding.objects.values_list("name", "status", "epoch")}
    assert found == {
        "here": ("pending", 1),
        **dict.fromkeys(("gone", "bound", "leaving", "homeless"), ("superseded", 0)),
        "done": ("done", 0),
    }


@pytest.mark.django_db(transaction=True)
def test_takeover_waits_for_a_writer_under_the_old_epoch(cluster: Cluster) -> None:
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="a")
    other = connection.copy()
    try:
        with transaction.atomic():
            leases.fence_hold(cluster_id=cluster.pk, epoch=epoch)
            other.connect()
            with pytest.raises(OperationalError, match="lock timeout"), other.cursor() as cursor:
                cursor.execute("SET lock_timeout = '100ms'")
                cursor.execute("UPDATE lease_fences SET epoch = epoch + 1 WHERE cluster_id = %s", [cluster.pk])
    finally:
        other.close()
    assert leases.fence_raise(cluster_id=cluster.pk, holder="b") == epoch + 1


@pytest.mark.django_db(transaction=True)
def test_silent_transaction_does_not_keep_a_takeover_waiting(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "IDLE_IN_TRANSACTION_MS", 100)
    epoch = leases.fence_raise(cluster_id=cluster.pk, holder="frozen")
    held, over = threading.Event(), threading.Event()

    def freeze() -> None:
        try:
            with transaction.atomic():
                leases.fence_hold(cluster_id=cluster.pk, epoch=epoch)
                held.set()
                over.wait(HANG_SECONDS)
                Cluster.objects.filter(pk=cluster.pk).update(seed=99)
        except InternalError:
            pass
        finally:
            connection.close()

    frozen = threading.Thread(target=freeze)
    frozen.start()
    try:
        assert held.wait(HANG_SECONDS)
        taken = leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, lock_seconds=HANG_SECONDS)
    finally:
        over.set()
        frozen.join()
    assert taken is not None and taken[1] == epoch + 1
    cluster.refresh_from_db()
    assert cluster.seed != 99


def test_fence_is_waited_for_half_of_the_time(cluster: Cluster) -> None:
    with CaptureQueriesContext(connection) as queries:
        leases.lease_acquire(view=view_of(cluster), holder="b", duration_seconds=15, lock_seconds=10)
    told = [query["sql"] for query in queries if "lock_timeout" in query["sql"]]
    assert ["10000ms" in told[0], "5000ms" in told[1]] == [True, True], told


def test_release_leaves_an_empty_holder_and_a_second(cluster: Cluster) -> None:
    leader = make_elector("leader", Clock())
    leader.tick()
    assert leader.stop() == [cluster.pk]
    lease = Lease.objects.get(pk=cluster.pk)
    assert (lease.holder, lease.duration_seconds, lease.transitions) == ("", 1, 1)
    assert lease.acquired_at == lease.renewed_at
    notes = list(
        Event.objects.filter(cluster=cluster, reason="LeaderElection").order_by("id").values_list("note", flat=True)
    )
    assert notes == ["leader became leader", "leader stopped leading"]
    leader.tick()  # whoever was told to stop takes nothing
    assert leader.led_clusters() == []


def test_own_released_lease_taken_again_counts_as_a_transition(cluster: Cluster) -> None:
    make_elector("same", Clock()).tick()
    Lease.objects.update(holder="")
    again = make_elector("same", Clock())
    again.tick()
    lease = Lease.objects.get(pk=cluster.pk)
    assert (lease.holder, lease.transitions) == ("same", 2)


def test_release_of_a_lease_somebody_else_has_writes_nothing(cluster: Cluster) -> None:
    leader = make_elector("leader", Clock())
    leader.tick()
    Lease.objects.update(holder="other")
    version = Lease.objects.get(pk=cluster.pk).version
    assert leader.stop() == []
    lease = Lease.objects.get(pk=cluster.pk)
    assert (lease.holder, lease.version) == ("other", version)


def test_epoch_never_falls_behind_the_transitions(cluster: Cluster) -> None:
    clock, distance = Clock(), []
    one, two = make_elector("one", clock), make_elector("two", clock)
    for round_ in range(6):
        for elector in (one, two):
            elector.tick()
        (one if round_ % 2 else two).drop(cluster.pk)  # lost; won back, or taken by the other
        clock.now += 20
        epoch = LeaseFence.objects.get(pk=cluster.pk).epoch
        distance.append(epoch - Lease.objects.get(pk=cluster.pk).transitions)
    assert distance == sorted(distance)
