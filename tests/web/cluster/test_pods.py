"""Bindings, the scheduler's status patches, graceful deletion."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.common.errors import ConflictError, NotFoundError
from tests.web.rest import items, log, logged_in, pod, upload

pytestmark = pytest.mark.django_db

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Patch:
    pod_uid: str
    status: str = "False"
    reason: str = "Unschedulable"
    message: str = "0/1 nodes are available: 1 Insufficient cpu."
    nominated_node_name: str | None = None


@pytest.fixture
def cluster() -> Cluster:
    cluster = services.cluster_create(name="c")
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    bound = pod("bound")
    bound["spec"]["nodeName"] = "n9"
    kept = pod("kept", finalizers=["example.com/keep"])
    assert upload(logged_in(), cluster, items(pod("free"), bound, gated, kept)).status_code == 201
    return cluster


def row(name: str) -> Pod:
    return Pod.objects.get(name=name)


def condition(name: str, kind: str = "PodScheduled") -> dict[str, Any]:
    found = [item for item in row(name).manifest["status"]["conditions"] if item["type"] == kind]
    assert len(found) == 1
    return dict(found[0])


def test_pods_bind_sets_node_and_condition_when_nothing_speaks_against_it(cluster: Cluster) -> None:
    uid = row("free").uid
    outcomes = services.pods_bind(cluster_id=cluster.pk, targets=[(uid, "n1")], actor="scheduler")
    assert outcomes.refusals == {}
    assert [(entry.name, entry.operation) for entry in outcomes.entries] == [("free", "updated")]
    last = services.changes_commit(cluster_id=cluster.pk, entries=outcomes.entries)
    bound = row("free")
    assert (bound.node_name, bound.manifest["spec"]["nodeName"], bound.rv) == ("n1", "n1", last)
    assert condition("free")["status"] == "True" and "reason" not in condition("free")


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        pytest.param("bound", 'pod bound is already assigned to node "n9"', id="it has a node"),
        pytest.param("gated", "pod gated has non-empty .spec.schedulingGates", id="it has gates"),
        pytest.param("going", "pod going is being deleted, cannot be assigned to a host", id="it is being deleted"),
        pytest.param("", "pod with uid nowhere not found", id="it is gone"),
    ],
)
def test_pods_bind_refuses_when(cluster: Cluster, name: str, refusal: str) -> None:
    if name == "going":
        Pod.objects.filter(name="free").update(name="going", deletion_timestamp=NOW)
    uid = row(name).uid if name else "nowhere"
    outcomes = services.pods_bind(cluster_id=cluster.pk, targets=[(uid, "n1")], actor="scheduler")
    assert outcomes.refusals == {uid: refusal}
    assert outcomes.entries == []
    assert not Pod.objects.filter(node_name="n1").exists()


def test_pods_bind_goes_on_after_a_refusal(cluster: Cluster) -> None:
    targets = [("nowhere", "n1"), (row("free").uid, "n2")]
    outcomes = services.pods_bind(cluster_id=cluster.pk, targets=targets, actor="scheduler")
    assert (list(outcomes.refusals), [entry.name for entry in outcomes.entries]) == (["nowhere"], ["free"])


def test_pods_bind_takes_the_same_queries_for_many_pods(cluster: Cluster, django_assert_num_queries: Any) -> None:
    upload(logged_in(), cluster, items(*(pod(f"many-{number}") for number in range(20))))
    targets = [(uid, "n1") for uid in Pod.objects.filter(name__startswith="many").values_list("uid", flat=True)]
    with django_assert_num_queries(5):  # lock, number, log, rows, notify
        outcomes = services.pods_bind(cluster_id=cluster.pk, targets=targets, actor="scheduler")
        services.changes_commit(cluster_id=cluster.pk, entries=outcomes.entries)
    assert len(outcomes.entries) == 20


def test_pods_status_patch_writes_once_when_it_says_the_same_twice(cluster: Cluster) -> None:
    patch = Patch(row("free").uid, nominated_node_name="n3")
    first = services.pods_status_patch(cluster_id=cluster.pk, patches=[patch], actor="scheduler", now=NOW)
    services.changes_commit(cluster_id=cluster.pk, entries=first)
    again = services.pods_status_patch(
        cluster_id=cluster.pk, patches=[patch], actor="scheduler", now=NOW + timedelta(seconds=9)
    )
    assert (len(first), len(again)) == (1, 0)
    patched = row("free")
    assert (patched.condition_reason, patched.nominated_node_name) == ("Unschedulable", "n3")
    assert patched.manifest["status"]["nominatedNodeName"] == "n3"
    assert condition("free")["lastTransitionTime"] == "2030-01-01T12:00:00Z"


def test_pods_status_patch_clears_the_nomination_when_it_is_empty(cluster: Cluster) -> None:
    uid = row("free").uid
    for nominated in ("n3", ""):
        entries = services.pods_status_patch(
            cluster_id=cluster.pk, patches=[Patch(uid, nominated_node_name=nominated)], actor="s", now=NOW
        )
        services.changes_commit(cluster_id=cluster.pk, entries=entries)
    assert row("free").nominated_node_name == ""
    assert "nominatedNodeName" not in row("free").manifest["status"]


def test_pods_status_patch_passes_over_a_pod_that_has_a_node(cluster: Cluster) -> None:
    patches = [Patch(row("bound").uid), Patch("nowhere")]
    assert services.pods_status_patch(cluster_id=cluster.pk, patches=patches, actor="s", now=NOW) == []


@pytest.mark.parametrize(
    ("name", "grace", "left", "gone"),
    [
        pytest.param("free", None, None, True, id="an unassigned pod at once"),
        pytest.param("bound", 0, None, True, id="grace 0 at once"),
        pytest.param("bound", None, 30, False, id="its own grace"),
        pytest.param("bound", 5, 5, False, id="the given grace"),
        pytest.param("bound", -7, 1, False, id="a negative grace is one second"),
        pytest.param("kept", None, 0, False, id="a finalizer keeps it"),
    ],
)
def test_pod_delete_is_graceful(cluster: Cluster, name: str, grace: int | None, left: int | None, gone: bool) -> None:
    assert (
        services.pod_delete(cluster_id=cluster.pk, namespace="default", name=name, actor="ada", grace_seconds=grace)
        == gone
    )
    found = Pod.objects.filter(name=name).first()
    assert (found is None) == gone
    if found is not None:
        assert found.manifest["metadata"]["deletionGracePeriodSeconds"] == left
        assert found.manifest["metadata"]["generation"] == 2
        assert found.deletion_timestamp is not None
    assert log(cluster)[-1][1:] == ("deleted" if gone else "updated", "Pod", name)


def test_pod_delete_only_shortens_the_grace_when_it_comes_again(cluster: Cluster) -> None:
    def delete(grace: int) -> datetime:
        services.pod_delete(cluster_id=cluster.pk, namespace="default", name="bound", actor="ada", grace_seconds=grace)
        moment = row("bound").deletion_timestamp
        assert moment is not None
        return moment

    first, longer, shorter = delete(30), delete(60), delete(10)
    assert longer == first
    assert first - shorter == timedelta(seconds=20)


def test_pod_delete_is_refused_when_the_pod_is_another_or_none(cluster: Cluster) -> None:
    with pytest.raises(ConflictError):
        services.pod_delete(cluster_id=cluster.pk, namespace="default", name="free", actor="ada", uid="other")
    with pytest.raises(NotFoundError):
        services.pod_delete(cluster_id=cluster.pk, namespace="default", name="nobody", actor="ada")


def test_pods_evict_marks_the_victims_and_gives_them_their_grace(cluster: Cluster) -> None:
    why = (services.PREEMPTION_BY_SCHEDULER, "fast: preempting to accommodate a higher priority pod")
    victims = [("nowhere", *why), (row("bound").uid, *why)]
    entries = services.pods_evict(cluster_id=cluster.pk, victims=victims, now=NOW, actor="scheduler")
    assert {uid: entry.operation for uid, entry in entries.items()} == {row("bound").uid: "updated"}
    services.changes_commit(cluster_id=cluster.pk, entries=list(entries.values()))
    marked = condition("bound", "DisruptionTarget")
    assert (marked["status"], marked["reason"], marked["message"]) == ("True", *why)
    assert row("bound").deletion_timestamp == NOW + timedelta(seconds=30)


def updated(cluster: Cluster, *updates: services.StatusUpdate) -> int:
    entries = services.pods_status_update(cluster_id=cluster.pk, updates=updates, actor="kubelet", now=NOW)
    services.changes_commit(cluster_id=cluster.pk, entries=entries)
    return len(entries)


def test_pods_status_update_makes_a_pod_run_and_end(cluster: Cluster) -> None:
    uid = row("bound").uid
    ready = {"Ready": ("True", "", "")}
    running = services.StatusUpdate(uid, phase="Running", start_time=NOW, conditions=ready)
    assert updated(cluster, running) == 1
    assert (row("bound").phase, row("bound").start_time) == ("Running", NOW)
    assert row("bound").manifest["status"]["startTime"] == "2030-01-01T12:00:00Z"
    assert condition("bound", "Ready")["status"] == "True"
    ended = services.StatusUpdate(uid, phase="Succeeded")
    gone = services.StatusUpdate("nowhere", phase="Failed")
    assert (updated(cluster, gone, ended), updated(cluster, running)) == (1, 0)


def test_pods_remove_leaves_what_a_finalizer_keeps(cluster: Cluster) -> None:
    entries = services.pods_remove(cluster_id=cluster.pk, uids=[row("bound").uid, row("kept").uid], actor="kubelet")
    assert [(entry.name, entry.operation) for entry in entries] == [("bound", "deleted")]
    assert Pod.objects.filter(name="kept").exists()
