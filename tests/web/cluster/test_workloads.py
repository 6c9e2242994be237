"""Workloads in REST: how far each is, its parts and pods, and what pods that are not ready wait for."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.workload_states import KINDS, workload_view
from tests.cases import cases
from tests.web.rest import items, logged_in, node, pod, upload

MADE = "2030-01-01T00:00:00Z"
REVISION = "deployment.kubernetes.io/revision"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTOR = {"matchLabels": {"a": "b"}}


def workload(kind: str, name: str, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    version = "batch/v1" if kind in ("Job", "CronJob") else "v1" if kind == "ReplicationController" else "apps/v1"
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": MADE, "generation": 1}
    seen = {} if kind in ("Job", "CronJob") else {"observedGeneration": 1}
    if kind == "CronJob":
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": status or {}}
    given = {"template": TEMPLATE, **({} if kind == "Job" else {"selector": SELECTOR}), **spec}
    return {
        "apiVersion": version, "kind": kind, "metadata": metadata, "spec": given, "status": {**seen, **(status or {})},
    }  # fmt: skip


def owned(manifest: dict[str, Any], owner: dict[str, Any], **annotations: str) -> dict[str, Any]:
    metadata = manifest["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    metadata["ownerReferences"] = [reference | {name: owner["metadata"][name] for name in ("name", "uid")}]
    metadata["annotations"] = annotations
    return manifest


def counted(all_: int, *, updated: int | None = None, available: int | None = None) -> dict[str, Any]:
    found = {"replicas": all_, "readyReplicas": all_, "availableReplicas": all_ if available is None else available}
    return found if updated is None else {**found, "updatedReplicas": updated}


def of_pod(name: str, owner: dict[str, Any], on: str = "", **status: Any) -> dict[str, Any]:
    made = owned(pod(name, uid=f"uid-{name}", creationTimestamp=MADE, namespace="default"), owner)
    if on:
        made["spec"]["nodeName"] = on
    ready = {"name": "c", "ready": True, "restartCount": 0, "state": {"running": {}}}
    made["status"] = {"phase": "Running", "containerStatuses": [ready], **status}
    return made


GENERATION_2 = {"observedGeneration": 1}
STALLED = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
REFUSED = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}


@cases(
    "manifest, state",
    ("complete", workload("Deployment", "w", counted(3, updated=3), replicas=3), "available"),
    ("two_are_old", workload("Deployment", "w", counted(3, updated=1), replicas=3), "progressing"),
    ("one_too_many", workload("Deployment", "w", counted(4, updated=3), replicas=3), "progressing"),
    ("one_is_away", workload("Deployment", "w", counted(3, updated=3, available=2), replicas=3), "unavailable"),
    ("not_seen_yet", workload("Deployment", "w", {**counted(3, updated=3), "observedGeneration": 0}, replicas=3),
     "progressing"),
    ("past_its_deadline", workload("Deployment", "w", {**counted(1, updated=1), "conditions": [STALLED]}, replicas=3),
     "stalled"),
    ("by_a_quota", workload("ReplicaSet", "w", {**counted(1), "conditions": [REFUSED]}, replicas=3), "stalled"),
    ("paused", workload("Deployment", "w", counted(3, updated=0), replicas=3, paused=True), "paused"),
    ("wants_none", workload("ReplicationController", "w", counted(0), replicas=0), "available"),
    ("one_when_nothing_is_said", workload("ReplicaSet", "w", counted(1)), "available"),
    ("as_far_as_its_partition", workload("StatefulSet", "w", counted(3, updated=1), replicas=3,
     updateStrategy={"rollingUpdate": {"partition": 2}}), "available"),
    ("updates_what_is_deleted", workload("StatefulSet", "w", counted(3, updated=0), replicas=3,
     updateStrategy={"type": "OnDelete"}), "available"),
    ("one_node_is_old", workload("DaemonSet", "w", {"desiredNumberScheduled": 2, "currentNumberScheduled": 2,
     "updatedNumberScheduled": 1} | {"numberReady": 2, "numberAvailable": 2}), "progressing"),
    ("job", workload("Job", "w", {"active": 1}), "running"),
    ("suspended_job", workload("Job", "w", suspend=True), "suspended"),
    ("complete_job", workload("Job", "w", {"conditions": [{"type": "Complete", "status": "True"}]}, suspend=False),
     "complete"),
    ("failed_job", workload("Job", "w", {"conditions": [{"type": "Failed", "status": "True", "message": "too often"}]}),
     "failed"),
    ("cron_job", workload("CronJob", "w", schedule="* * * * *"), "scheduled"),
    ("suspended_cron_job", workload("CronJob", "w", schedule="* * * * *", suspend=True), "suspended"),
)  # fmt: skip
def test_state_of_a_workload(manifest: dict[str, Any], state: str) -> None:
    view = workload_view(manifest)
    assert view.state == state
    assert bool(view.said) == (state in ("stalled", "failed"))


def test_deletion_is_told_before_all_else() -> None:
    manifest = workload("Deployment", "w", counted(3, updated=3), replicas=3)
    manifest["metadata"]["deletionTimestamp"] = MADE
    assert workload_view(manifest).state == "deleting"


def test_each_kind_can_be_seen_without_a_status() -> None:
    for kind in KINDS:
        assert workload_view({**workload(kind, "w"), "status": {}}).name == "w"


@pytest.fixture(scope="module")
def cluster(lasting: None) -> Cluster:
    cluster = services.cluster_create(name="c", actor="a")
    web = workload("Deployment", "web", counted(3, updated=1, available=1), replicas=3, minReadySeconds=8)
    web["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    web["metadata"]["annotations"] = {REVISION: "10"}
    old = owned(workload("ReplicaSet", "web-old", counted(2), replicas=2), web, **{REVISION: "9"})
    new = owned(workload("ReplicaSet", "web-new", counted(1), replicas=1), web, **{REVISION: "10"})
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    down = node("down")
    down["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    unready = {"name": "c", "ready": False, "restartCount": 2, "state": {"running": {}}}
    waiting = [{"type": "Ready", "status": "False", "message": "containers with unready status: [c]"}]
    stranger = owned(
        workload("ReplicaSet", "other", counted(1), replicas=1), {**web, "metadata": {"name": "web", "uid": "x"}}
    )
    objects = [
        node("up"), down, web, old, new, stranger,
        of_pod("old-1", old, "up"),
        of_pod("old-2", old, "down", containerStatuses=[unready], conditions=waiting),
        of_pod("new-1", new, phase="Pending", containerStatuses=[], conditions=[refused]),
        of_pod("new-2", new, phase="Pending", containerStatuses=[], conditions=[refused]),
        of_pod("theirs", stranger, "up"),
        workload("Job", "alone", {"active": 1}, completions=4),
    ]  # fmt: skip
    assert upload(logged_in(), cluster, items(*objects)).status_code < 300
    return cluster


def ask(cluster: Cluster, path: str = "") -> Any:
    return logged_in().get(f"/api/clusters/{cluster.pk}/workloads{path}").json()


def test_list_has_what_nothing_else_controls(cluster: Cluster) -> None:
    found = ask(cluster)
    assert [(one["kind"], one["name"]) for one in found["workloads"]] == [("Job", "alone"), ("Deployment", "web")]
    assert found["total"] == 2
    job, web = found["workloads"]
    assert (job["wanted"], job["active"], job["available"]) == (4, 1, None)
    assert (web["wanted"], web["updated"], web["ready"], web["available"]) == (3, 1, 3, 1)
    assert [one["name"] for one in ask(cluster, "?limit=1")["workloads"]] == ["alone"]


def test_deployment_has_its_sets_its_pods_and_why_they_wait(cluster: Cluster) -> None:
    found = ask(cluster, "/Deployment/default/web")
    parts = [(one["name"], one["revision"], one["is_current"], one["workload"]["ready"]) for one in found["parts"]]
    assert parts == [("web-new", "10", True, 1), ("web-old", "9", False, 2)]
    assert found["pods_total"] == 4
    pods = [(one["name"], one["part"], one["is_updated"], one["status"], one["waits_for"]) for one in found["pods"]]
    assert pods == [
        ("new-1", "web-new", True, "Pending", "0/1 nodes"),
        ("new-2", "web-new", True, "Pending", "0/1 nodes"),
        ("old-2", "web-old", False, "Running", "node down is not ready"),
        ("old-1", "web-old", False, "Running", ""),
    ]
    assert [(one["pods"], one["status"], one["waits_for"], one["name"]) for one in found["waits"]] == [
        (2, "Pending", "0/1 nodes", "new-1"),
        (1, "Running", "node down is not ready", "old-2"),
    ]
    assert found["strategy"] == "RollingUpdate · maxSurge 1 · maxUnavailable 0"
    assert found["min_ready_seconds"] == 8
    assert len(ask(cluster, "/Deployment/default/web?limit=1")["pods"]) == 1


def test_set_of_a_deployment_says_whose_it_is(cluster: Cluster) -> None:
    found = ask(cluster, "/ReplicaSet/default/web-old")
    assert found["owners"] == [{"kind": "Deployment", "name": "web"}]
    assert [(one["name"], one["part"], one["is_updated"]) for one in found["pods"]] == [
        ("old-2", "", None),
        ("old-1", "", None),
    ]
    assert found["parts"] == []


@pytest.mark.parametrize("path", ["/Deployment/default/none", "/Pod/default/old-1", "/Node/default/up"])
def test_what_is_no_workload_is_not_found(cluster: Cluster, path: str) -> None:
    assert ask(cluster, path)["code"] == "not_found"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_pods_of_the_newest_revision_are_told_from_others(db: None, kind: str) -> None:
    cluster = services.cluster_create(name=kind.lower(), actor="a")
    db_set = workload(kind, "db", {"updateRevision": "db-new"}, replicas=2)
    revisions = []
    for number, name in ((9, "old"), (10, "new")):
        revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": number, "data": {}}
        labels = {"controller-revision-hash": name}
        revision["metadata"] = {"name": f"db-{name}", "namespace": "default", "labels": labels}
        revision["metadata"] |= {"uid": f"uid-db-{name}", "creationTimestamp": MADE}
        revisions.append(owned(revision, db_set))
    pods = [of_pod("db-0", db_set), of_pod("db-1", db_set)]
    prefix = "db-" if kind == "StatefulSet" else ""
    for made, name in zip(pods, ("old", "new"), strict=True):
        made["metadata"]["labels"] = {"controller-revision-hash": f"{prefix}{name}"}
    assert upload(logged_in(), cluster, items(db_set, *revisions, *pods)).status_code < 300
    found = ask(cluster, f"/{kind}/default/db")
    assert [(one["name"], one["is_updated"]) for one in found["pods"]] == [("db-0", False), ("db-1", True)]
