"""Defaults and admission of nodes, volumes, classes and controllers; objects taken over from a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.admission import accept_existing, is_from_cluster
from scheduler_core.errors import AdmissionError, ManifestError
from tests.builders import make, make_manifest, make_node, make_pod
from tests.cases import cases
from tests.core.admission.context import create


def test_node_gets_allocatable_from_capacity_and_is_ready() -> None:
    manifest = make_node("n").capacity(cpu="4000m").manifest()
    del manifest["status"]["allocatable"]
    node = create(manifest)
    assert node["status"]["allocatable"] == node["status"]["capacity"] == {"cpu": "4", "memory": "16Gi", "pods": "110"}
    (ready,) = node["status"]["conditions"]
    assert (ready["type"], ready["status"], ready["lastTransitionTime"]) == ("Ready", "True", "2030-01-01T00:00:00Z")
    assert "taints" not in node["spec"] and "namespace" not in node["metadata"]


def taints(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"key": f"node.kubernetes.io/{key}", "effect": effect} for key, effect in pairs]


@pytest.mark.parametrize(
    ("condition", "status", "want"),
    [
        ("Ready", "True", []),
        ("Ready", "False", taints(("not-ready", "NoSchedule"), ("not-ready", "NoExecute"))),
        ("Ready", "Unknown", taints(("unreachable", "NoSchedule"), ("unreachable", "NoExecute"))),
        ("MemoryPressure", "True", taints(("memory-pressure", "NoSchedule"))),
        ("MemoryPressure", "False", []),
        ("DiskPressure", "True", taints(("disk-pressure", "NoSchedule"))),
        ("PIDPressure", "True", taints(("pid-pressure", "NoSchedule"))),
        ("NetworkUnavailable", "True", taints(("network-unavailable", "NoSchedule"))),
    ],
)
def test_node_conditions_become_taints(condition: str, status: str, want: list[dict[str, str]]) -> None:
    assert create(make_node("n").condition(condition, status).manifest())["spec"].get("taints", []) == want


@pytest.mark.parametrize(("condition", "want"), [("Ready", ["Ready"]), ("DiskPressure", ["DiskPressure", "Ready"])])
def test_node_is_said_to_be_ready_once(condition: str, want: list[str]) -> None:
    node = create(make_node("n").condition(condition, "False").manifest())
    assert [each["type"] for each in node["status"]["conditions"]] == want


def test_cordoned_node_gets_its_taint_once() -> None:
    node = make_node("n").unschedulable().taint("node.kubernetes.io/unschedulable").taint("a").manifest()
    assert [taint["key"] for taint in create(node)["spec"]["taints"]] == ["node.kubernetes.io/unschedulable", "a"]
    fresh = create(make_node("n").unschedulable().manifest())
    assert fresh["spec"]["taints"] == taints(("unschedulable", "NoSchedule"))


VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
CLAIM = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
ALTERNATIVES = {"firstAvailable": [{"name": "s", "deviceClassName": "g", "allocationMode": "All"}]}


def asking(request: dict[str, Any]) -> dict[str, Any]:
    """Of a claim: one request."""
    return {"devices": {"requests": [{"name": "r", **request}]}}


@cases(
    "manifest, want",
    ("volume", make_manifest("PersistentVolume", "v", spec=VOLUME),
     {"spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}),
    ("claim", make_manifest("PersistentVolumeClaim", "v", spec=CLAIM),
     {"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}),
    ("storage class", make_manifest("StorageClass", "s", provisioner="p"),
     {"volumeBindingMode": "Immediate", "reclaimPolicy": "Delete"}),
    ("CSI driver", make_manifest("CSIDriver", "d"), {"spec": {"storageCapacity": False}}),
    ("namespace", make_manifest("Namespace", "ns"),
     {"metadata": {"labels": {"kubernetes.io/metadata.name": "ns"}}, "status": {"phase": "Active"}}),
    ("priority", make_manifest("PriorityClass", "p", value=1), {"preemptionPolicy": "PreemptLowerPriority"}),
    ("replication controller", make_manifest("ReplicationController", "r", spec={"template": TEMPLATE}),
     {"spec": {"replicas": 1, "selector": {"a": "b"}}}),
    ("deployment",
     make_manifest("Deployment", "d", spec={"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}),
     {"spec": {"replicas": 1}}),
    ("job", make_manifest("Job", "j", spec={"template": TEMPLATE}),
     {"spec": {"completions": 1, "parallelism": 1, "backoffLimit": 6}}),
    ("work queue", make_manifest("Job", "j", spec={"template": TEMPLATE, "parallelism": 3}),
     {"spec": {"parallelism": 3}}),
    ("limit range", make_manifest("LimitRange", "l", spec={"limits": [{"type": "Container", "max": {"cpu": "2"}}]}),
     {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "2"},
                           "defaultRequest": {"cpu": "2"}}]}}),
    ("resource claim", make_manifest("ResourceClaim", "c", spec=asking({"exactly": {"deviceClassName": "g"}})),
     {"spec": asking({"exactly": {"deviceClassName": "g", "allocationMode": "ExactCount", "count": 1}})}),
    ("resource claim template", make_manifest("ResourceClaimTemplate", "c", spec={"spec": asking(ALTERNATIVES)}),
     {"spec": {"spec": asking(ALTERNATIVES)}}),
)  # fmt: skip
def test_defaults(manifest: dict[str, Any], want: dict[str, Any]) -> None:
    assert_within(want, create(manifest))


def assert_within(want: Any, got: Any) -> None:
    """Every field of `want` is in `got`; lists are compared whole."""
    if isinstance(want, dict):
        for key, value in want.items():
            assert_within(value, got[key])
    else:
        assert got == want


def storage_class(name: str, created: str, default: str = "true") -> Any:
    metadata = {"creationTimestamp": created, "annotations": {"storageclass.kubernetes.io/is-default-class": default}}
    return make("StorageClass", name, provisioner="p", metadata=metadata)


STORAGE_CLASSES = {
    one.name: one
    for one in (
        storage_class("old", "2029-01-01T00:00:00Z"),
        storage_class("new-b", "2029-06-01T00:00:00Z"),
        storage_class("new-a", "2029-06-01T00:00:00Z"),
        storage_class("newest-no-default", "2029-07-01T00:00:00Z", "false"),
    )
}


def test_claim_gets_the_newest_default_class() -> None:
    claim = make_manifest("PersistentVolumeClaim", "c", spec=CLAIM)
    assert create(claim, storage_classes=STORAGE_CLASSES)["spec"]["storageClassName"] == "new-a"
    assert "storageClassName" not in create(claim)["spec"]


def test_claim_keeps_its_class_even_when_empty() -> None:
    claim = make_manifest("PersistentVolumeClaim", "c", spec={**CLAIM, "storageClassName": ""})
    assert create(claim, storage_classes=STORAGE_CLASSES)["spec"]["storageClassName"] == ""
    beta = {"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}
    annotated = make_manifest("PersistentVolumeClaim", "c", spec=CLAIM, metadata=beta)
    assert "storageClassName" not in create(annotated, storage_classes=STORAGE_CLASSES)["spec"]


def test_only_one_priority_class_may_be_the_default() -> None:
    existing = {"a": make("PriorityClass", "a", value=1, globalDefault=True)}
    with pytest.raises(
        AdmissionError, match="PriorityClass a is already marked as default. Only one default can exist"
    ):
        create(make_manifest("PriorityClass", "b", value=2, globalDefault=True), priority_classes=existing)
    create(make_manifest("PriorityClass", "a", value=1, globalDefault=True), priority_classes=existing)
    create(make_manifest("PriorityClass", "b", value=2), priority_classes=existing)


def test_object_of_a_cluster_is_kept_as_it_is() -> None:
    manifest = make_pod("a").container().created("2029-01-01T00:00:00Z").phase("Running").on("n").priority(7).manifest()
    manifest["metadata"] |= {"resourceVersion": "5", "managedFields": [{}]}
    manifest["spec"]["fieldOfTomorrow"] = 1
    assert is_from_cluster(manifest) and not is_from_cluster(make_pod("a").manifest())
    kept = accept_existing(manifest, "Pod")
    del manifest["metadata"]["resourceVersion"], manifest["metadata"]["managedFields"]
    assert kept == manifest


@cases(
    "manifest, kind, message",
    ("no name", {"metadata": {"namespace": "a"}}, "Pod", "metadata.name: Required value"),
    ("no namespace", {"metadata": {"name": "a"}}, "Pod", "metadata.namespace: Required value"),
    ("name", {"metadata": {"name": "A"}}, "Node", 'metadata.name: Invalid value: "A": a lowercase RFC 1123'),
    ("namespace of a node", {"metadata": {"name": "a", "namespace": "x"}}, "Node",
     'metadata.namespace: Invalid value: "x": not allowed on this type'),
    ("negative node", {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "-1"}}}, "Node",
     'status.allocatable[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
    ("negative pod", make_pod("a").req(memory="-1Gi").manifest(), "Pod",
     'spec.containers[0].resources.requests[memory]: Invalid value: "-1Gi": must be greater than or equal to 0'),
)  # fmt: skip
def test_object_of_a_cluster_must_be_sound(manifest: dict[str, Any], kind: str, message: str) -> None:
    with pytest.raises(AdmissionError) as caught:
        accept_existing(manifest, kind)
    assert str(caught.value).startswith(message)


def test_object_of_a_cluster_must_be_readable() -> None:
    with pytest.raises(ManifestError, match="spec: expected an object, got a list"):
        accept_existing({"metadata": {"name": "a", "namespace": "b"}, "spec": []}, "Pod")
    with pytest.raises(ManifestError, match="expected an object, got a list"):
        accept_existing([], "Pod")  # type: ignore[arg-type]
