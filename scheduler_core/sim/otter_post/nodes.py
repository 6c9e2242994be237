"""The nodes of the sample: 60 in three zones, in seven pools of different shapes, some with taints.

Images lie on some of the nodes only, chosen by the seed; names and shapes are the same for every seed.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.controllers.kubelet.configuration import ANNOTATION as KUBELET_CONFIG
from scheduler_core.sim.otter_post.apps import SERVICES
from scheduler_core.sim.otter_post.devices import HERON, OSPREY, cards
from scheduler_core.sim.otter_post.jobs import JOBS
from scheduler_core.sim.otter_post.specs import DISK_DRIVER, GPU, HOSTNAME, POOL, REGISTRY, ZONE

REGION = "riverlands"
ZONES = ("river-a", "river-b", "river-c")
MEBI = 1 << 20
# Pressure is over a minute after the last sign of it, not five.
QUICK_KUBELET = {KUBELET_CONFIG: '{"evictionPressureTransitionPeriod": "1m"}'}


@dataclass(frozen=True, slots=True)
class Pool:
    """`per_zone` nodes of one shape in each zone. Memory in GiB; at most `disks` volumes are attached to a node."""

    name: str
    per_zone: int
    cpu: int
    memory: int
    disk: str = "hdd"
    gpus: int = 0
    disks: int = 8
    taints: tuple[dict[str, str], ...] = field(default=())
    annotations: tuple[dict[str, str], ...] = field(default=({},))  # of its first node in a zone, of the second, …


POOLS = (
    Pool("general", 8, 8, 32, "ssd"),
    Pool("small", 4, 4, 16, disks=1),
    Pool("memory", 2, 8, 64, "ssd"),
    Pool(
        "gpu",
        2,
        16,
        64,
        "ssd",
        gpus=4,
        taints=({"key": GPU, "value": "present", "effect": "NoSchedule"},),
        annotations=(cards(HERON), cards(OSPREY)),
    ),
    Pool(
        "spot",
        2,
        8,
        16,
        taints=({"key": "otterpost.example/spot", "value": "true", "effect": "PreferNoSchedule"},),
        annotations=(QUICK_KUBELET,),
    ),
    Pool("edge", 1, 4, 8),
    Pool("vault", 1, 4, 16, taints=({"key": "otterpost.example/vault", "value": "locked", "effect": "NoSchedule"},)),
)


def nodes(seed: int) -> list[dict[str, Any]]:
    """Return the manifests, pool by pool and zone by zone."""
    return [_node(pool, zone, place, seed) for pool in POOLS for zone in ZONES for place in range(pool.per_zone)]


def names_of_pool(name: str) -> tuple[str, ...]:
    """Return the names of a pool's nodes."""
    return tuple(each for pool in POOLS if pool.name == name for zone in ZONES for each in _names(pool, zone))


def csi_nodes() -> list[dict[str, Any]]:
    """Return the CSINodes: how many volumes the disk driver attaches to each node."""
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": name},
            "spec": {
                "drivers": [
                    {
                        "name": DISK_DRIVER,
                        "nodeID": name,
                        "topologyKeys": [ZONE],
                        "allocatable": {"count": pool.disks},
                    }
                ]
            },
        }
        for pool in POOLS
        for zone in ZONES
        for name in _names(pool, zone)
    ]


def _names(pool: Pool, zone: str) -> list[str]:
    return [f"{pool.name}-{zone.removeprefix('river-')}{number}" for number in range(1, pool.per_zone + 1)]


def _node(pool: Pool, zone: str, place: int, seed: int) -> dict[str, Any]:
    name = _names(pool, zone)[place]
    labels = {
        HOSTNAME: name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": REGION,
        ZONE: zone,
        POOL: pool.name,
        "otterpost.example/disk": pool.disk,
    }
    amounts = {"cpu": str(pool.cpu), "memory": f"{pool.memory}Gi", "ephemeral-storage": "200Gi", "pods": "110"}
    if pool.gpus:
        amounts[GPU] = str(pool.gpus)
    spec: dict[str, Any] = {"taints": [dict(taint) for taint in pool.taints]} if pool.taints else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": dict(pool.annotations[place % len(pool.annotations)]),
        },
        "spec": spec,
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "images": _images(name, seed),
        },
    }


def _images(node_name: str, seed: int) -> list[dict[str, Any]]:
    """About a third of the company's images, each with a size of its own."""
    apps = [service.name for service in SERVICES] + [job.name for job in JOBS]
    return [
        {"names": [f"{REGISTRY}/{app}:1"], "sizeBytes": (40 + _number(seed, app) % 1200) * MEBI}
        for app in apps
        if _number(seed, app, node_name) % 3 == 0
    ]


def _number(seed: int, *key: str) -> int:
    return int.from_bytes(hashlib.blake2b(" ".join((str(seed), *key)).encode(), digest_size=8).digest(), "big")
