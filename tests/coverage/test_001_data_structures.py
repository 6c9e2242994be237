"""File 001, its data structures: queues, cache and framework as the overview sketches them."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.changes import BindingVerdict
from scheduler_core.model.status import SKIP
from scheduler_core.model.types import PodInfo
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.queue.rig import T0, Rig
from tests.core.scheduler.harness import (
    SECOND,
    FilteringPlugin,
    ScoringPlugin,
    ToldPlugins,
    profile,
    start,
)
from tests.coverage.overview import UID, moved_to, nodes, running


def test_001_three_queues() -> None:
    """three queues, transitions"""
    cluster = nodes(start(), 1, cpu="1")
    large = make_pod("large").req(cpu="2")
    cluster.step(large.build())
    assert moved_to(cluster, "large") == ["active", "unschedulable"]
    # A bigger node arrives while the pod still backs off; an empty activeQ lends it a try at once.
    cluster.put(make_node("n1").capacity(cpu="1").build(), make_node("n2").capacity(cpu="4").build())
    assert moved_to(cluster, "large") == ["backoff"]
    effects = cluster.step()
    assert effects.attempts[0].node_name == "n2"
    cluster.step(BindingVerdict("pod-default/large", "n2", bound=False, message="broken"))
    assert moved_to(cluster, "large") == ["errorBackoff"]
    assert cluster.attempt(after=3 * SECOND).node_name == "n2"


def test_001_backoff_doubles() -> None:
    """backoff 1 → 10 s, 1-2-4 example"""
    rig = Rig()
    rig.queue.add(make_pod("a").build(), T0)
    waits = []
    for _ in range(5):
        info = rig.pop()
        rig.fail(info, "Refuser")
        waits.append(((rig.queue.backoff.backoff_time(info) or 0) - T0) // SECOND)
        rig.move()
    assert waits == [1, 2, 4, 8, 10]


UNBOUND = {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow", "resources": {"requests": {"storage": "1Gi"}}}


@cases(
    "pod, change, tried",
    ("node added", make_pod("p").req(cpu="9"), make_node("big").capacity(cpu="16").build(), True),
    ("pod deleted", make_pod("p").req(cpu="8"), "delete", True),
    (
        "volume created",
        make_pod("p").claim_volume("data"),
        make(
            "PersistentVolume",
            "pv",
            status={"phase": "Available"},
            spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "slow"},
        ),
        True,
    ),
    ("service updated", make_pod("p").req(cpu="9"), make("Service", "s", spec={}), False),
)
def test_001_events_that_move_pods(pod: PodBuilder, change: Any, tried: bool) -> None:
    """unschedulable pool and triggering events (node added, pod deleted, PV created, service updated)"""
    cluster = nodes(start(), 1)
    blocker = running("blocker", "n0", cpu="1")
    cluster.put(
        make(
            "StorageClass", "slow", provisioner="kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer"
        ),
        make("PersistentVolumeClaim", "data", spec=UNBOUND),
        blocker.build(),
    )
    assert cluster.attempt(pod.build()).requeued_to == "Unschedulable"
    if change == "delete":
        cluster.delete(blocker.build(), after=2 * SECOND)
    else:
        cluster.step(change, after=2 * SECOND)
    assert [attempt.result for attempt in cluster.effects[-1].attempts] == (["scheduled"] if tried else [])


def test_001_node_info_pod_info_resource() -> None:
    """NodeInfo / PodInfo / Resource"""
    info = PodInfo.of(
        make_pod().req({"cpu": "1500u", "example.com/gpu": "2", "hugepages-2Mi": "4Mi", "odd": "1"}).build()
    )
    assert info.request.milli_cpu == 2  # rounded up
    assert info.request.scalar == {"example.com/gpu": 2, "hugepages-2Mi": 4 << 20}
    cluster = start()
    cluster.put(make_node("n").capacity({"example.com/gpu": "2"}).build())
    cluster.put(make_pod("a").req({"example.com/gpu": "1"}).on("n").build())
    refused = cluster.attempt(make_pod("b").req({"example.com/gpu": "2"}).build())
    assert refused.unschedulable_plugins == ("NodeResourcesFit",)
    assert cluster.attempt(make_pod("c").req({"example.com/gpu": "1"}).build()).node_name == "n"


def test_001_queued_pod_info() -> None:
    """QueuedPodInfo fields"""
    rig = Rig()
    rig.queue.add(make_pod("a").build(), T0)
    for _ in range(2):
        rig.fail(rig.pop(), "Refuser", now=T0 + SECOND)
        rig.move(now=T0 + 9 * SECOND)  # beyond its backoff: active again, and not for the first time
    info = rig.pop(T0 + 9 * SECOND)
    assert (info.attempts, info.unschedulable_count, info.consecutive_errors_count) == (3, 2, 0)
    assert (info.initial_attempt_timestamp, info.timestamp) == (T0, T0 + SECOND)


def test_001_less() -> None:
    """Less: priority, then timestamp"""
    cluster = nodes(start(), 1)
    for name, priority in (("low", 1), ("early", 5), ("late", 5), ("high", 9)):
        cluster.now += SECOND
        cluster.put(make_pod(name).priority(priority).build())
    order = [attempt.pod_key.removeprefix("default/") for attempt in cluster.step().attempts]
    assert order == ["high", "early", "late", "low"]


def test_001_add_pop_move() -> None:
    """Add / Pop / Move sketches"""
    cluster = nodes(start(), 1)
    assert (cluster.step().attempts, cluster.scheduler.next_due(cluster.now)) == ([], None)
    cluster.put(make_pod("a").req(cpu="9").build())
    assert cluster.scheduler.next_due(cluster.now) == cluster.now
    cluster.step()
    cluster.put(make_node("big").capacity(cpu="16").build())
    assert cluster.scheduler.engine.queue.sizes()["backoff"] == 1


def test_001_cache_sketches() -> None:
    """cache sketches with 30 s TTL, FinishBinding removing"""
    cluster = nodes(start(), 1)
    cluster.step(make_pod().build())
    cluster.step(BindingVerdict(UID, "n0", bound=True))
    cluster.step(after=60 * SECOND)  # neither the verdict nor half a minute ends the assumption
    cache = cluster.scheduler.engine.cache
    assert list(cache.assumed_pods) == [UID]
    cluster.put(make_pod().on("n0").build())  # its Add does
    assert (list(cache.assumed_pods), cache.pod_count()) == ([], 1)


def test_001_framework_and_handle() -> None:
    """Framework struct, Handle"""
    handles: list[Any] = []

    def factory(args: Any, handle: Any) -> Any:
        handles.append(handle)
        return ScoringPlugin("S", [], {})

    plugins = ToldPlugins()
    plugins.factories["S"] = factory
    cluster = nodes(start(profile("S"), plugins=plugins), 2)
    cluster.attempt(make_pod().build())
    (handle,) = handles
    assert [info.name for info in handle.snapshot.list()] == ["n0", "n1"]
    assert handle.now == cluster.now
    assert handle.lister.pod("default/pod") is not None
    assert handle.runner is cluster.scheduler.engine.frameworks["default-scheduler"]
    assert len(handle.waiting_pods) == 0


def test_001_cycle_state() -> None:
    """CycleState read/write/clone, skip sets"""

    class Count:
        def __init__(self, number: int) -> None:
            self.number = number

        def clone(self) -> Count:
            return Count(self.number)

    state = CycleState()
    state.write(Count(1))
    state.skip_filter_plugins = frozenset({"A"})
    copy = state.clone()
    copy.read(Count).number = 2
    assert (state.read(Count).number, copy.skip_filter_plugins) == (1, frozenset({"A"}))
    state.delete(Count)
    assert state.find(Count) is None
    with pytest.raises(KeyError):
        state.read(Count)

    plugins = ToldPlugins().add("F", FilteringPlugin, pre_filter=lambda pod: (None, SKIP))
    plugins.add("S", ScoringPlugin, pre_score=lambda pod: SKIP)
    nodes(start(profile("F", "S"), plugins=plugins), 2).attempt(make_pod().build())
    assert plugins.log == ["pre_filter F", "pre_score S"]
    plugins.log.clear()
    nodes(start(profile("F", "S"), plugins=plugins), 1).attempt(make_pod().build())
    assert plugins.log == ["pre_filter F"]  # a single node is asked by itself, and there is nothing to score
