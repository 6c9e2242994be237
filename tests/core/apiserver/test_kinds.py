"""The table of kinds says what kube-apiserver 1.34 does with each."""

from __future__ import annotations

import pytest

from scheduler_core.admission.strategies import STRATEGIES
from scheduler_core.apiserver.kinds import ADMISSION_KINDS, KINDS
from scheduler_core.apiserver.requests import Propagation

WITHOUT_STATUS = {
    "PriorityClass", "RuntimeClass", "LimitRange", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity",
    "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "ResourceClass", "Lease", "Event", "ConfigMap", "Secret",
    "ServiceAccount", "Endpoints", "EndpointSlice", "ControllerRevision", "PodTemplate", "VolumeAttributesClass",
    "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "IngressClass", "NetworkPolicy", "IPAddress",
    "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicyBinding",
}  # fmt: skip
WITH_SCALE = {"ReplicationController", "ReplicaSet", "StatefulSet", "Deployment"}
WITH_GENERATION = WITH_SCALE | {
    "PriorityClass", "Pod", "PodDisruptionBudget", "DaemonSet", "Job", "ResourceSlice", "DeviceClass", "CronJob",
    "EndpointSlice", "PodTemplate", "Ingress", "IngressClass", "NetworkPolicy", "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "FlowSchema",
    "PriorityLevelConfiguration", "CustomResourceDefinition",
}  # fmt: skip
# DELETE answers with the object: the kinds whose registry asks for it.
ANSWERS_DELETED = {
    "Namespace", "StorageClass", "Pod", "PersistentVolume", "PersistentVolumeClaim", "Service", "ResourceClaim",
    "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "ResourceQuota", "ServiceAccount", "CSINode",
    "VolumeAttachment", "PodTemplate", "VolumeAttributesClass", "ResourceClass", "PodSchedulingContext",
}  # fmt: skip
ORPHANS = {"ReplicationController", "Job"}


@pytest.mark.parametrize("name", KINDS)
def test_kind_is_treated_as_upstream_does(name: str) -> None:
    kind = KINDS[name]
    assert kind.has_status is (name not in WITHOUT_STATUS)
    assert kind.has_scale is (name in WITH_SCALE)
    assert (name in STRATEGIES and STRATEGIES[name].born > 0) is (name in WITH_GENERATION)
    assert kind.answers_deleted is (name in ANSWERS_DELETED)
    assert kind.default_propagation is (Propagation.ORPHAN if name in ORPHANS else Propagation.BACKGROUND)


def test_kinds_that_admission_looks_up_are_created_first() -> None:
    order = sorted(KINDS, key=lambda name: KINDS[name].place)
    assert tuple(order[: len(ADMISSION_KINDS)]) == ADMISSION_KINDS
    assert order[-2:] == ["Node", "Pod"]
