"""Fields behind feature gates that are off in 1.34: dropped, unless the object had them before.

Source: kubernetes v1.34.1, pkg/features/kube_features.go; pkg/api/pod/util.go;
pkg/registry/*/strategy.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scheduler_core.admission.context import Manifest

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_CONTAINER: Final = ("restartPolicyRules", "env[].valueFrom.fileKeyRef")
_POD_SPEC: Final = (
    *(f"{name}[].{field}" for name in _CONTAINERS for field in _CONTAINER),
    "hostnameOverride",
    "volumes[].projected.sources[].clusterTrustBundle",
    "volumes[].projected.sources[].podCertificate",
)
_CLAIM_SPEC: Final = (
    "devices.constraints[].distinctAttribute",
    *(f"devices.requests[].{form}.capacity" for form in ("exactly", "firstAvailable[]")),
)
_TEMPLATE: Final = tuple(f"spec.template.spec.{path}" for path in _POD_SPEC)

# By kind: the paths below the manifest, `[]` for each item of a list or map.
_PATHS: Final[dict[str, tuple[str, ...]]] = {
    "Pod": tuple(f"spec.{path}" for path in _POD_SPEC),
    "ReplicationController": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "Deployment": (*_TEMPLATE, "status.terminatingReplicas"),
    "DaemonSet": _TEMPLATE,
    "StatefulSet": (*_TEMPLATE, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
    "Job": _TEMPLATE,
    "CronJob": tuple(f"spec.jobTemplate.{path}" for path in _TEMPLATE),
    "PodTemplate": tuple(f"template.spec.{path}" for path in _POD_SPEC),
    "Lease": ("spec.strategy", "spec.preferredHolder"),
    "CSIDriver": ("spec.nodeAllocatableUpdatePeriodSeconds",),
    "Node": ("spec.configSource", "status.config"),
    "VolumeAttachment": ("status.attachError.errorCode", "status.detachError.errorCode"),
    "DeviceClass": ("spec.extendedResourceName",),
    "ResourceClaim": (
        *(f"spec.{path}" for path in _CLAIM_SPEC),
        "status.allocation.allocationTimestamp",
        *(
            f"status.allocation.devices.results[].{field}"
            for field in ("bindingConditions", "bindingFailureConditions", "shareID", "consumedCapacity")
        ),
        "status.devices[].shareID",
    ),
    "ResourceClaimTemplate": tuple(f"spec.spec.{path}" for path in _CLAIM_SPEC),
    "ResourceSlice": (
        "spec.sharedCounters",
        "spec.perDeviceNodeSelection",
        *(
            f"spec.devices[].{field}"
            for field in (
                "taints", "consumesCounters", "nodeName", "nodeSelector", "allNodes", "bindingConditions",
                "bindingFailureConditions", "bindsToNode", "allowMultipleAllocations", "capacity[].requestPolicy",
            )
        ),
    ),
}  # fmt: skip
_STATUS_PATHS: Final = {
    kind: found
    for kind, paths in _PATHS.items()
    if (found := tuple(path for path in paths if path.startswith("status.")))
}


def drop_disabled(manifest: Manifest, old: Manifest | None, kind: str) -> None:
    """Drop in place what only gates that are off would keep; what `old` has anywhere stays."""
    _drop_paths(manifest, old, _PATHS.get(kind, ()))
    spec = _pod_spec(manifest, kind)
    if spec:
        before = _pod_spec(old, kind) if old is not None else {}
        _drop_container_restart_policies(spec)
        _drop_stop_signals(spec, before)
        _drop_image_volumes(spec, before)


def drop_disabled_status(manifest: Manifest, old: Manifest, kind: str) -> None:
    """The same for the status alone."""
    _drop_paths(manifest, old, _STATUS_PATHS.get(kind, ()))


def _drop_paths(manifest: Manifest, old: Manifest | None, paths: Sequence[str]) -> None:
    for path in paths:
        steps = path.split(".")
        if _found(manifest, steps) and not (old is not None and _found(old, steps)):
            _drop(manifest, steps)


def _pod_spec(manifest: Manifest, kind: str) -> Manifest:
    """The spec of the pod, or of the pods made from it; empty when it has none."""
    holder = manifest if kind in ("Pod", "PodTemplate") else manifest.get("spec") or {}
    if kind == "CronJob":
        holder = (holder.get("jobTemplate") or {}).get("spec") or {}
    owner = holder if kind == "Pod" else holder.get("template") if kind in _PATHS else None
    spec: Manifest = owner["spec"] if isinstance(owner, dict) else {}
    return spec


def _drop_container_restart_policies(spec: Manifest) -> None:
    """Without the gate for restart rules only init containers may have a policy, and only Always."""
    for container in spec.get("containers") or ():
        container.pop("restartPolicy", None)
    for container in spec.get("initContainers", ()):
        if container.get("restartPolicy") != "Always":
            container.pop("restartPolicy", None)


def _drop_stop_signals(spec: Manifest, before: Manifest) -> None:
    """Drop stop signals, and lifecycles that say nothing else."""
    if any("stopSignal" in container.get("lifecycle", ()) for container in _containers(before)):
        return
    for container in _containers(spec):
        lifecycle = container.get("lifecycle", {})
        if lifecycle.pop("stopSignal", None) is not None and not lifecycle:
            del container["lifecycle"]


def _drop_image_volumes(spec: Manifest, before: Manifest) -> None:
    """Drop volumes made from images, and with them their mounts."""
    if any("image" in volume for volume in before.get("volumes") or ()):
        return
    names = {volume["name"] for volume in spec.get("volumes") or () if "image" in volume}
    if names:
        for holder, field in ((spec, "volumes"), *((container, "volumeMounts") for container in _containers(spec))):
            kept = [item for item in holder.pop(field, None) or () if item["name"] not in names]
            if kept:
                holder[field] = kept


def _containers(spec: Manifest) -> list[Manifest]:
    return [container for name in _CONTAINERS for container in spec.get(name) or ()]


def _items(value: Any, step: str) -> list[Any]:
    """What the step leads to: the field's value, or each of its items."""
    name = step.removesuffix("[]")
    found = value.get(name) if isinstance(value, dict) else None
    if found is None:
        return []
    if not step.endswith("[]"):
        return [found]
    return list(found.values()) if isinstance(found, dict) else list(found)


def _found(value: Any, steps: list[str]) -> bool:
    return any(len(steps) == 1 or _found(one, steps[1:]) for one in _items(value, steps[0]))


def _drop(value: Any, steps: list[str]) -> None:
    if len(steps) == 1:
        if isinstance(value, dict):
            value.pop(steps[0], None)
        return
    for one in _items(value, steps[0]):
        _drop(one, steps[1:])
