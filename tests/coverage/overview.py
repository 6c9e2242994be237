"""Clusters as the tests of file 001 use them."""

from __future__ import annotations

from scheduler_core.model.effects import QueueMove
from tests.builders import PodBuilder, make_node, make_pod
from tests.core.scheduler.harness import (
    Cluster,
)

UID = "pod-default/pod"


def nodes(cluster: Cluster, count: int, cpu: str = "8") -> Cluster:
    cluster.put(*(make_node(f"n{number}").capacity(cpu=cpu).build() for number in range(count)))
    return cluster


def running(name: str, node: str, cpu: str = "1", priority: int = 0) -> PodBuilder:
    return make_pod(name).req(cpu=cpu).on(node).phase("Running").priority(priority)


def moved_to(cluster: Cluster, name: str) -> list[str]:
    """The sub-queues the pod entered in the last step."""
    key = f"default/{name}"
    return [move.to for move in cluster.effects[-1].moves if isinstance(move, QueueMove) and move.pod_key == key]
