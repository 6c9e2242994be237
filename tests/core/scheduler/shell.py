"""A cluster whose shell answers bindings as it likes."""

from __future__ import annotations

from tests.builders import make_node
from tests.core.scheduler.harness import Cluster, ToldPlugins, profile, start

UID = "pod-default/pod"


def _cluster(*names: str, plugins: ToldPlugins | None = None, cpu: str = "1") -> Cluster:
    cluster = start(profile(*names, default=True), plugins=plugins)
    cluster.put(make_node("n0").capacity(cpu=cpu).build())
    return cluster


def _assert_nothing_left(cluster: Cluster) -> None:
    """Nobody waits, flies or is assumed, and nothing will happen by itself."""
    engine = cluster.scheduler.engine
    assert engine.bindings == {} and len(engine.waiting_pods) == 0 and engine.restored_bindings == {}
    assert list(engine.queue.active.in_flight) == []
    assert engine.queue.pending_pods()[0] == []
    assert engine.queue.nominator.node_by_uid == {}
    assert not engine.cache.assumed_pods
    assert cluster.scheduler.next_due(cluster.now) is None


def _pods_on(cluster: Cluster, node: str = "n0") -> list[str]:
    item = cluster.scheduler.engine.cache.items.get(node)
    return [] if item is None else [info.pod.uid for info in item.info.pods]
