"""What would make a pod fit, over REST: of a pod that is there, and of a manifest that is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from kschedweb.cluster.models import ApiObject, Cluster, Pod
from kschedweb.cluster.services import pod_delete
from kschedweb.scheduling.past import asking, fitting, trying, walking
from kschedweb.scheduling.past.errors import NotReplayableError
from tests.builders import make_manifest, make_node, make_pod
from tests.cases import cases
from tests.waiting import HANG_SECONDS
from tests.web.rest import get, logged_in, post
from tests.web.scheduling.conftest import all_places, lead, put, scheduled, settle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]


def node(name: str) -> Any:
    return make_node(name).capacity(cpu="4", memory="8Gi", pods="10")


def asked(cluster: Cluster, query: str = "", status: int = 200, name: str = "it") -> Any:
    return get(cluster, f"pods/default/{name}/fits{query}", status)


def sent(cluster: Cluster, body: Any, query: str = "", status: int = 200) -> Any:
    return post(cluster, f"fits{query}", body, status)


def test_pending_pod_with_what_would_make_it_fit(cluster: Cluster) -> None:
    put(cluster, make_manifest("PriorityClass", "high", value=9))
    big = make_pod("big").req(cpu="3").spec(priorityClassName="high").on("n2")
    put(cluster, node("n1").unschedulable(), node("n2"), big)
    put(cluster, make_pod("it").req(cpu="2"))
    said = asked(cluster)
    assert (said["node"], said["is_gated"], said["preemption"], said["nodes"]) == ("", False, None, 2)
    assert said["rv"] == Cluster.objects.get(pk=cluster.pk).rv
    first, second = said["suggestions"][:2]
    assert (first["node"], first["cost"], first["victims"]) == ("n1", said["costs"]["uncordon"], [])
    assert (first["changes"][0]["kind"], first["changes"][0]["node"]) == ("uncordon", "n1")
    (lowered,) = second["changes"]
    assert (lowered["kind"], lowered["new"], lowered["step"]) == ("request", "1", "1m")
    cheap = asked(cluster, "?costs=request=0&limit=1")
    assert [each["changes"][0]["kind"] for each in cheap["suggestions"]] == ["request"]
    assert (cheap["costs"]["request"], cheap["suggestions"][0]["cost"]) == (0, 0)


def test_manifest_that_is_not_there_is_admitted_and_not_stored(cluster: Cluster) -> None:
    put(cluster, node("n1"), make_pod("big").req(cpu="3").on("n1"))
    put(cluster, make_manifest("PriorityClass", "high", value=1_000))
    manifest = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"},
        "spec": {"priorityClassName": "high", "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]},
    }  # fmt: skip
    said = sent(cluster, manifest)
    assert (said["namespace"], said["name"], said["node"]) == ("default", "new", "")
    assert said["preemption"] == {"node": "n1", "victims": ["default/big"], "violations": 0}
    assert [each["changes"][0]["kind"] for each in said["suggestions"]] == ["request", "evict", "addNode"]
    assert not Pod.objects.filter(cluster=cluster, name="new").exists()
    manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1"  # type: ignore[index]
    assert (sent(cluster, manifest)["node"], sent(cluster, manifest)["suggestions"]) == ("n1", [])


def owned(name: str, owner: str = "web-1", kind: str = "ReplicaSet") -> Any:
    return make_pod(name).req(cpu="3").owner(kind, owner)


def test_pods_of_an_owner_together(cluster: Cluster) -> None:
    put(cluster, *(node(f"n{i}").unschedulable() for i in range(3)))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    replicas = make_manifest("ReplicaSet", "web-1", spec=spec)
    controls = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    replicas["metadata"]["ownerReferences"] = [controls]
    put(cluster, replicas, owned("a"), owned("b"), owned("c", "other"))
    said = asked_of(cluster, "Deployment", "web")
    assert (said["name"], said["pods"], said["node"]) == ("web", ["default/a", "default/b"], "")
    first = said["suggestions"][0]
    (change,) = first["changes"]
    assert (change["kind"], len({change["node"], *change["more"]})) == ("uncordon", 2)
    assert {each["pod"]: each["node"] for each in first["places"]}.keys() == {"default/a", "default/b"}
    assert {each["node"] for each in first["places"]} == {change["node"], *change["more"]}
    assert first["cost"] == 2 * said["costs"]["uncordon"]
    assert asked_of(cluster, "ReplicaSet", "other")["pods"] == ["default/c"]
    assert asked_of(cluster, "Deployment", "nobody", 404)["code"] == "not_found"


def test_pods_that_a_quota_keeps_from_being_created(cluster: Cluster) -> None:
    """They are placed as they would be, and the quota is enlarged by what they need."""
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
    }
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    put(cluster, node("n1"), make_manifest("ReplicaSet", "web", spec=spec))
    put(cluster, make_pod("a").req(cpu="1").owner("ReplicaSet", "web"))
    put_counted_quota(cluster, {"requests.cpu": "2"}, {"requests.cpu": "1"})
    said = asked_of(cluster, "ReplicaSet", "web")
    assert said["pods"] == ["default/a", "default/web-missing-0", "default/web-missing-1"]
    (told,) = said["suggestions"]
    (change,) = told["changes"]
    assert (change["kind"], change["of"], change["field"]) == ("quota", "ResourceQuota/small", "spec.hard.requests.cpu")
    assert (change["old"], change["new"]) == ("2", "3")
    assert [each["node"] for each in told["places"]] == ["n1", "n1", "n1"]
    body = make_pod("new").req(cpu="2").image("i").manifest()
    (refused,) = sent(cluster, body)["suggestions"]
    assert [(each["kind"], each["new"]) for each in refused["changes"]] == [("quota", "3")]


def put_counted_quota(cluster: Cluster, hard: dict[str, str], used: dict[str, str]) -> None:
    """As a controller has counted it."""
    put(cluster, make_manifest("ResourceQuota", "small", spec={"hard": hard}))
    (stored,) = ApiObject.objects.filter(cluster=cluster, kind="ResourceQuota")
    stored.manifest["status"] = {"hard": hard, "used": used}
    stored.save()


def asked_of(cluster: Cluster, kind: str, name: str, status: int = 200) -> Any:
    return get(cluster, f"workloads/{kind}/default/{name}/fits", status)


def test_engine_that_is_kept_knows_what_has_changed_since(cluster: Cluster) -> None:
    put(cluster, node("n1").unschedulable(), make_pod("it").req(cpu="2"))
    assert asked(cluster)["suggestions"][0]["node"] == "n1"
    put(cluster, node("n1"))
    put(cluster, make_pod("big").req(cpu="3").on("n1"))
    assert [each["kind"] for each in asked(cluster)["suggestions"][0]["changes"]] == ["request"]
    pod_delete(cluster_id=cluster.pk, namespace="default", name="big", actor="test", grace_seconds=0)
    assert asked(cluster)["node"] == "n1"


def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The clusters of which an engine is made from now on."""
    clusters: list[int] = []
    bare = walking.bare_engine

    def noted(cluster: Cluster, version: int) -> Any:
        clusters.append(cluster.pk)
        return bare(cluster, version)

    monkeypatch.setattr(walking, "bare_engine", noted)
    return clusters


def test_engine_is_kept_when_a_question_is_refused(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the question was about a cluster of which none can be made."""
    put(cluster, node("n1"), make_pod("it").req(cpu="6"), make_pod("on").req(cpu="1").on("n1"))
    put(cluster, make_pod("other").req(cpu="1m").scheduler("other"))
    clusters = made(monkeypatch)
    asked(cluster)
    for name, status in (("nobody", 404), ("on", 422), ("other", 422)):
        asked(cluster, name=name, status=status)
    unusable = Cluster.objects.create(name="unusable", config_version=7)  # which is not stored
    with pytest.raises(NotReplayableError):
        fitting.pod_fits(cluster_id=unusable.pk, namespace="default", name="it", at=None, costs="", limit=1)
    asked(cluster)
    assert clusters == [cluster.pk, unusable.pk]


def test_engine_is_not_kept_after_an_error(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what it left behind."""
    put(cluster, node("n1"), make_pod("it").req(cpu="6"))
    clusters = made(monkeypatch)
    with pytest.raises(ZeroDivisionError), trying.there(cluster.pk, None):
        raise ZeroDivisionError
    asked(cluster)
    assert clusters == [cluster.pk] * 2


@cases(
    "about, taken",
    ("the same cluster", "scheduled", lambda cluster: trying.there(cluster.pk, None)),
    ("another cluster", "other", lambda cluster: trying.there(cluster.pk, None)),
    ("while the past is read", "scheduled", lambda cluster: asking.turn()),
    ("while as many wait as may", "scheduled", lambda cluster: all_places()),
)
def test_question_that_comes_while_another_is_answered_is_not_kept_waiting(
    cluster: Cluster, about: str, taken: Callable[[Cluster], AbstractContextManager[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """It is told to come again, and is answered when it does."""
    monkeypatch.setattr(asking, "MOMENT_SECONDS", 0.01)
    put(cluster, node("n1"), make_pod("it").req(cpu="6"))
    other = cluster if about == cluster.name else Cluster.objects.create(name=about)
    put(other, node("n1"), make_pod("it").req(cpu="6"))
    with taken(cluster):
        answer = logged_in().get(f"/api/clusters/{other.pk}/pods/default/it/fits")
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        assert answer.headers["Retry-After"] == "1"
    assert asked(other)["suggestions"]


def test_question_waits_a_moment_for_another(cluster: Cluster) -> None:
    put(cluster, node("n1"), make_pod("it").req(cpu="6"))
    begun, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with asking.turn():
            begun.set()
            go_on.wait(HANG_SECONDS)

    other = threading.Thread(target=first)
    other.start()
    begun.wait(HANG_SECONDS)
    threading.Timer(0.05, go_on.set).start()
    assert asked(cluster)["suggestions"]
    other.join()


def test_pod_that_waited_then(cluster: Cluster) -> None:
    """It has a node now; at the moment it had none, and with which change it would have had one."""
    scheduler = lead(cluster)
    put(cluster, node("n1").unschedulable(), make_pod("it").req(cpu="2"))
    settle(scheduler)
    cluster.refresh_from_db()
    then = f"{cluster.rv}.{cluster.seq}"
    put(cluster, node("n1"))
    settle(scheduler)
    assert asked(cluster, status=422)["extra"] == {"node": "n1"}
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/pods/default/it/fits?at={then}")
    assert answer.json()["suggestions"][0]["changes"][0]["kind"] == "uncordon"
    assert (answer.headers["Ksched-Position"], answer.json()["rv"]) == (then, cluster.rv)
    assert asked(cluster, "?at=0.0", 404)["code"] == "not_found"
    assert asked(cluster, "?at=999999.9", 400)["code"] == "invalid"


def test_pod_with_a_node_is_refused(cluster: Cluster) -> None:
    scheduled(cluster, node("n1"), make_pod("it").req(cpu="1m"))
    assert asked(cluster, status=422)["extra"] == {"node": "n1"}
    assert asked(cluster, status=404, name="nobody")["code"] == "not_found"


@cases(
    "query, status, word",
    ("no points", "?costs=evict", 422, "KIND=POINTS"),
    ("unknown", "?costs=sheep=1", 422, "sheep"),
    ("no number", "?limit=0", 400, "limit"),
)
def test_costs_that_cannot_be(cluster: Cluster, query: str, status: int, word: str) -> None:
    put(cluster, make_pod("it").req(cpu="1m"))
    assert word in str(asked(cluster, query, status))


@cases(
    "body, word",
    ("another kind", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, "one Pod"),
    ("invalid", make_pod("p").spec(containers=[]).manifest(), "containers"),
    ("assigned", make_pod("p").req(cpu="1").image("i").on("n1").manifest(), "nodeName"),
    ("of another scheduler", make_pod("p").req(cpu="1").image("i").scheduler("other").manifest(), "other"),
)  # fmt: skip
def test_manifests_that_cannot_be_tried(cluster: Cluster, body: Any, word: str) -> None:
    assert word in str(sent(cluster, body, status=422))
