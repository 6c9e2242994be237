"""Every refusal of an object that is no pod, with its path."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.errors import AdmissionError
from tests.builders import make_manifest, make_node
from tests.core.admission.context import validate

LABELED = "name part must consist of alphanumeric characters"
NOT_NEGATIVE = "must be greater than or equal to 0"


def other(kind: str, **fields: Any) -> dict[str, Any]:
    return make_manifest(kind, "x", **fields)


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
SELECTOR = {"matchLabels": {"a": "b"}}

OTHERS = [
    pytest.param(
        make_node("n").taint("a b").manifest(),
        f'metadata.taints[0].key: Invalid value: "a b": {LABELED}',
        id="taint key",
    ),
    pytest.param(
        make_node("n").taint("a", "x y").manifest(), 'metadata.taints[0].value: Invalid value: "x y"', id="taint value"
    ),
    pytest.param(
        make_node("n").taint("a", effect="").manifest(),
        "metadata.taints[0].effect: Required value",
        id="no taint effect",
    ),
    pytest.param(
        make_node("n").taint("a", effect="X").manifest(),
        'metadata.taints[0].effect: Unsupported value: "X"',
        id="taint effect",
    ),
    pytest.param(
        make_node("n").taint("a").taint("a", "b").manifest(),
        'metadata.taints[1]: Duplicate value: {"Key":"a"',
        id="taint twice",
    ),
    pytest.param(
        make_node("n").capacity(cpu="-1").manifest(),
        f'status.capacity.cpu: Invalid value: "-1": {NOT_NEGATIVE}',
        id="negative capacity",
    ),
    pytest.param(
        make_manifest("Namespace", "a.b"),
        'metadata.name: Invalid value: "a.b": must not contain dots',
        id="namespace name",
    ),
    pytest.param(
        other("PriorityClass", value=10**9 + 1),
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        id="priority",
    ),
    pytest.param(
        make_manifest("PriorityClass", "system-x", value=1),
        "priority class names with 'system-' prefix are reserved for system use only",
        id="system class",
    ),
    pytest.param(other("PriorityClass", preemptionPolicy="X"), 'preemptionPolicy: Unsupported value: "X"', id="policy"),
    pytest.param(other("RuntimeClass"), "handler: Invalid value: ", id="no handler"),
    pytest.param(
        other("RuntimeClass", handler="h", overhead={"podFixed": {"cpu": "-1"}}),
        "overhead.limits[cpu]: Invalid value",
        id="class overhead",
    ),
    pytest.param(
        other("RuntimeClass", handler="h", scheduling={"nodeSelector": {"a b": ""}}),
        "scheduling.nodeSelector: Invalid value",
        id="class selector",
    ),
    pytest.param(other("LimitRange", spec={"limits": [{}]}), "spec.limits[0].type: Invalid value: ", id="limit type"),
    pytest.param(
        other("LimitRange", spec={"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}),
        "min value 2 is greater than max value 1",
        id="min above max",
    ),
    pytest.param(
        other("PersistentVolume", spec={"capacity": {"storage": "1"}}),
        "spec.accessModes: Required value",
        id="volume access",
    ),
    pytest.param(
        other("PersistentVolume", spec={"accessModes": ["ReadWriteOnce"]}),
        "spec.capacity: Required value",
        id="no volume size",
    ),
    pytest.param(
        other("PersistentVolume", spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "0"}}),
        'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
        id="volume size",
    ),
    pytest.param(
        other(
            "PersistentVolume",
            spec={
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1"},
                "nodeAffinity": {
                    "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]}
                },
            },
        ),
        "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value",
        id="volume affinity",
    ),
    pytest.param(
        other("PersistentVolumeClaim", spec={"resources": {"requests": {"storage": "1"}}}),
        "spec.accessModes: Required value: at least 1 access mode is required",
        id="claim access",
    ),
    pytest.param(
        other("PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"]}),
        "spec.resources[storage]: Required value",
        id="no claim size",
    ),
    pytest.param(
        other(
            "PersistentVolumeClaim",
            spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}},
        ),
        "spec.resources[storage]: Invalid value",
        id="claim size",
    ),
    pytest.param(other("StorageClass"), "provisioner: Required value", id="no provisioner"),
    pytest.param(
        other("StorageClass", provisioner="p", volumeBindingMode="X"),
        'volumeBindingMode: Unsupported value: "X"',
        id="binding mode",
    ),
    pytest.param(
        other("PodDisruptionBudget", spec={"minAvailable": 1, "maxUnavailable": 1}),
        "minAvailable and maxUnavailable cannot be both set",
        id="budget both",
    ),
    pytest.param(
        other("PodDisruptionBudget", spec={"minAvailable": -1}),
        f"spec.minAvailable: Invalid value: -1: {NOT_NEGATIVE}",
        id="budget negative",
    ),
    pytest.param(
        other("PodDisruptionBudget", spec={"maxUnavailable": "half"}),
        'spec.maxUnavailable: Invalid value: "half": a valid percent string',
        id="budget text",
    ),
    pytest.param(
        other("PodDisruptionBudget", spec={"maxUnavailable": "101%"}),
        "must not be greater than 100%",
        id="budget percent",
    ),
    pytest.param(
        other("PodDisruptionBudget", spec={"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
        "spec.selector.matchExpressions[0].values: Required value",
        id="budget selector",
    ),
    pytest.param(other("ReplicaSet", spec={"template": TEMPLATE}), "spec.selector: Required value", id="no selector"),
    pytest.param(
        other("ReplicaSet", spec={"selector": {}, "template": TEMPLATE}),
        "spec.selector: Invalid value: {}: empty selector is invalid",
        id="empty selector",
    ),
    pytest.param(
        other("Deployment", spec={"selector": SELECTOR}),
        "spec.template.metadata.labels: Invalid value: null",
        id="no template",
    ),
    pytest.param(
        other("StatefulSet", spec={"selector": {"matchLabels": {"a": "c"}}, "template": TEMPLATE}),
        "`selector` does not match template `labels`",
        id="labels do not match",
    ),
    pytest.param(
        other("DaemonSet", spec={"selector": SELECTOR, "template": {**TEMPLATE, "spec": {}}}),
        "spec.template.spec.containers: Required value",
        id="template pod",
    ),
    pytest.param(
        other("Deployment", spec={"selector": SELECTOR, "template": TEMPLATE, "replicas": -1}),
        "spec.replicas: Invalid value: -1",
        id="replicas",
    ),
    pytest.param(
        other("Job", spec={"template": TEMPLATE, "parallelism": -1}),
        "spec.parallelism: Invalid value: -1",
        id="parallelism",
    ),
    pytest.param(
        other("ReplicationController", spec={"template": {**TEMPLATE, "metadata": {}}}),
        "spec.selector: Required value",
        id="no map selector",
    ),
    pytest.param(
        other("ReplicationController", spec={"template": TEMPLATE, "selector": {"a": "c"}}),
        "`selector` does not match template `labels`",
        id="map selector",
    ),
    pytest.param(
        other("ReplicationController", spec={"template": TEMPLATE, "selector": {"a": "b"}, "replicas": -1}),
        "spec.replicas: Invalid value: -1",
        id="controller replicas",
    ),
]


@pytest.mark.parametrize(("manifest", "message"), OTHERS)
def test_other_object_is_refused(manifest: dict[str, Any], message: str) -> None:
    with pytest.raises(AdmissionError) as caught:
        validate(manifest, manifest["kind"])
    assert message in str(caught.value)
