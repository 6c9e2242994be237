"""The three sub-queues together, and how a pod gets from one to another.

Every move carries the label of the event behind it, which is counted and recorded. A pod is in at most one of the
three, but for one upstream case (several changes in one update with pop-from-backoff off).
Source: kubernetes v1.34.1, pkg/scheduler/backend/queue/scheduling_queue.go (moveToActiveQ, moveToBackoffQ,
requeuePodWithQueueingStrategy).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_core.api.pod import Pod
from scheduler_core.framework.hints import HintMap, HintMaps, PreEnqueueMap
from scheduler_core.framework.points import PreEnqueuePlugin
from scheduler_core.model.effects import QueueMove
from scheduler_core.model.events import (
    BACKOFF_COMPLETE,
    POP_FROM_BACKOFF_Q,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    ActionType,
    ClusterEvent,
    EventResource,
)
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import LogSink, Recorder, Stopwatch, discard_log, stopped_watch
from scheduler_core.queue.active_queue import ActiveQueue
from scheduler_core.queue.backoff_queue import BackoffQueue
from scheduler_core.queue.cross_topology import NamespaceLabels
from scheduler_core.queue.gates import Gates
from scheduler_core.queue.nominator import Nominator, PodLister
from scheduler_core.queue.options import QueueCounters, QueueOptions
from scheduler_core.queue.pod_heap import OrderFn
from scheduler_core.queue.unschedulable_pods import UnschedulablePods
from scheduler_core.queue.worth import Strategy, Verdict

ACTIVE, BACKOFF, UNSCHEDULABLE = "Active", "Backoff", "Unschedulable"

# Why a pod left the queue, in records.
DELETED = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.DELETE).label
DISCARDED = "Discarded"

_ADDS_NOMINATION = (UNSCHEDULABLE_POD_ADD.label, UNSCHEDULABLE_POD_UPDATE.label)


@dataclass(frozen=True, slots=True)
class QueueParts:
    """What the queue is built from. Profiles are looked up by scheduler name."""

    sort_key: OrderFn
    stored_pod: PodLister
    options: QueueOptions = field(default_factory=QueueOptions)
    hint_maps: HintMaps = field(default_factory=dict[str, HintMap])
    pre_enqueue: PreEnqueueMap = field(default_factory=dict[str, tuple[PreEnqueuePlugin, ...]])
    namespace_labels: NamespaceLabels = lambda name: {}
    record: Callable[[QueueMove], None] = lambda move: None
    log: LogSink = discard_log
    recorder: Recorder | None = None
    stopwatch: Stopwatch = stopped_watch


class SubQueues:
    """Active, backoff and unschedulable pods with the nominator; methods return whether or where a pod was put."""

    def __init__(self, parts: QueueParts) -> None:
        self.options = parts.options
        self.counters = QueueCounters()
        self.active = ActiveQueue(parts.sort_key)
        self.backoff = BackoffQueue(parts.options, parts.sort_key, self.counters, parts.log)
        self.unschedulable = UnschedulablePods(self.counters)
        self.nominator = Nominator(parts.stored_pod, parts.log)
        self._gates = Gates(
            parts.pre_enqueue, parts.hint_maps, self.counters, parts.log, parts.recorder, parts.stopwatch
        )
        self._record = parts.record

    def get(self, key: str) -> QueuedPodInfo | None:
        """The entry of `namespace/name`, wherever it waits."""
        return self.active.heap.get(key) or self.unschedulable.get(key) or self.backoff.get(key)

    def take_next(self) -> QueuedPodInfo | None:
        """The first active entry, else the first of the ordinary backoff heap where that is allowed."""
        info = self.active.heap.pop()
        if info is None and self.options.pop_from_backoff_q:
            info = self.backoff.ordinary.pop()
            if info is not None:
                self.counters.count_incoming("active", POP_FROM_BACKOFF_Q)
        return info

    def take_out(self, info: QueuedPodInfo) -> None:
        """Remove the entry from the sub-queue it waits in."""
        key = info.key
        if self.active.heap.remove(key) is None and self.backoff.delete(key) is None:
            self.unschedulable.delete(key, gated=info.gated)

    def to_active(self, info: QueuedPodInfo, event: str, now: int, hint_plugin: str = "") -> bool:
        """Let the pod be tried, unless a gate holds it; it waits gated then."""
        was_gated = info.gated
        if not (self.options.pop_from_backoff_q and event == BACKOFF_COMPLETE):
            self._gates.run(info)
        key = info.key
        if info.gated:
            self.unschedulable.note_change(key)
            if key not in self.active and key not in self.backoff:
                self._keep_gated(info, event, now, was_gated, hint_plugin)
            return False
        if info.initial_attempt_timestamp is None:
            info.initial_attempt_timestamp = now
        self.active.heap.put(info)
        self.counters.count_incoming("active", event)
        self.unschedulable.delete(key, gated=was_gated)
        self.backoff.delete(key)
        if event in _ADDS_NOMINATION:
            self.nominator.add(info.pod)
        self.note(info, "active", event, now, hint_plugin)
        return True

    def to_backoff(self, info: QueuedPodInfo, event: str, now: int, hint_plugin: str = "") -> bool:
        """Let the pod wait for its backoff. Gates are asked here already where it may be popped from backoff."""
        if self.options.pop_from_backoff_q:
            was_gated = info.gated
            self._gates.run(info)
            if info.gated:
                self.unschedulable.note_change(info.key)
                self._keep_gated(info, event, now, was_gated, hint_plugin)
                return False
        self.note(info, self.backoff.add(info, event), event, now, hint_plugin)
        return True

    def requeue(self, info: QueuedPodInfo, verdict: Verdict, event: str, now: int) -> str:
        """Put the pod where the verdict sends it: Active, Backoff or Unschedulable."""
        if verdict.strategy is Strategy.SKIP:
            if self.unschedulable.put(info, event):
                self.note(info, "gated" if info.gated else "unschedulable", event, now)
            return UNSCHEDULABLE
        if verdict.strategy is Strategy.AFTER_BACKOFF and self.backoff.is_backing_off(info, now):
            return BACKOFF if self.to_backoff(info, event, now, verdict.plugin) else UNSCHEDULABLE
        return ACTIVE if self.to_active(info, event, now, verdict.plugin) else UNSCHEDULABLE

    def swap_pod(self, info: QueuedPodInfo, pod: Pod) -> None:
        """A newer version of the pod replaces the one held; heaps put it in its new place."""
        key = info.key
        info.pod = pod
        if self.active.heap.get(key) is info:
            self.active.heap.put(info)
        elif self.backoff.get(key) is info:
            self.backoff.update(info)

    def blame(self, info: QueuedPodInfo, change: int) -> None:
        """Raise or lower the gauge of each plugin the pod is blamed on."""
        for plugin in sorted(info.blamed_plugins):
            self.counters.blame(plugin, info.pod.spec.scheduler_name, change)

    def absolve(self, info: QueuedPodInfo) -> None:
        """Forget who was blamed for the pod, and who held it: it is tried anew."""
        if info.unschedulable_plugins or info.pending_plugins:
            self.blame(info, -1)
            info.unschedulable_plugins.clear()
            info.pending_plugins.clear()
        info.gating_plugin = ""
        info.gating_plugin_events = ()

    def pending_pods(self) -> tuple[list[Pod], str]:
        """All waiting pods, and how many are where."""
        infos = [*self.active.heap, *self.backoff.ordinary, *self.backoff.errors, *self.unschedulable]
        summary = (
            f"activeQ:{len(self.active)}; backoffQ:{len(self.backoff)}; unschedulablePods:{len(self.unschedulable)}"
        )
        return [info.pod for info in infos], summary

    def pending(self) -> dict[str, int]:
        """How many pods wait where, as the counters have it."""
        return {
            "active": len(self.active),
            "backoff": len(self.backoff),
            "unschedulable": self.counters.unschedulable,
            "gated": self.counters.gated,
        }

    def sizes(self) -> dict[str, int]:
        """How many pods really wait where."""
        gated = self.unschedulable.gated
        return {**self.pending(), "unschedulable": len(self.unschedulable) - gated, "gated": gated}

    def note(self, info: QueuedPodInfo, to: str, event: str, now: int, hint_plugin: str = "") -> None:
        """Record that the pod entered `to`, or left the queue (empty)."""
        backing_off = to in ("backoff", "errorBackoff")
        self._record(
            QueueMove(
                pod_key=info.key,
                pod_uid=info.uid,
                to=to,
                event=event,
                at=now,
                attempts=info.attempts,
                backoff_expiration=self.backoff.backoff_time(info) if backing_off else None,
                plugins=tuple(sorted(info.blamed_plugins)),
                hint_plugin=hint_plugin,
            )
        )

    def _keep_gated(self, info: QueuedPodInfo, event: str, now: int, was_gated: bool, hint_plugin: str) -> None:
        # A pod waiting already stays in its gauge, though it may have become gated only now: upstream's drift.
        waiting = info.key in self.unschedulable
        if not waiting:
            self.unschedulable.put(info, event)
        if not (waiting and was_gated):
            self.note(info, "gated", event, now, hint_plugin)
