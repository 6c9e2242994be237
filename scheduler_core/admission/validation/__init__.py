"""What the API server refuses in an object: problems with their paths and its words, in its order.

Manifests were read by the schema and defaulted, so every value is of its type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from scheduler_core.admission.context import AdmissionContext, Manifest, Problem
from scheduler_core.admission.validation import (
    configuration,
    devices,
    endpoints,
    jobs,
    kinds,
    persistent_volumes,
    schedules,
    services,
    storage,
    workloads,
)
from scheduler_core.admission.validation.claim_statuses import claim_status_problems
from scheduler_core.admission.validation.kept import kept_change_problems, kept_problems, kept_status_problems
from scheduler_core.admission.validation.metadata import metadata_problems, metadata_update_problems
from scheduler_core.admission.validation.pods import pod_problems
from scheduler_core.admission.validation.statuses import status_problems
from scheduler_core.admission.validation.structure import structural_problems
from scheduler_core.admission.validation.updates import change_problems
from scheduler_core.api.kept import KEPT

__all__ = [
    "create_problems",
    "part_update_problems",
    "status_update_problems",
    "structural_problems",
    "update_problems",
]


def create_problems(manifest: Manifest, kind: str, context: AdmissionContext) -> list[Problem]:
    """Of a new object, metadata first."""
    return _that_count([*metadata_problems(manifest, kind), *_own(manifest, kind, context, is_new=True)], context)


def update_problems(new: Manifest, old: Manifest, kind: str, context: AdmissionContext) -> list[Problem]:
    """Of an object that replaces another. Its metadata is looked at once for all kinds, and again by the kind."""
    change = list(metadata_update_problems(new["metadata"], old["metadata"]))
    problems = [*metadata_problems(new, kind, any_name=True), *change]
    if kind in _CHANGE_FIRST:
        problems += [*change, *change_problems(new, old, kind), *metadata_problems(new, kind)]
        return _that_count([*problems, *_own(new, kind, context, is_new=False)], context)
    if kind in _CHECKED_WHOLE:
        problems += [*metadata_problems(new, kind)] * (2 if kind in _WHOLLY_TWICE else 1)
    if kind not in _WITHOUT_CHANGE:
        problems += change
    if kind not in _UNCHECKED_AGAIN:
        problems += [*_own(new, kind, context, is_new=False)] * (2 if kind in _CHECKED_TWICE else 1)
    changes = kept_change_problems(new, old) if kind in KEPT else change_problems(new, old, kind)
    return _that_count([*problems, *changes], context)


def part_update_problems(new: Manifest, old: Manifest, context: AdmissionContext) -> list[Problem]:
    """What every change of a part of a pod or namespace has to satisfy, beside rules of that part."""
    kind = new["kind"]
    change = list(metadata_update_problems(new["metadata"], old["metadata"]))
    problems = [*metadata_problems(new, kind, any_name=True), *change, *change]
    if kind == "Pod":
        problems += [*metadata_problems(new, kind), *_own(new, kind, context, is_new=False)]
    return _that_count(problems, context)


def _that_count(problems: list[Problem], context: AdmissionContext) -> list[Problem]:
    """Without those that concern only what would run or be mounted, where nothing is."""
    if not context.is_simulated:
        return problems
    return [problem for problem in problems if not _LEFT_OPEN.fullmatch(f"{problem.path}: {problem.detail}")]


def status_update_problems(
    new: Manifest, old: Manifest, kind: str, context: AdmissionContext, *, has_new_metadata: bool
) -> list[Problem]:
    problems = list(kept_status_problems(new) if kind in KEPT else status_problems(new, old, kind))
    if kind == "ResourceClaim":
        allows_admin = context.allows_admin_access(old["metadata"].get("namespace", ""))
        problems += claim_status_problems(new["status"], old, allows_admin=allows_admin)
    if not has_new_metadata:
        return problems
    change = list(metadata_update_problems(new["metadata"], old["metadata"]))
    return [*metadata_problems(new, kind, any_name=True), *change, *change, *problems]


def _own(manifest: Manifest, kind: str, context: AdmissionContext, *, is_new: bool) -> Iterator[Problem]:
    if kind == "Pod":
        yield from pod_problems(manifest, is_new=is_new)
    elif kind in KEPT:
        yield from kept_problems(manifest)
    elif kind in _OF_TEMPLATES:
        extra: dict[str, Any] = {"is_new": is_new} if kind == "StatefulSet" else {}
        yield from _OF_TEMPLATES[kind](manifest, **extra)
        if kind == "Job" and not is_new:
            yield from jobs.job_spec_problems(manifest)
    elif kind == "VolumeAttachment":
        yield from storage.volume_attachment_problems(manifest, is_new=is_new)
    elif kind == "ControllerRevision":
        yield from configuration.controller_revision_problems(manifest, is_new=is_new)
    elif kind == "EndpointSlice":
        yield from endpoints.endpoint_slice_problems(manifest)
        if is_new:
            yield from endpoints.slice_endpoints_problems(manifest)
    elif kind == "CronJob":
        if is_new:  # a changed one is compared with what it was
            yield from schedules.cron_job_problems(manifest)
    elif kind in _OF_CLAIMS:
        allows_admin = not is_new or context.allows_admin_access(manifest["metadata"].get("namespace", ""))
        yield from _OF_CLAIMS[kind](manifest, allows_admin=allows_admin)
    elif kind in _CHECKS:
        yield from _CHECKS[kind](manifest)


# What objects may leave open in a cluster without kubelets.
_LEFT_OPEN: Final = re.compile(
    r"(.*ontainers\[\d+\]\.image: Required value)|(spec: Required value: must specify a volume type)"
    r"|(spec\.ports: Required value)|(spec\.template\.spec\.restartPolicy: Required value: .*)"
)
# Their spec stays or is checked when it changes.
_UNCHECKED_AGAIN: Final = frozenset({"Namespace", "PriorityClass"})
# Kinds that check a changed object as if it were new, and kinds that leave its metadata to the common check.
_CHECKED_WHOLE: Final = frozenset(
    {
        "Pod", "PersistentVolume", "PersistentVolumeClaim", "Job", "LimitRange", "CSINode", "VolumeAttachment",
        "ServiceAccount", "Endpoints", "EndpointSlice", "ControllerRevision", "Namespace",
        "Node", "ReplicationController", "StorageClass", "RuntimeClass", "CSIStorageCapacity",
        "ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "VolumeAttributesClass",
    }
)  # fmt: skip
# Kinds whose check of a change repeats the check of the whole.
_WHOLLY_TWICE: Final = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
_CHECKED_TWICE: Final = _WHOLLY_TWICE | {
    "ReplicationController", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "VolumeAttributesClass",
}  # fmt: skip
# Kinds whose change is looked at before the whole.
_CHANGE_FIRST: Final = frozenset({"Service", "ConfigMap", "Secret"})
_WITHOUT_CHANGE: Final = frozenset(
    {"PodDisruptionBudget", "LimitRange", "CSINode", "VolumeAttachment", "EndpointSlice"}
)
_OF_TEMPLATES: Final[dict[str, Callable[..., Iterator[Problem]]]] = {
    "ReplicationController": workloads.replication_controller_problems,
    "ReplicaSet": workloads.replica_set_problems,
    "Deployment": workloads.deployment_problems,
    "DaemonSet": workloads.daemon_set_problems,
    "StatefulSet": workloads.stateful_set_problems,
    "Job": jobs.job_problems,
    "PodTemplate": workloads.pod_template_problems,
}
_OF_CLAIMS: Final[dict[str, Callable[..., Iterator[Problem]]]] = {
    "ResourceClaim": devices.resource_claim_problems,
    "ResourceClaimTemplate": devices.resource_claim_template_problems,
}
_CHECKS: Final[dict[str, Callable[[Manifest], Iterator[Problem]]]] = {
    "Namespace": kinds.namespace_problems,
    "Node": kinds.node_problems,
    "PriorityClass": kinds.priority_class_problems,
    "RuntimeClass": kinds.runtime_class_problems,
    "LimitRange": kinds.limit_range_problems,
    "ResourceQuota": kinds.resource_quota_problems,
    "PodDisruptionBudget": kinds.disruption_budget_problems,
    "Lease": kinds.lease_problems,
    "Service": services.service_problems,
    "ConfigMap": configuration.config_map_problems,
    "Secret": configuration.secret_problems,
    "Endpoints": endpoints.endpoints_problems,
    "PersistentVolume": persistent_volumes.persistent_volume_problems,
    "PersistentVolumeClaim": storage.persistent_volume_claim_problems,
    "StorageClass": storage.storage_class_problems,
    "VolumeAttributesClass": storage.volume_attributes_class_problems,
    "CSINode": storage.csi_node_problems,
    "CSIDriver": storage.csi_driver_problems,
    "CSIStorageCapacity": storage.csi_storage_capacity_problems,
    "ResourceSlice": devices.resource_slice_problems,
    "DeviceClass": devices.device_class_problems,
}
