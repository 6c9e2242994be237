"""Parts of the specs of Otter Post's pods, and the labels, classes and resources they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scheduler_core.sim.demo import APP_LABEL

REGISTRY: Final = "registry.otterpost.example"

GPU: Final = "nvidia.com/gpu"
POOL: Final = "otterpost.example/pool"
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
TOLERATES_GPU: Final = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
TOLERATES_SPOT: Final = {"key": "otterpost.example/spot", "operator": "Exists"}
# Twenty seconds, where pods that say nothing stay for five minutes.
LEAVES_SILENT_NODES: Final = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}
    for key in ("not-ready", "unreachable")
]

DISK_DRIVER: Final = "disk.csi.otterpost.example"
DISK_CLASS: Final = "river-disk"  # made where the pod goes
LOCAL_CLASS: Final = "den-disk"  # disks that lie in one node


def spec(
    app: str, cpu: str, memory: str, *, port: int = 0, gpus: int = 0, mounted: Sequence[str] = (), **fields: Any
) -> dict[str, Any]:
    """Return a pod spec with one container, which mounts all volumes; `fields` go into the spec unchanged.

    `mounted`: volumes that the pod gets from elsewhere.
    """
    resources: dict[str, Any] = {"requests": {"cpu": cpu, "memory": memory}}
    if gpus:
        resources = {"requests": {"cpu": cpu, "memory": memory, GPU: str(gpus)}, "limits": {GPU: str(gpus)}}
        fields["tolerations"] = [TOLERATES_GPU]
    container: dict[str, Any] = {"name": app, "image": f"{REGISTRY}/{app}:1", "resources": resources}
    if port:
        container["ports"] = [{"name": "serve", "containerPort": port, "hostPort": port}]
    mounts = [each["name"] for each in fields.get("volumes", ())] + list(mounted)
    if mounts:
        container["volumeMounts"] = [{"name": name, "mountPath": f"/{name}"} for name in mounts]
    return {"containers": [container], **fields}


def required(key: str, *values: str) -> dict[str, Any]:
    """Return required node affinity."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def preferred(weight: int, key: str, *values: str) -> dict[str, Any]:
    """Return preferred node affinity."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": term}]}
    }


def pods_of(app: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {APP_LABEL: app}}}


def next_to(app: str, key: str) -> dict[str, Any]:
    """Return required pod affinity."""
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [pods_of(app) | {"topologyKey": key}]}}


def apart(app: str, key: str) -> dict[str, Any]:
    """Return required pod anti-affinity."""
    term = pods_of(app) | {"topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(app: str, key: str, when: str, max_skew: int = 1, **fields: Any) -> dict[str, Any]:
    return {"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": when, **pods_of(app), **fields}


def disk(storage_class: str, size: str) -> dict[str, Any]:
    """Return the spec of a claim."""
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": size}},
    }


def own_disk(size: str) -> list[dict[str, Any]]:
    """Return an ephemeral volume."""
    return [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": disk(DISK_CLASS, size)}}}]


def with_cards(pod_spec: dict[str, Any], template: str) -> dict[str, Any]:
    """Return the spec of a pod whose container has the devices of a claim made from the template."""
    (container,) = pod_spec["containers"]
    resources = container["resources"] | {"claims": [{"name": "cards"}]}
    claims = [{"name": "cards", "resourceClaimTemplateName": template}]
    return {**pod_spec, "containers": [container | {"resources": resources}], "resourceClaims": claims}
