"""Clusters in which pods preempt others."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.model.changes import EvictionVerdict
from scheduler_core.model.effects import Effects, QueueMove
from tests.builders import PodBuilder, make_node, make_pod
from tests.core.scheduler.harness import Cluster, start


def node(name: str, cpu: str = "4", *, taint: bool = False) -> KubeObject:
    built = make_node(name).capacity(cpu=cpu, memory="8Gi", pods="110")
    return (built.taint("k", "v") if taint else built).build()


def low(name: str, cpu: str = "2", node_name: str = "n1", priority: int = 0) -> PodBuilder:
    return make_pod(name).req(cpu=cpu).on(node_name).phase("Running").priority(priority)


def high(name: str = "high", cpu: str = "4", priority: int = 100) -> PodBuilder:
    return make_pod(name).req(cpu=cpu).priority(priority)


def cluster_with(*objects: KubeObject, **options: Any) -> Cluster:
    cluster = start(**options)
    cluster.put(*objects)
    return cluster


def evicted(effects: Effects) -> list[str]:
    return [eviction.name for eviction in effects.evictions]


def moves_of(effects: Effects, pod: Pod) -> list[str]:
    return [move.to for move in effects.moves if isinstance(move, QueueMove) and move.pod_uid == pod.uid]


def verdict(pod: Pod, *victims: PodBuilder, done: bool = True, gone_too: bool = False) -> EvictionVerdict:
    uids = tuple(victim.build().uid for victim in victims)
    return EvictionVerdict(pod.uid, done, "", 0, uids, uids if gone_too else ())
