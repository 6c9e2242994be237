"""File 001, practice: settings, capacity, failures and advice."""

from __future__ import annotations

import math
from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.cache.cache import Cache
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.config.types import PluginEntry, PluginSet
from scheduler_core.model.changes import BindingVerdict
from scheduler_core.model.effects import Attempt, CacheMove
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.queue.pod_heap import pod_heap
from tests.builders import make, make_node, make_pod
from tests.core.admission.context import create
from tests.core.queue.rig import T0
from tests.core.scheduler.harness import (
    BindingPlugin,
    ToldPlugins,
    profile,
    start,
)
from tests.coverage.overview import UID, nodes


def _steps(moves: list[Any]) -> list[str]:
    return [move.kind if isinstance(move, CacheMove) else move.to for move in moves]


def test_001_qps_and_burst() -> None:
    """QPS/burst settings"""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    loaded = config.load({**head, "clientConnection": {"qps": 25, "burst": 40}})
    cluster = nodes(start(client_connection=loaded.client_connection), 1, cpu="64")
    first = cluster.step(*(make_pod(f"p{number}").build() for number in range(100)))
    assert (len(first.bindings), cluster.scheduler.next_due(cluster.now)) == (40, cluster.now + 1_000_000 // 25)
    assert len(cluster.step(after=1_000_000).bindings) == 25


def test_001_one_cycle_at_a_time() -> None:
    """concurrency: serial scheduling, parallel filter/score"""

    def filters(pods: list[str], use_table: bool) -> list[Attempt]:
        cluster = nodes(start(use_table=use_table), 3, cpu="1")
        return cluster.step(*(make_pod(name).req(cpu="1").build() for name in pods)).attempts

    attempts = filters(["a", "b", "c", "d"], use_table=True)
    # Each cycle saw what the one before had assumed, and all nodes at once decide as one node after the other.
    assert sorted(attempt.node_name for attempt in attempts) == ["", "n0", "n1", "n2"]
    serial = filters(["a", "b", "c", "d"], use_table=False)
    assert [one.node_name for one in attempts] == [one.node_name for one in serial]


def test_001_binding_failure_and_rollback() -> None:
    """binding failure causes and rollback sequence"""
    plugins = ToldPlugins().add("A", BindingPlugin).add("B", BindingPlugin)
    cluster = nodes(start(profile("A", "B"), plugins=plugins), 1)
    cluster.step(make_pod().build())
    conflict = 'pod pod is already assigned to node "m"'
    effects = cluster.step(BindingVerdict(UID, "n0", bound=False, message=conflict))
    assert plugins.log[-2:] == ["unreserve B", "unreserve A"]
    assert _steps(effects.moves) == ["finished", "forgotten", "errorBackoff"]
    (event,), (patch,) = effects.events, effects.status_patches
    assert (event.reason, patch.reason) == ("FailedScheduling", "SchedulerError")
    assert conflict in event.note


def test_001_tuning() -> None:
    """tuning: fewer plugins, weights, several schedulers by name, 5000 nodes"""
    fast = profile("NodeResourcesFit", name="fast")
    heavy = profile(default=True, name="heavy", score=PluginSet(enabled=(PluginEntry("ImageLocality", 9),)))
    cluster = start(profile(default=True), fast, heavy)
    assert cluster.scheduler.engine.frameworks["heavy"].weights["ImageLocality"] == 9
    cluster.put(*(make_node(f"n{number}").taint("k", "v").build() for number in range(5000)))
    effects = cluster.step(make_pod("a").build(), make_pod("b").scheduler("fast").build())
    assert [(one.profile, one.result) for one in effects.attempts] == [
        ("default-scheduler", "unschedulable"),
        ("fast", "scheduled"),  # its profile does not look at taints
    ]
    assert effects.attempts[1].num_nodes_to_find == 500


@pytest.mark.parametrize("example", ["limits", "spread", "priority"])
def test_001_best_practices(example: str) -> None:
    """best practices: requests, LimitRange, affinity, spread, PriorityClass"""
    limits = make(
        "LimitRange",
        "defaults",
        spec={
            "limits": [
                {
                    "type": "Container",
                    "default": {"cpu": "500m", "memory": "512Mi"},
                    "defaultRequest": {"cpu": "100m", "memory": "128Mi"},
                }
            ]
        },
    )
    critical = make("PriorityClass", "high-priority", value=1_000_000)
    pod = {
        "limits": make_pod("p", uid="").container(image="nginx"),
        "spread": make_pod("p", uid="")
        .container(image="web")
        .label(app="web")
        .spread("topology.kubernetes.io/zone", {"app": "web"}, when="ScheduleAnyway")
        .pod_affinity("kubernetes.io/hostname", {"app": "web"}, anti=True, weight=100),
        "priority": make_pod("p", uid="").container(image="api").spec(priorityClassName="high-priority"),
    }[example]
    admitted = create(pod.manifest(), limit_ranges={"default": [limits]}, priority_classes={"high-priority": critical})
    assert admitted["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "128Mi"}
    assert admitted["spec"]["priority"] == (1_000_000 if example == "priority" else 0)
    cluster = start()
    cluster.put(*(make_node(name).zone(zone).build() for name, zone in (("n0", "a"), ("n1", "b"))))
    cluster.put(make_pod("other").label(app="web").on("n0").build())
    attempt = cluster.attempt(make("Pod", "p", spec=admitted["spec"], metadata=admitted["metadata"]))
    assert attempt.node_name == "n1"


def test_001_capacity_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """capacity notes (memory, complexity)"""
    compared = 0

    class Key:
        def __init__(self, number: int) -> None:
            self.number = number

        def __lt__(self, other: Key) -> bool:
            nonlocal compared
            compared += 1
            return self.number < other.number

    heap, count = pod_heap(lambda info: (Key(-info.pod.priority),)), 2000
    for number in range(count):
        heap.put(QueuedPodInfo(make_pod(f"p{number}").priority(number * 37 % count).build(), T0))
    assert compared <= 2 * count * math.log2(count)
    compared = 0
    assert heap.pop() is not None
    assert compared <= 4 * math.log2(count)

    cache, snapshot = Cache(), Snapshot()
    for number in range(500):
        cache.add_node(make_node(f"n{number}").build())
    snapshot.update_snapshot(cache)
    copied: list[str] = []
    copy, assign = NodeInfo.copy, NodeInfo.assign
    monkeypatch.setattr(NodeInfo, "copy", lambda self: (copied.append(self.name), copy(self))[1])
    monkeypatch.setattr(NodeInfo, "assign", lambda self, other: (copied.append(other.name), assign(self, other))[1])
    cache.assume_pod(make_pod().on("n7").build())
    snapshot.update_snapshot(cache)
    assert copied == ["n7"]
    assert [info.name for info in snapshot.list() if info.pods] == ["n7"]
