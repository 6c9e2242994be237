"""What is said of objects that wait for controllers in a frozen cluster: by each answer about them, and by imports."""

from __future__ import annotations

from typing import Any, cast, get_args

import pytest

from kschedweb import views
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Cluster, Import, Pod
from scheduler_core.explain.in_vain import REASONS
from tests.web.rest import items, logged_in, node, pod, upload

pytestmark = pytest.mark.django_db
Manifest = dict[str, Any]
FROM_ELSEWHERE = {"uid": "u", "creationTimestamp": "2030-01-01T00:00:00Z"}


def made(kind: str, name: str, version: str = "v1", **fields: Any) -> Manifest:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def volume(name: str, **fields: Any) -> Manifest:
    spec = {"storageClassName": "local", "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"]}
    return made("PersistentVolume", name, spec={**spec, "hostPath": {"path": "/d"}}, **fields)


CLASS = made(
    "StorageClass",
    "local",
    "storage.k8s.io/v1",
    provisioner="kubernetes.io/no-provisioner",
    volumeBindingMode="WaitForFirstConsumer",
)
CLAIM = made(
    "PersistentVolumeClaim",
    "c",
    spec={"storageClassName": "local", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
)
QUOTA = made("ResourceQuota", "q", spec={"hard": {"pods": "1"}})
BUDGET = made(
    "PodDisruptionBudget", "b", "policy/v1", spec={"minAvailable": 0, "selector": {"matchLabels": {"app": "a"}}}
)
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DEPLOYMENT = made("Deployment", "w", "apps/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE})
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def using(name: str, source: Manifest, **metadata: Any) -> Manifest:
    one = pod(name, **metadata)
    one["spec"]["volumes"] = [{"name": "d", **source}]
    return one


USING = using("p", {"persistentVolumeClaim": {"claimName": "c"}})


def imported(cluster: Cluster, *objects: Manifest, query: str = "") -> Manifest:
    answer = upload(logged_in(), cluster, items(*objects), query)
    assert answer.status_code == 201, answer.content
    return cast(Manifest, answer.json()["report"])


def asked(cluster: Cluster, path: str) -> list[tuple[str, str, int, list[str]]]:
    found = logged_in().get(f"/api/clusters/{cluster.pk}/{path}").json()["in_vain"]
    return [(one["reason"], one["kind"], one["count"], one["names"]) for one in found]


def waits(report: Manifest) -> dict[tuple[str, str], int]:
    return {(one["reason"], one["kind"]): one["count"] for one in report["in_vain"]}


def test_import_counts_what_waits_and_says_what_to_do(cluster: Cluster) -> None:
    report = imported(cluster, CLASS, *(volume(f"v{number}") for number in range(4)))
    (said,) = report["in_vain"]
    assert (said["reason"], said["kind"], said["count"]) == ("volume-phase", "PersistentVolume", 4)
    assert said["names"] == ["v0", "v1", "v2"]
    *_, waiting, remedy = report["notes"]
    assert waiting.startswith("Waits in vain: 4 of the kind PersistentVolume")
    assert said["message"] in waiting
    assert remedy.startswith("--lifecycle simulate")


def test_reasons_of_the_contract_are_those_that_there_are() -> None:
    assert get_args(views.InVainReason) == REASONS


def test_import_counts_all_kinds(cluster: Cluster) -> None:
    tainted = node("n2", **{**FROM_ELSEWHERE, "uid": "n2"})
    tainted["spec"] = {"taints": [NOT_READY]}
    leaving = pod("gone", **{**FROM_ELSEWHERE, "deletionTimestamp": "2030-01-01T00:00:00Z"})
    leaving["spec"]["nodeName"] = "n1"
    ephemeral = using("e", {"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM["spec"]}}})
    template = pod("t")
    template["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimTemplateName": "t"}]
    status = {"allocation": {"devices": {}}, "reservedFor": [{"resource": "pods", "name": "x", "uid": "x"}]}
    kept = made("ResourceClaim", "rc", "resource.k8s.io/v1", metadata={**FROM_ELSEWHERE, "namespace": "default"},
                spec={}, status=status)  # fmt: skip
    kept["metadata"]["uid"] = "rc"
    report = imported(
        cluster, CLASS, CLAIM, QUOTA, BUDGET, DEPLOYMENT, node("n1"), tainted, leaving, ephemeral, template, kept, USING
    )
    assert waits(report) == {
        ("claim-placed", "PersistentVolumeClaim"): 1,
        ("claim-not-made", "PersistentVolumeClaim"): 1,
        ("device-claim-not-made", "Pod"): 1,
        ("devices-kept", "ResourceClaim"): 1,
        ("quota-uncounted", "ResourceQuota"): 1,
        ("budget-uncounted", "PodDisruptionBudget"): 1,
        ("node-taint", "Node"): 1,
        ("pod-leaving", "Pod"): 1,
        ("workload", "Deployment"): 1,
    }


def test_import_of_a_cluster_that_waits_for_nothing(cluster: Cluster) -> None:
    report = imported(cluster, CLASS, node("n1"), pod("p"))
    assert report["in_vain"] == []
    assert not any("in vain" in note for note in report["notes"])


@pytest.mark.parametrize("query", ["?lifecycle=simulate", ""])
def test_nothing_is_said_where_controllers_act(cluster: Cluster, query: str) -> None:
    if not query:
        Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    assert imported(cluster, CLASS, volume("v"), CLAIM, USING, query=query)["in_vain"] == []
    assert asked(cluster, "objects/PersistentVolume/v") == []
    assert asked(cluster, "pods/default/p") == []


@pytest.mark.parametrize(
    ("query", "again"), [("?admission=never", False), ("", True)], ids=["as it is", "as a change of what is there"]
)
def test_phase_given_in_a_file_counts(cluster: Cluster, query: str, again: bool) -> None:
    """A created volume has the phase of the server; of one that is there, or is kept as it is, that of the file."""
    given = volume("v", status={"phase": "Available"})
    if again:
        assert waits(imported(cluster, CLASS, given)) == {("volume-phase", "PersistentVolume"): 1}
    report = imported(cluster, CLASS, given, query=query)
    assert waits(report) == {}
    assert asked(cluster, "objects/PersistentVolume/v") == []


def test_objects_say_it(cluster: Cluster) -> None:
    tainted = node("n1", **FROM_ELSEWHERE)
    tainted["spec"] = {"taints": [NOT_READY]}
    imported(cluster, CLASS, volume("v"), CLAIM, QUOTA, DEPLOYMENT, tainted)
    assert asked(cluster, "objects/PersistentVolume/v") == [("volume-phase", "PersistentVolume", 1, ["v"])]
    named = "objects/PersistentVolumeClaim/default/c"
    assert asked(cluster, named) == [("claim-placed", "PersistentVolumeClaim", 1, ["default/c"])]
    assert asked(cluster, "objects/ResourceQuota/default/q") == [("quota-uncounted", "ResourceQuota", 1, ["default/q"])]
    assert asked(cluster, "nodes/n1") == [("node-taint", "Node", 1, ["n1"])]
    assert asked(cluster, "workloads/Deployment/default/w") == [("workload", "Deployment", 1, ["default/w"])]
    assert asked(cluster, "objects/StorageClass/local") == []


def test_pod_says_it_of_what_it_refers_to(cluster: Cluster) -> None:
    leaving = pod("gone", **{**FROM_ELSEWHERE, "deletionTimestamp": "2030-01-01T00:00:00Z"})
    leaving["spec"]["nodeName"] = "n1"
    tainted = node("n1", **{**FROM_ELSEWHERE, "uid": "n1"})
    tainted["spec"] = {"taints": [NOT_READY]}
    imported(cluster, CLASS, volume("v"), CLAIM, QUOTA, tainted, leaving, USING, pod("other"))
    waiting = Pod.objects.get(cluster=cluster, name="p")
    message = "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }."
    conditions = [{"type": "PodScheduled", "status": "False", "message": message}]
    waiting.manifest["status"] = {"phase": "Pending", "conditions": conditions, "nominatedNodeName": "n1"}
    waiting.save(update_fields=["manifest"])
    quota = ("quota-uncounted", "ResourceQuota", 1, ["default/q"])
    assert asked(cluster, "pods/default/p") == [
        ("volume-phase", "PersistentVolume", 1, ["v"]),
        ("claim-placed", "PersistentVolumeClaim", 1, ["default/c"]),
        quota,
        ("node-taint", "Node", 1, ["n1"]),
        ("pod-leaving", "Pod", 1, ["default/gone"]),
    ]
    assert asked(cluster, "pods/default/other") == [quota]
    assert asked(cluster, "pods/default/gone") == [
        ("node-taint", "Node", 1, ["n1"]),
        ("pod-leaving", "Pod", 1, ["default/gone"]),
    ]


def test_budget_without_a_status_allows_no_eviction(cluster: Cluster) -> None:
    kept = pod("p", **FROM_ELSEWHERE, labels={"app": "a"}, namespace="default")
    kept["spec"]["nodeName"] = "n1"
    kept["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    imported(cluster, BUDGET, node("n1"), kept)
    answer = logged_in().post(f"/api/clusters/{cluster.pk}/pods/default/p/eviction", {}, format="json")
    assert answer.status_code == 429, answer.content


@pytest.mark.parametrize("flag", ["is_mirror", "is_record"])
def test_nothing_is_said_of_a_copy_that_others_keep(cluster: Cluster, flag: str) -> None:
    imported(cluster, CLASS, volume("v"))
    Cluster.objects.filter(pk=cluster.pk).update(**{flag: True})
    assert asked(cluster, "objects/PersistentVolume/v") == []


def test_report_of_an_older_import_has_none(cluster: Cluster) -> None:
    imported(cluster, CLASS, volume("v"))
    row = Import.objects.get(cluster=cluster)
    del row.report["in_vain"]
    row.save(update_fields=["report"])
    found = logged_in().get(f"/api/clusters/{cluster.pk}/imports/{row.pk}").json()
    assert found["report"]["in_vain"] == []
