"""File 003, the scheduling queue: one test per row of its coverage."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.model.changes import BindingVerdict, PermitVerdict
from scheduler_core.model.effects import QueueMove
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import WAIT, Status
from scheduler_core.queue.options import SECOND_US
from tests.builders import make, make_node, make_pod
from tests.cases import cases
from tests.core.queue.rig import NODE_ADDED, T0, Rig
from tests.core.scheduler.harness import (
    NO_CYCLES,
    SECOND,
    BindingPlugin,
    Cluster,
    FilteringPlugin,
    ToldPlugins,
    profile,
    start,
)


def waiting(pods: int = 0, cpu: str = "1", **options: Any) -> Cluster:
    """One node of so much cpu, and pods p0, p1 … that ask for more, tried and refused."""
    cluster = start(**options)
    cluster.put(make_node("n").capacity(cpu=cpu).build())
    cluster.step(*(make_pod(f"p{number}").req(cpu="2").build() for number in range(pods)))
    return cluster


def sizes(cluster: Cluster) -> dict[str, int]:
    return dict(cluster.scheduler.engine.queue.sizes())


def moves(cluster: Cluster) -> list[tuple[str, str, str]]:
    """Pod, sub-queue and event of the last step's moves in the queue."""
    found = [move for move in cluster.effects[-1].moves if isinstance(move, QueueMove)]
    return [(move.pod_key.removeprefix("default/"), move.to, move.event) for move in found]


def test_003_three_queues() -> None:
    """activeQ, podBackoffQ, unschedulableQ"""
    cluster = waiting(2)
    cluster.put(make_pod("new").build())
    cluster.put(make_node("m").capacity(cpu="2").build())
    cluster.put(make_pod("newer").req(cpu="64").build())
    assert sizes(cluster) == {"active": 2, "backoff": 2, "unschedulable": 0, "gated": 0}
    cluster.step()
    assert sizes(cluster) == {"active": 0, "backoff": 0, "unschedulable": 2, "gated": 0}


def test_003_queue_sort_customisable() -> None:
    """QueueSort customisable"""

    class Fifo:
        name = "Fifo"

        def sort_key(self, info: Any) -> tuple[int]:
            return (info.timestamp,)

    plugins = ToldPlugins()
    plugins.factories["Fifo"] = lambda args, handle: Fifo()
    names = ("Fifo", "NodeResourcesFit", "DefaultBinder")
    cluster = start(profile_of(*names), plugins=plugins)
    cluster.put(make_node("n").build())
    for name, priority in (("first", 1), ("second", 9)):
        cluster.now += SECOND
        cluster.put(make_pod(name).priority(priority).build())
    assert [attempt.pod_key for attempt in cluster.step().attempts] == ["default/first", "default/second"]


def profile_of(*names: str) -> Any:
    """A profile of exactly these plugins."""
    made = profile(*names)
    multi_point = made.plugins.multi_point
    kept = tuple(entry for entry in multi_point.enabled if entry.name in names)[: len(names)]
    plugins = type(made.plugins)(multi_point=type(multi_point)(enabled=kept, disabled=multi_point.disabled))
    return type(made)(scheduler_name=made.scheduler_name, plugins=plugins)


@pytest.mark.parametrize("stay", [30, 300], ids=["the older 30 s", "5 min"])
def test_003_flush_of_unschedulable_leftovers(stay: int) -> None:
    """flushUnschedulableQLeftover 30 s (older: 30 s stay; now 5 min)"""
    rig = Rig(max_in_unschedulable_us=stay * SECOND_US)
    rig.rejected("a")
    rig.queue.run_due_flushes(T0)
    left = 0
    while rig.where("a") == "unschedulable":
        left += 1
        rig.queue.run_due_flushes(T0 + left * SECOND_US)
    assert stay < left <= stay + 30  # looked at every 30 s


def test_003_flush_of_completed_backoff() -> None:
    """flushBackoffQCompleted 1 s"""
    cluster = waiting()
    cluster.step(make_pod("a").build())
    cluster.step(BindingVerdict("pod-default/a", "n", bound=False, message="broken"))
    ends = cluster.scheduler.next_due(cluster.now)
    assert ends is not None and SECOND < ends - cluster.now <= 2 * SECOND  # 1 s, up to the end of its window
    assert cluster.step(after=ends - cluster.now - 1).attempts == []
    assert cluster.attempt(after=1).node_name == "n"


def test_003_move_request_on_events() -> None:
    """move request on events"""
    cluster = waiting(1)
    cluster.step(make_pod("picky").node_selector(disk="ssd").build())
    cluster.put(make_node("roomy").build())
    assert moves(cluster) == [("p0", "backoff", "NodeAdd")]


def test_003_move_request_cycle() -> None:
    """moveRequestCycle shortcut"""
    rig = Rig(queueing_hints=False)
    for name, moved in (("a", True), ("b", False)):
        rig.queue.add(make_pod(name).build(), T0)
        info = rig.pop()
        if moved:
            rig.move(NODE_ADDED)
        rig.fail(info, "Refuser")
    assert (rig.where("a"), rig.where("b")) == ("backoff", "unschedulable")


@pytest.mark.parametrize(("cpu", "place"), [("4", "backoff"), ("1", "unschedulable")], ids=["room", "too small"])
def test_003_in_flight_events(cpu: str, place: str) -> None:
    """in-flight events (current form)"""
    plugins = ToldPlugins().add("P", BindingPlugin, permit=lambda pod, node: (WAIT, 60 * SECOND))
    cluster = start(profile("NodeResourcesFit", "P"), plugins=plugins)
    cluster.put(make_node("n").capacity(cpu="2").build())
    cluster.step(make_pod("a").req(cpu="2").build())
    cluster.put(make_node("m").capacity(cpu=cpu).build())  # while a waits for its permit
    refused = PermitVerdict("pod-default/a", "NodeResourcesFit", allowed=False, message="no")
    cluster.step(refused, budget=NO_CYCLES)
    assert sizes(cluster)[place] == 1


@pytest.mark.parametrize(
    ("maximum", "waits"), [(10, [1, 2, 4, 8, 10, 10]), (60, [1, 2, 4, 8, 16, 32, 60])], ids=["10 s", "60 s"]
)
def test_003_backoff_limits(maximum: int, waits: list[int]) -> None:
    """backoff formula and examples, configurable limits"""
    cluster = waiting(pod_max_backoff_seconds=maximum)
    cluster.put(make_pod("a").req(cpu="2").build())
    measured = []
    for _ in waits:
        cluster.scheduler.schedule_pod_now("default/a", cluster.now)
        info = cluster.scheduler.engine.queue.get("default/a")
        assert info is not None
        expiry = cluster.scheduler.engine.queue.backoff.backoff_time(info)
        measured.append(((expiry or 0) - cluster.now) // SECOND)
    assert measured == waits


BROKEN = Status.failed("broken")


@cases(
    "kind, answers, place, blamed",
    ("Filter rejects", FilteringPlugin, {"filter": lambda *_: Status.unschedulable("no")}, "unschedulable", ("P",)),
    ("Filter fails", FilteringPlugin, {"filter": lambda *_: BROKEN}, "errorBackoff", ()),
    ("PreFilter rejects", FilteringPlugin, {"pre_filter": lambda *_: (None, Status.unresolvable("no"))},
     "unschedulable", ("P",)),
    ("Reserve rejects", BindingPlugin, {"reserve": lambda *_: Status.unschedulable("no")}, "unschedulable", ("P",)),
    ("Permit fails", BindingPlugin, {"permit": lambda *_: (BROKEN, 0)}, "errorBackoff", ()),
    ("PreBind fails", BindingPlugin, {"pre_bind": lambda *_: (BROKEN, None)}, "errorBackoff", ()),
    ("Bind fails", BindingPlugin, {"bind": lambda *_: BROKEN}, "errorBackoff", ()),
)  # fmt: skip
def test_003_placement_after_failure(kind: Any, answers: Any, place: str, blamed: tuple[str, ...]) -> None:
    """pods failing by plugin or bind error placement"""
    plugins = ToldPlugins().add("P", kind, **answers)
    cluster = start(profile("P"), plugins=plugins)
    cluster.put(make_node("n").build())
    cluster.step(make_pod("a").build())
    assert moves(cluster)[-1] == ("a", place, "ScheduleAttemptFailure")
    (last,) = [move for move in cluster.effects[-1].moves if isinstance(move, QueueMove) and move.to == place]
    assert last.plugins == blamed


def test_003_affinity_pods_follow_a_scheduled_one() -> None:
    """matching affinity moved after a pod is scheduled"""
    cluster = waiting()
    wants_cache = make_pod("web").pod_affinity("kubernetes.io/hostname", {"app": "cache"}).build()
    assert cluster.attempt(wants_cache).unschedulable_plugins == ("InterPodAffinity",)
    effects = cluster.confirm(cluster.step(make_pod("other").label(app="other").build()), after=2 * SECOND)
    assert effects.attempts == [] and moves(cluster) == []  # another pod is no reason to try again
    assert sizes(cluster)["unschedulable"] == 1
    effects = cluster.confirm(cluster.step(make_pod("cache").label(app="cache").build()), after=2 * SECOND)
    assert [(one.pod_key, one.node_name) for one in effects.attempts] == [("default/web", "n")]


def test_003_pending_and_incoming_counts() -> None:
    """pending_pods, queue_incoming_pods_total"""
    cluster = waiting(1)
    cluster.step(make_pod("gated").gate("g").build())
    cluster.put(make_pod("new").build())
    queue = cluster.scheduler.engine.queue
    assert queue.pending() == {"active": 1, "backoff": 0, "unschedulable": 1, "gated": 1}
    assert queue.counters.incoming == {
        ("active", "UnschedulablePodAdd"): 2,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("unschedulable", "UnschedulablePodAdd"): 1,
    }


@pytest.mark.parametrize(
    ("obj", "resource"),
    [
        (make_pod("p").on("n").build(), EventResource.ASSIGNED_POD),
        (make_node("m").build(), EventResource.NODE),
        (make("Service", "s", spec={}), None),
        (make("PersistentVolume", "pv", spec={}), EventResource.PERSISTENT_VOLUME),
        (make("PersistentVolumeClaim", "c", spec={}), EventResource.PERSISTENT_VOLUME_CLAIM),
        (make("StorageClass", "sc", provisioner="p"), EventResource.STORAGE_CLASS),
        (make("CSINode", "m", spec={"drivers": []}), EventResource.CSI_NODE),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_003_event_list(obj: Any, resource: EventResource | None) -> None:
    """event list (pods, nodes, services, PVs, PVCs, storage classes, CSI nodes)"""
    heard: list[tuple[ClusterEvent, Any]] = []
    cluster = waiting()
    queue = cluster.scheduler.engine.queue

    def hear(event: ClusterEvent, old: Any, new: Any, now: int, pre_check: Any = None) -> None:
        heard.append((event, new))

    queue.move_all_to_active_or_backoff_queue = hear  # type: ignore[method-assign]
    cluster.put(obj)
    want = [] if resource is None else [(ClusterEvent(resource, ActionType.ADD), obj)]
    assert heard == want
