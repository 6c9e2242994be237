"""File 001, the overview: one test per row of its coverage that speaks of scheduling."""

# Longer than 400 lines because it has a test for each row of one document.

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from scheduler_core import config
from scheduler_core.build import build
from scheduler_core.cache.cache import Cache
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.config.types import PluginEntry, PluginSet
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.changes import BindingVerdict
from scheduler_core.model.effects import Attempt, CacheMove, QueueMove
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import PodInfo, QueuedPodInfo
from scheduler_core.ports import SeededDraws
from scheduler_core.queue.pod_heap import pod_heap
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.core.admission.context import create
from tests.core.queue.rig import T0, Rig
from tests.core.scheduler.harness import (
    MANY,
    SECOND,
    BindingPlugin,
    Cluster,
    EveryPointPlugin,
    FilteringPlugin,
    ScoringPlugin,
    ToldPlugins,
    configure,
    profile,
    start,
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


def _steps(moves: list[Any]) -> list[str]:
    return [move.kind if isinstance(move, CacheMove) else move.to for move in moves]


def test_001_only_pods_without_node_are_queued() -> None:
    """watching pods with empty nodeName"""
    cluster = nodes(start(), 1)
    effects = cluster.step(running("there", "n0").build(), make_pod("waits").build())
    assert [attempt.pod_key for attempt in effects.attempts] == ["default/waits"]
    assert moved_to(cluster, "there") == []


def test_001_filter_score_bind() -> None:
    """two phases Filter + Score, Bind"""
    cluster = start()
    cluster.put(
        *(make_node(name).capacity(cpu=cpu).build() for name, cpu in (("tiny", "1"), ("small", "4"), ("big", "16")))
    )
    effects = cluster.step(make_pod().req(cpu="2").build())
    (attempt,), (binding,) = effects.attempts, effects.bindings
    assert (attempt.evaluated_nodes, attempt.feasible is not None and len(attempt.feasible)) == (3, 2)
    assert binding.node_name == attempt.node_name == "big"
    assert cluster.confirm(effects).events[0].reason == "Scheduled"


def test_001_extension_points_in_order() -> None:
    """13 extension points and results"""
    plugins = ToldPlugins().add("P", EveryPointPlugin)
    cluster = nodes(start(profile("P"), plugins=plugins), 2)
    cluster.confirm(cluster.step(make_pod().build()))
    points = [line.split()[0] for line in plugins.log]
    assert points[:4] == ["pre_enqueue", "pre_filter", "filter", "filter"]
    assert points[4:8] == ["pre_score", "score", "score", "normalize_scores"]
    assert points[8:] == ["reserve", "permit", "pre_bind", "bind", "post_bind"]
    refused = ToldPlugins().add("P", EveryPointPlugin, filter=lambda pod, node: Status.unschedulable("full"))
    nodes(start(profile("P"), plugins=refused), 1).attempt(make_pod().build())
    assert [line.split()[0] for line in refused.log] == ["pre_enqueue", "pre_filter", "filter", "post_filter"]


@pytest.mark.parametrize(
    ("node", "pod", "plugin", "reason"),
    [
        (make_node("n").unschedulable(), make_pod(), "NodeUnschedulable", "node(s) were unschedulable"),
        (
            make_node("n"),
            make_pod().required_node_affinity(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}
            ),
            "NodeAffinity",
            "node(s) didn't satisfy plugin(s) [NodeAffinity]",
        ),
        (make_node("n").taint("k", "v"), make_pod(), "TaintToleration", "node(s) had untolerated taint {k: v}"),
        (
            make_node("n"),
            make_pod().node_selector(disk="ssd"),
            "NodeAffinity",
            "node(s) didn't match Pod's node affinity/selector",
        ),
        (
            make_node("n"),
            make_pod().host_port(80),
            "NodePorts",
            "node(s) didn't have free ports for the requested pod ports",
        ),
        (make_node("n"), make_pod().req(cpu="9"), "NodeResourcesFit", "Insufficient cpu"),
        (
            make_node("n"),
            make_pod().spread("none", {"a": "b"}),
            "PodTopologySpread",
            "node(s) didn't match pod topology spread constraints (missing required label)",
        ),
        (
            make_node("n"),
            make_pod().pod_affinity("kubernetes.io/hostname", {"a": "b"}),
            "InterPodAffinity",
            "node(s) didn't match pod affinity rules",
        ),
        (
            make_node("n"),
            make_pod().claim_volume("bound"),
            "VolumeBinding",
            "node(s) didn't match PersistentVolume's node affinity",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_001_common_filter_plugins(node: Any, pod: PodBuilder, plugin: str, reason: str) -> None:
    """common Filter plugins table"""
    cluster = start()
    elsewhere = {
        "required": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["m"]}]}
            ]
        }
    }
    cluster.put(
        node.build(),
        make_pod("web").host_port(80).on("n").build(),
        make(
            "PersistentVolumeClaim",
            "bound",
            spec={"volumeName": "pv", "accessModes": ["ReadWriteOnce"]},
            metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            status={"phase": "Bound"},
        ),
        make(
            "PersistentVolume",
            "pv",
            spec={
                "nodeAffinity": elsewhere,
                "capacity": {"storage": "1Gi"},
                "claimRef": {"namespace": "default", "name": "bound"},
                "accessModes": ["ReadWriteOnce"],
            },
        ),
    )
    attempt = cluster.attempt(pod.build())
    assert attempt.unschedulable_plugins == (plugin,)
    assert attempt.message.startswith(f"0/1 nodes are available: 1 {reason}.")


def test_001_score_plugins_and_weights() -> None:
    """common Score plugins and weights (older values)"""
    weights = start().scheduler.engine.frameworks["default-scheduler"].weights
    assert {name: weight for name, weight in weights.items() if name != "VolumeBinding"} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_001_weighted_sum() -> None:
    """weighted sum, highest wins (130/170/120/130 example)"""
    scores = {"n0": (80, 50), "n1": (90, 80), "n2": (60, 60), "n3": (70, 60)}
    plugins = ToldPlugins()
    for index, name in enumerate(("A", "B")):
        plugins.add(name, ScoringPlugin, score=lambda pod, node, index=index: (scores[node.name][index], SUCCESS))
    attempt = nodes(start(profile("A", "B"), plugins=plugins), 4).attempt(make_pod().build())
    assert attempt.score_rows is not None
    assert attempt.score_rows.totals.tolist() == [130, 170, 120, 130]
    assert attempt.node_name == "n1"


def test_001_preemption() -> None:
    """preemption: conditions, cost order, victims, PDB (seed's "priority > 0" condition is not real: only
    lower-priority victims are needed)
    """
    cluster = start()
    cluster.put(make_node("n1").capacity(cpu="4").build(), make_node("n2").capacity(cpu="4").build())
    cluster.put(
        running("a", "n1").started("2030-01-01T10:00:00Z").build(),
        running("b", "n1").started("2030-01-01T10:05:00Z").build(),
        running("c", "n1", cpu="2", priority=50).build(),
        running("d", "n2", cpu="4").started("2030-01-01T09:00:00Z").build(),
    )
    attempt = cluster.attempt(make_pod("p").req(cpu="2").priority(100).build())
    assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
    found = {one.node_name: one.victims for one in attempt.post_filter.preemption.candidates}
    assert found == {"n1": ("default/a", "default/b"), "n2": ("default/d",)}
    assert (attempt.nominated_node_name, [victim.name for victim in cluster.effects[-1].evictions]) == ("n2", ["d"])


def test_001_preemption_at_priority_zero() -> None:
    """preemption: conditions, cost order, victims, PDB (seed's "priority > 0" condition is not real: only
    lower-priority victims are needed)
    """
    cluster = nodes(start(), 1, cpu="1")
    cluster.put(running("low", "n0", priority=-1).build())
    assert cluster.attempt(make_pod("p").req(cpu="1").priority(0).build()).nominated_node_name == "n0"


def test_001_preemption_spares_budgets() -> None:
    """preemption: conditions, cost order, victims, PDB (seed's "priority > 0" condition is not real: only
    lower-priority victims are needed)
    """
    cluster = nodes(start(), 2, cpu="1")
    budget = make(
        "PodDisruptionBudget",
        "guard",
        spec={"selector": {"matchLabels": {"app": "db"}}},
        status={"disruptionsAllowed": 0},
    )
    cluster.put(budget, running("db", "n0").label(app="db").build(), running("batch", "n1", priority=5).build())
    assert cluster.attempt(make_pod("p").req(cpu="1").priority(9).build()).nominated_node_name == "n1"


def test_001_assume_bind_rollback() -> None:
    """assume, async bind, rollback"""
    cluster = nodes(start(), 1, cpu="1")
    first = cluster.step(make_pod("a").req(cpu="1").build(), make_pod("b").req(cpu="1").build())
    assert [attempt.result for attempt in first.attempts] == ["scheduled", "unschedulable"]  # a is assumed
    cluster.step(BindingVerdict("pod-default/a", "n0", bound=False, message="no"), after=SECOND)
    assert [attempt.pod_key for attempt in cluster.effects[-1].attempts] == ["default/b"]
    assert cluster.effects[-1].attempts[0].node_name == "n0"  # its room is free again


def test_001_scheduled_and_failed_events() -> None:
    """Scheduled / FailedScheduling events"""
    cluster = nodes(start(), 1)
    done = cluster.confirm(cluster.step(make_pod("a").build()))
    failed = cluster.step(make_pod("b").req(cpu="9").build())
    told = [(event.type, event.reason, event.note) for event in (*done.events, *failed.events)]
    assert told == [
        ("Normal", "Scheduled", "Successfully assigned default/a to n0"),
        (
            "Warning",
            "FailedScheduling",
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        ),
    ]


def test_001_life_cycle() -> None:
    """life cycle: election → framework → queue → informers → loop; SIGTERM"""
    cluster = nodes(start(), 1)
    stops = iter((False, True))  # asked to stop while the first cycle runs
    effects = cluster.step(make_pod("a").build(), make_pod("b").build(), budget=Budget(9, lambda: next(stops)))
    assert [attempt.result for attempt in effects.attempts] == ["scheduled"]  # the running cycle was finished
    assert len(effects.bindings) == 1 and effects.more
    next_engine = build(configure(), draws=SeededDraws(1), state=checkpoint.dump(cluster.scheduler))
    rest = next_engine.step(cluster.now + SECOND, [], MANY)
    assert [attempt.pod_key for attempt in rest.attempts] == ["default/b"]


def test_001_reserve_permit_pre_bind_post_bind() -> None:
    """Reserve/Permit/PreBind/PostBind meaning"""
    plugins = ToldPlugins().add("A", BindingPlugin)
    plugins.add("B", BindingPlugin, permit=lambda pod, node: (Status.unschedulable("no"), 0))
    cluster = nodes(start(profile("A", "B"), plugins=plugins), 1)
    attempt = cluster.attempt(make_pod().build())
    assert attempt.message == "0/1 nodes are available: 1 no."
    assert plugins.log == ["reserve A", "reserve B", "permit A", "permit B", "unreserve B", "unreserve A"]


def test_001_single_feasible_node() -> None:
    """single feasible node shortcut"""
    plugins = ToldPlugins().add("S", ScoringPlugin)
    cluster = nodes(start(profile("S"), plugins=plugins), 1)
    assert cluster.attempt(make_pod().build()).node_name == "n0"
    assert plugins.log == []


def test_001_select_host() -> None:
    """selectHost"""
    cluster = nodes(start(profile("NodeResourcesFit"), draws=SeededDraws(7)), 4)
    effects = cluster.step(*(make_pod(f"p{number}").req(cpu="0", memory="0").build() for number in range(100)))
    assert {attempt.node_name for attempt in effects.attempts} == {"n0", "n1", "n2", "n3"}

    draws, runs, ties = SeededDraws(7), 4000, 4
    drawn = np.bincount([draws.below(ties, pod_key=f"a/p{i}", attempt=1, purpose="tie") for i in range(runs)])
    chi_squared = float(((drawn - runs / ties) ** 2 / (runs / ties)).sum())
    assert chi_squared < 11.34  # 3 degrees of freedom, 1 %


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


@pytest.mark.parametrize(
    ("pod", "change", "tried"),
    [
        pytest.param(make_pod("p").req(cpu="9"), make_node("big").capacity(cpu="16").build(), True, id="node added"),
        pytest.param(make_pod("p").req(cpu="8"), "delete", True, id="pod deleted"),
        pytest.param(
            make_pod("p").claim_volume("data"),
            make(
                "PersistentVolume",
                "pv",
                status={"phase": "Available"},
                spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "slow"},
            ),
            True,
            id="volume created",
        ),
        pytest.param(make_pod("p").req(cpu="9"), make("Service", "s", spec={}), False, id="service updated"),
    ],
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


def test_001_qps_and_burst() -> None:
    """QPS/burst settings"""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    loaded = config.load({**head, "clientConnection": {"qps": 25, "burst": 40}})
    assert (loaded.client_connection.qps, loaded.client_connection.burst) == (25, 40)


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
