"""The objects that operations make besides those of their templates, with upstream's names and fields.

Priorities: upstream's benchmark has the admission plugin Priority switched off, so that pods bring numbers; here such a
pod gets a class of that number.

Source: kubernetes v1.34.1, test/integration/scheduler_perf (dra.go, node_util.go, scheduler_perf.go); test/utils
(runners.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.api.derived import HOSTNAME
from tools.bench.scheduler_perf.operations import AllocatableStrategy, LabelStrategy
from tools.bench.scheduler_perf.problems import NotSupported

Manifest = dict[str, Any]

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
DEVICES_API: Final = "resource.k8s.io/v1"
DEFAULT_NODE: Final[Manifest] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"generateName": "node-"},
    "status": {
        "capacity": {"pods": "110", "cpu": "4", "memory": "32Gi"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "phase": "Running",
    },
}
DEFAULT_POD: Final[Manifest] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10.1",
                "ports": [{"containerPort": 80}],
                "resources": {
                    "limits": {"cpu": "100m", "memory": "500Mi"},
                    "requests": {"cpu": "100m", "memory": "500Mi"},
                },
            }
        ]
    },
}
_VOLUME_IDS: Final = {"csi": "volumeHandle", "awsElasticBlockStore": "volumeID"}


def namespace(name: str, template: Mapping[str, Any] | None = None) -> Manifest:
    metadata = {**((template or {}).get("metadata") or {}), "name": name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def node(template: Manifest, number: int, labels: LabelStrategy | None, more: AllocatableStrategy | None) -> Manifest:
    """A node of the template; `number` counts all nodes, and names those that leave that open.

    Like a kubelet's node it has its name as the label for the host.
    """
    metadata = template["metadata"]
    name = metadata.get("name") or f"{metadata['generateName']}{number:05d}"
    own = {**(metadata.get("labels") or {}), HOSTNAME: name}
    if labels is not None:
        own[labels.label_key] = labels.label_values[number % len(labels.label_values)]
    status = template.get("status") or {}
    if more is not None:
        allocatable = status.get("allocatable") or status.get("capacity") or {}
        status = {**status, "allocatable": {**allocatable, **more.node_allocatable}}
    kept = {key: value for key, value in metadata.items() if key != "generateName"}
    return {**template, "metadata": {**kept, "name": name, "labels": own}, "status": status}


def csi_node(node_name: str, more: AllocatableStrategy) -> Manifest:
    """What the drivers of the node can take."""
    drivers = [
        {"name": driver, "nodeID": node_name, "allocatable": {"count": limit.count}}
        for driver, limit in more.csi_node_allocatable.items()
    ]
    metadata: Manifest = {"name": node_name}
    if more.migrated_plugins:
        metadata["annotations"] = {MIGRATED_PLUGINS: ",".join(more.migrated_plugins)}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}


def bound_volume(volume: Manifest, claim: Manifest, namespace: str, index: int) -> tuple[Manifest, Manifest]:
    """A volume and a claim of the templates, bound to each other."""
    volume_id, claim_name = f"vol-{index}", f"pvc-{index}"
    name = f"{namespace}-{volume_id}"
    spec = dict(volume["spec"])
    for source, field in _VOLUME_IDS.items():
        if source in spec:
            spec[source] = {**spec[source], field: volume_id}
    spec["claimRef"] = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim_name,
    }  # fmt: skip
    claim_metadata = {**(claim.get("metadata") or {}), "namespace": namespace, "name": claim_name}
    return (
        {**volume, "metadata": {**(volume.get("metadata") or {}), "name": name}, "spec": spec},
        {**claim, "metadata": claim_metadata, "spec": {**claim["spec"], "volumeName": name}},
    )


def pod(template: Manifest, namespace: str, claim_name: str = "") -> Manifest:
    """A pod of the template in a namespace, which mounts the claim, if there is one."""
    spec = template["spec"]
    if claim_name:
        spec = {**spec, "volumes": [{"name": "vol", "persistentVolumeClaim": {"claimName": claim_name}}]}
    return {**template, "metadata": {**template["metadata"], "namespace": namespace}, "spec": spec}


def priority_class(priority: int) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": f"priority-{priority}"},
        "value": priority,
    }


def with_class(manifest: Manifest) -> tuple[Manifest, int | None]:
    """The object, and the priority a pod brings as a number, which it then has as a class."""
    spec = manifest.get("spec") or {}
    if manifest.get("kind") != "Pod" or spec.get("priority") is None or spec.get("priorityClassName"):
        return manifest, None
    priority: int = spec["priority"]
    kept = {key: value for key, value in spec.items() if key != "priority"}
    return {**manifest, "spec": {**kept, "priorityClassName": priority_class(priority)["metadata"]["name"]}}, priority


def resource_slice(driver: str, node_name: str, devices: int) -> Manifest:
    """What the simulated driver has on a node: so many devices that are all alike."""
    return {
        "apiVersion": DEVICES_API,
        "kind": "ResourceSlice",
        "metadata": {"name": node_name},
        "spec": {
            "driver": driver,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": 0, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"instance-{index}",
                    "attributes": {
                        "model": {"string": "A100"},
                        "family": {"string": "GPU"},
                        "driverVersion": {"version": "1.2.3"},
                        "dra.example.com/numa": {"int": index},
                    },
                    "capacity": {"memory": {"value": "1Gi"}},
                }
                for index in range(devices)
            ],
        },
    }


def devices_in(slices: list[Manifest]) -> Iterator[tuple[str, str, str, str]]:
    """The devices of nodes: node, driver, pool, device."""
    for one in slices:
        spec = one["spec"]
        for device in spec["devices"]:
            yield spec["nodeName"], spec["driver"], spec["pool"]["name"], device["name"]


def allocation(claim: Manifest, node_name: str, driver: str, pool: str, device: str) -> Manifest:
    """The allocation of one device of a node to a claim that asks for one; NotSupported for other claims."""
    requests = claim["spec"]["devices"].get("requests") or []
    exactly = requests[0].get("exactly") if len(requests) == 1 else None
    if exactly is None or exactly.get("selectors") or exactly.get("count", 1) != 1:
        raise NotSupported("operation allocResourceClaims: claims that ask for more than one device of a class")
    result = {"request": requests[0]["name"], "driver": driver, "pool": pool, "device": device}
    fields = [{"key": "metadata.name", "operator": "In", "values": [node_name]}]
    return {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]},
    }
