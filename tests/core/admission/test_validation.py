"""Every refusal of an object that is no pod, with its path."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.errors import AdmissionError
from tests.builders import make_manifest, make_node
from tests.cases import cases
from tests.core.admission.context import validate

LABELED = "name part must consist of alphanumeric characters"
NOT_NEGATIVE = "must be greater than or equal to 0"


def other(kind: str, **fields: Any) -> dict[str, Any]:
    return make_manifest(kind, "x", **fields)


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
SELECTOR = {"matchLabels": {"a": "b"}}
SMALL = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}}
NEAR = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]}

OTHERS = [
    ("taint key", make_node("n").taint("a b").manifest(), f'metadata.taints[0].key: Invalid value: "a b": {LABELED}'),
    ("taint value", make_node("n").taint("a", "x y").manifest(), 'metadata.taints[0].value: Invalid value: "x y"'),
    ("no taint effect", make_node("n").taint("a", effect="").manifest(), "metadata.taints[0].effect: Required value"),
    ("taint effect", make_node("n").taint("a", effect="X").manifest(),
     'metadata.taints[0].effect: Unsupported value: "X"'),
    ("taint twice", make_node("n").taint("a").taint("a", "b").manifest(),
     'metadata.taints[1]: Duplicate value: {"Key":"a"'),
    ("negative capacity", make_node("n").capacity(cpu="-1").manifest(),
     f'status.capacity.cpu: Invalid value: "-1": {NOT_NEGATIVE}'),
    ("namespace name", make_manifest("Namespace", "a.b"), 'metadata.name: Invalid value: "a.b": must not contain dots'),
    ("priority", other("PriorityClass", value=10**9 + 1),
     "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"),
    ("system class", make_manifest("PriorityClass", "system-x", value=1),
     "priority class names with 'system-' prefix are reserved for system use only"),
    ("policy", other("PriorityClass", preemptionPolicy="X"), 'preemptionPolicy: Unsupported value: "X"'),
    ("no handler", other("RuntimeClass"), "handler: Invalid value: "),
    ("class overhead", other("RuntimeClass", handler="h", overhead={"podFixed": {"cpu": "-1"}}),
     "overhead.limits[cpu]: Invalid value"),
    ("class selector", other("RuntimeClass", handler="h", scheduling={"nodeSelector": {"a b": ""}}),
     "scheduling.nodeSelector: Invalid value"),
    ("limit type", other("LimitRange", spec={"limits": [{}]}), "spec.limits[0].type: Invalid value: "),
    ("min above max", other("LimitRange", spec={"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}),
     "min value 2 is greater than max value 1"),
    ("volume access", other("PersistentVolume", spec={"capacity": {"storage": "1"}}),
     "spec.accessModes: Required value"),
    ("no volume size", other("PersistentVolume", spec={"accessModes": ["ReadWriteOnce"]}),
     "spec.capacity: Required value"),
    ("volume size", other("PersistentVolume", spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "0"}}),
     'spec.capacity[storage]: Invalid value: "0": must be greater than zero'),
    ("volume affinity", other("PersistentVolume", spec={**SMALL, "nodeAffinity": {"required": NEAR}}),
     "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value"),
    ("claim access", other("PersistentVolumeClaim", spec={"resources": {"requests": {"storage": "1"}}}),
     "spec.accessModes: Required value: at least 1 access mode is required"),
    ("no claim size", other("PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"]}),
     "spec.resources[storage]: Required value"),
    ("claim size",
     other("PersistentVolumeClaim",
           spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}}),
     "spec.resources[storage]: Invalid value"),
    ("no provisioner", other("StorageClass"), "provisioner: Required value"),
    ("binding mode", other("StorageClass", provisioner="p", volumeBindingMode="X"),
     'volumeBindingMode: Unsupported value: "X"'),
    ("budget both", other("PodDisruptionBudget", spec={"minAvailable": 1, "maxUnavailable": 1}),
     "minAvailable and maxUnavailable cannot be both set"),
    ("budget negative", other("PodDisruptionBudget", spec={"minAvailable": -1}),
     f"spec.minAvailable: Invalid value: -1: {NOT_NEGATIVE}"),
    ("budget text", other("PodDisruptionBudget", spec={"maxUnavailable": "half"}),
     'spec.maxUnavailable: Invalid value: "half": a valid percent string'),
    ("budget percent", other("PodDisruptionBudget", spec={"maxUnavailable": "101%"}), "must not be greater than 100%"),
    ("budget selector",
     other("PodDisruptionBudget", spec={"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
     "spec.selector.matchExpressions[0].values: Required value"),
    ("no selector", other("ReplicaSet", spec={"template": TEMPLATE}), "spec.selector: Required value"),
    ("empty selector", other("ReplicaSet", spec={"selector": {}, "template": TEMPLATE}),
     "spec.selector: Invalid value: {}: empty selector is invalid"),
    ("no template", other("Deployment", spec={"selector": SELECTOR}),
     "spec.template.metadata.labels: Invalid value: null"),
    ("labels do not match", other("StatefulSet", spec={"selector": {"matchLabels": {"a": "c"}}, "template": TEMPLATE}),
     "`selector` does not match template `labels`"),
    ("template pod", other("DaemonSet", spec={"selector": SELECTOR, "template": {**TEMPLATE, "spec": {}}}),
     "spec.template.spec.containers: Required value"),
    ("replicas", other("Deployment", spec={"selector": SELECTOR, "template": TEMPLATE, "replicas": -1}),
     "spec.replicas: Invalid value: -1"),
    ("parallelism", other("Job", spec={"template": TEMPLATE, "parallelism": -1}),
     "spec.parallelism: Invalid value: -1"),
    ("no map selector", other("ReplicationController", spec={"template": {**TEMPLATE, "metadata": {}}}),
     "spec.selector: Required value"),
    ("map selector", other("ReplicationController", spec={"template": TEMPLATE, "selector": {"a": "c"}}),
     "`selector` does not match template `labels`"),
    ("controller replicas",
     other("ReplicationController", spec={"template": TEMPLATE, "selector": {"a": "b"}, "replicas": -1}),
     "spec.replicas: Invalid value: -1"),
]  # fmt: skip


@cases("manifest, message", *OTHERS)
def test_other_object_is_refused(manifest: dict[str, Any], message: str) -> None:
    with pytest.raises(AdmissionError) as caught:
        validate(manifest, manifest["kind"])
    assert message in str(caught.value)
