"""Slices, classes, claims and pods with claims, as manifests."""

from __future__ import annotations

from typing import Any

from scheduler_core.build import build
from scheduler_core.model.effects import Effects
from scheduler_core.ports import FirstDraws
from scheduler_core.sim.world import World

DRIVER = "gpu.example.com"
NOW = 1_900_000_000_000_000

Manifest = dict[str, Any]


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> Manifest:
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return _object("DeviceClass", name, "", spec={"selectors": selectors, **spec})


def device(name: str, *, capacity: dict[str, str] | None = None, **attributes: Any) -> Manifest:
    kinds = {bool: "bool", int: "int", str: "string"}
    held: Manifest = {"name": name, "attributes": {key: {kinds[type(v)]: v} for key, v in attributes.items()}}
    if capacity:
        held["capacity"] = {key: {"value": value} for key, value in capacity.items()}
    return held


def resource_slice(name: str, *devices: Manifest, pool: str = "", driver: str = DRIVER, **spec: Any) -> Manifest:
    """Bound to the node of its name, unless `spec` says for which nodes it is."""
    where = spec if {"allNodes", "nodeSelector", "nodeName"} & spec.keys() else {"nodeName": name, **spec}
    held = {"name": pool or name, "generation": 1, "resourceSliceCount": 1, **where.pop("pool_fields", {})}
    return _object("ResourceSlice", name, "", spec={"driver": driver, "pool": held, "devices": list(devices), **where})


def request(name: str = "r", *, selectors: tuple[str, ...] = (), **fields: Any) -> Manifest:
    asked: Manifest = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **fields}
    if asked["allocationMode"] == "All":
        del asked["count"]
    if selectors:
        asked["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    return {"name": name, "exactly": asked}


def claim(name: str, *requests: Manifest, status: Manifest | None = None, **devices: Any) -> Manifest:
    spec = {"devices": {"requests": list(requests or (request(),)), **devices}}
    return _object("ResourceClaim", name, "default", spec=spec, **({"status": status} if status else {}))


def pod(name: str, *claims: str, **spec: Any) -> Manifest:
    entries = [{"name": f"e{index}", "resourceClaimName": each} for index, each in enumerate(claims)]
    held = {"schedulerName": "default-scheduler", "containers": [{"name": "c"}], "resourceClaims": entries, **spec}
    return _object("Pod", name, "default", "v1", spec=held, status={"phase": "Pending"})


def node(name: str, **labels: str) -> Manifest:
    status = {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}
    made = _object("Node", name, "", "v1", status=status)
    return {**made, "metadata": {**made["metadata"], "labels": {"kubernetes.io/hostname": name, **labels}}}


def world(*objects: Manifest, config: Any = None) -> World:
    made = World(build(config, draws=FirstDraws()), now=NOW, evict_gracefully=False)
    made.load(objects)
    return made


def settle(made: World) -> list[Effects]:
    """Step until nothing more happens by itself."""
    steps = [made.step()]
    while made.has_changes:
        steps.append(made.step())
    return steps


def _object(kind: str, name: str, namespace: str, version: str = "resource.k8s.io/v1", **fields: Any) -> Manifest:
    metadata = {"name": name, "uid": f"uid-{name}"} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}
