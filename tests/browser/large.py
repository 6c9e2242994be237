"""A large cluster made up from a seed: manifests as `kubectl get nodes,pods -A -o json` would give them.

Names and uids are as random as those of a real cluster, so that what compression makes of them is true as well.
"""

import random
import uuid
from collections.abc import Iterator
from typing import Any

CREATED = "2026-10-01T08:00:00Z"
ZONES = ("eu-north-1a", "eu-north-1b", "eu-north-1c")
SHAPES = (("4", "16Gi"), ("8", "32Gi"), ("16", "64Gi"), ("32", "128Gi"))
APPS = (
    "checkout",
    "search-indexer",
    "mail-relay",
    "thumbnailer",
    "ledger-api",
    "session-store",
    "web",
    "ingest-worker",
)
NAMESPACES = ("shop", "search", "mail", "billing", "platform")
LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # those of generated names
PENDING_SHARE = 0.03  # of the pods ask for more than any node has


def objects(nodes: int, pods: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Nodes in three zones, some tainted or cordoned, then pods: most are bound, a few fit nowhere."""
    chance = random.Random(seed)
    names = [f"ip-10-{index >> 8}-{index & 255}-{chance.randrange(256)}.internal" for index in range(nodes)]
    for index, name in enumerate(names):
        yield _node(chance, index, name)
    for index in range(pods):
        yield _pod(chance, index, names)


def _node(chance: random.Random, index: int, name: str) -> dict[str, Any]:
    cpu, memory = chance.choice(SHAPES)
    spec: dict[str, Any] = {}
    if index % 50 == 7:
        spec["taints"] = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
    if index % 200 == 11:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": _uid(chance),
            "creationTimestamp": CREATED,
            "labels": {"topology.kubernetes.io/zone": ZONES[index % len(ZONES)], "kubernetes.io/hostname": name},
        },
        "spec": spec,
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": "110"},
            "conditions": [{"type": "Ready", "status": "False" if index % 400 == 3 else "True"}],
        },
    }


def _pod(chance: random.Random, index: int, nodes: list[str]) -> dict[str, Any]:
    pending = chance.random() < PENDING_SHARE
    app = chance.choice(APPS)
    name = f"{app}-{_letters(chance, 9)}-{_letters(chance, 5)}"
    requests = {"cpu": f"{chance.randrange(1, 8) * 100}m", "memory": f"{chance.randrange(1, 16) * 128}Mi"}
    if pending:
        requests["cpu"] = "200"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": chance.choice(NAMESPACES),
            "uid": _uid(chance),
            "creationTimestamp": f"2026-10-{1 + index % 28:02}T{index % 24:02}:{chance.randrange(60):02}:17Z",
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [
                {"name": "main", "image": f"{app}:1.{chance.randrange(9)}", "resources": {"requests": requests}}
            ],
            **({} if pending else {"nodeName": nodes[chance.randrange(len(nodes))]}),
        },
        "status": {"phase": "Pending" if pending else "Running"},
    }


def _uid(chance: random.Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def _letters(chance: random.Random, count: int) -> str:
    return "".join(chance.choices(LETTERS, k=count))
