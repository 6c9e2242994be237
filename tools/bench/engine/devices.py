"""Devices on nodes and claims of pods, for the workload WD."""

from __future__ import annotations

from typing import Any, Final

DRIVER: Final = "gpu.example.com"
CLASS: Final = "bench-gpu"
ENTRY: Final = "gpu"
API_VERSION: Final = "resource.k8s.io/v1"
_WANTED: Final = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "a100"'

Manifest = dict[str, Any]


def devices_of(num_nodes: int, per_node: int, num_pods: int) -> list[Manifest]:
    """A class, a slice with devices for each node, and a claim of one device for each pod."""
    selectors = [{"cel": {"expression": _WANTED}}]
    made = [_object("DeviceClass", CLASS, spec={"selectors": selectors})]
    made += [_slice(f"node-{index:05d}", per_node) for index in range(num_nodes)]
    request = {"name": ENTRY, "exactly": {"deviceClassName": CLASS, "allocationMode": "ExactCount", "count": 1}}
    spec = {"devices": {"requests": [request]}}
    return made + [_object("ResourceClaim", f"pod-{index:06d}-gpu", "default", spec=spec) for index in range(num_pods)]


def with_claim(pod: Manifest) -> Manifest:
    """The pod, which asks for the claim of its name."""
    entry = {"name": ENTRY, "resourceClaimName": f"{pod['metadata']['name']}-gpu"}
    metadata = {**pod["metadata"], "namespace": "default"}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "resourceClaims": [entry]}}


def _slice(node_name: str, per_node: int) -> Manifest:
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {"model": {"string": "a100" if index % 2 else "l4"}, "index": {"int": index}},
            "capacity": {"memory": {"value": "40Gi"}},
        }
        for index in range(per_node)
    ]
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node_name, "pool": pool, "devices": devices}
    return _object("ResourceSlice", f"{node_name}-gpu", spec=spec)


def _object(kind: str, name: str, namespace: str = "", **fields: Any) -> Manifest:
    metadata = {"name": name, "uid": f"uid-{name}"} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, **fields}
