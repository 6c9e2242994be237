"""The queue's operations: what is tried next, what waits, and what brings it back.

    new ──PreEnqueue──▶ ACTIVE ──pop──▶ in flight ──▶ assumed, or failed:
      └─▶ GATED           ▲  ▲            rejected ─▶ UNSCHEDULABLE ─event, time-out─▶ BACKOFF or ACTIVE
                          │  └─ flush ◀─ BACKOFF ◀─ error, or an event during the flight was worth it

Single-threaded: nothing blocks, `now` (µs since the epoch) is an argument. A pod is in at most one sub-queue.
Source: kubernetes v1.34.1, pkg/scheduler/backend/queue/scheduling_queue.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import NominatingInfo
from scheduler_core.framework.hints import is_of_interest
from scheduler_core.model.events import (
    ASSIGNED_POD_ADD,
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    ActionType,
    ClusterEvent,
)
from scheduler_core.model.types import PodInfo, QueuedPodInfo
from scheduler_core.queue.changes import is_pod_updated, pod_change_events
from scheduler_core.queue.checkpoint import Decode, Encode, dump_sub_queues, load_sub_queues
from scheduler_core.queue.cross_topology import may_be_helped
from scheduler_core.queue.options import SECOND_US
from scheduler_core.queue.sub_queues import (
    ACTIVE,
    BACKOFF,
    DELETED,
    DISCARDED,
    UNSCHEDULABLE,
    QueueParts,
    SubQueues,
)
from scheduler_core.queue.worth import SKIP, Asked, PreCheck, Requeuing, Strategy, opens_gate, to_be_asked

LEFTOVER_FLUSH_INTERVAL_US = 30 * SECOND_US


@dataclass(frozen=True, slots=True)
class Requeued:
    """Where a failed pod went (Active, Backoff or Unschedulable), or why it went nowhere."""

    to: str
    error: str = ""


class SchedulingQueue:
    """Active, backoff and unschedulable pods, the nominator, and the events pods in flight have missed."""

    def __init__(self, parts: QueueParts) -> None:
        self.options = parts.options
        self.move_request_cycle = -1
        self.closed = False
        self._queues = SubQueues(parts)
        self.active = self._queues.active
        self.backoff = self._queues.backoff
        self.unschedulable = self._queues.unschedulable
        self.nominator = self._queues.nominator
        self.counters = self._queues.counters
        self.requeuing = Requeuing(parts.hint_maps, parts.log, parts.recorder, parts.stopwatch)
        self._sequence = 0  # of the entry made last
        self._last_backoff_tick = -1
        self._last_leftover_tick = -1
        self._namespace_labels = parts.namespace_labels
        self._log = parts.log

    # -- a pod's way through -------------------------------------------------------------------------------------

    def add(self, pod: Pod, now: int, attempts: int = 0) -> None:
        """A new unscheduled pod; one queued already starts afresh. `attempts` were made in vain by another queue."""
        info = self._new_info(pod, now)
        info.attempts = info.unschedulable_count = attempts
        self._queues.to_active(info, UNSCHEDULABLE_POD_ADD.label, now)

    def pop(self, now: int) -> QueuedPodInfo | None:
        """The next pod to try, from the ordinary backoff heap when nothing is active; None where upstream blocks."""
        while (info := self._queues.take_next()) is not None:
            if self._hand_out(info, now):
                return info
        return None

    def pop_pod(self, key: str, now: int) -> QueuedPodInfo | None:
        """This pod out of turn, from wherever it waits; None when it does not wait, or is gated."""
        info = self.get(key)
        if info is None or info.gated:
            return None
        self._queues.take_out(info)
        return info if self._hand_out(info, now) else None

    def done(self, uid: str) -> None:
        """The pod's attempt is over for the queue: it has failed, or nothing can make it unschedulable any more."""
        self.active.in_flight.done(uid)

    def add_unschedulable_if_not_present(self, info: QueuedPodInfo, cycle: int, now: int) -> Requeued:
        """Put a failed pod back. `cycle` counts only with hints off: the scheduling cycle as of the failure."""
        uid = info.uid
        try:
            return self._add_unschedulable(info, cycle, now)
        finally:
            self.active.in_flight.done(uid)

    def update(self, old: Pod | None, new: Pod, now: int) -> None:
        """An unscheduled pod changed: swap it where it waits, and see whether the change gets it on."""
        events = []
        if self.options.queueing_hints:
            events = pod_change_events(old, new)
            if new.uid in self.active.in_flight:
                # Judged when the pod comes back; the nominator is not touched on this way, as upstream.
                for event in events:
                    self.active.in_flight.add_event(event, old, new)
                return
        key = new.key
        info = None if old is None else self.active.heap.get(key) or self.backoff.get(key)
        if info is not None:
            self._queues.swap_pod(info, new)
            self.nominator.update(old, new)
            return
        info = self.unschedulable.get(key)
        if info is None:
            self._queues.to_active(self._new_info(new, now), UNSCHEDULABLE_POD_UPDATE.label, now)
            return
        info.pod = new
        self.unschedulable.note_change(key)
        self.nominator.update(old, new)
        if self.options.queueing_hints:
            self._update_unschedulable(info, events, old, new, now)
        elif is_pod_updated(old, new):
            label = UNSCHEDULABLE_POD_UPDATE.label
            gated = info.gated
            if not self.backoff.is_backing_off(info, now):
                self._queues.to_active(info, label, now)
            elif self._queues.to_backoff(info, label, now):
                self.unschedulable.delete(key, gated=gated)

    def delete(self, pod: Pod, now: int) -> None:
        """The pod is gone, or assigned. What is in flight is left alone."""
        key = pod.key
        self.nominator.delete_if_exists(pod)
        info = self.active.heap.remove(key) or self.backoff.delete(key)
        if info is None:
            info = self.unschedulable.get(key)
            if info is None:
                return
            self.unschedulable.delete(key, gated=info.gated)
        self._queues.note(info, "", DELETED, now)

    def activate(self, pods: Iterable[Pod], now: int) -> None:
        """Bring waiting pods to the active queue at once, backoff or not; gates still hold."""
        for pod in sorted(pods, key=lambda each: each.key):
            info = self.unschedulable.get(pod.key) or self.backoff.delete(pod.key)
            if info is not None and self._queues.to_active(info, FORCE_ACTIVATE.label, now):
                continue
            if pod.uid in self.active.in_flight:
                self.active.in_flight.add_event(FORCE_ACTIVATE, None, pod)
            self.move_request_cycle = self.active.scheduling_cycle

    # -- what happens around ---------------------------------------------------------------------------------------

    def move_all_to_active_or_backoff_queue(
        self,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        now: int,
        pre_check: PreCheck | None = None,
    ) -> None:
        """Try again the waiting pods this event is worth it for, and keep it for those in flight."""
        if is_of_interest(self.requeuing.hint_maps, event):
            waiting = self.requeuing.not_skipped(self.unschedulable, event, old, new, pre_check)
            self._move(waiting, event, old, new, now)

    def assigned_pod_added(self, pod: Pod, now: int) -> None:
        """Older form (hints off) of the move for an assigned pod: only pods that count their neighbours."""
        self._move_neighbours(ASSIGNED_POD_ADD, None, pod, now)

    def assigned_pod_updated(self, old: Pod, new: Pod, event: ClusterEvent, now: int) -> None:
        """Older form (hints off); a pod that became smaller may help any other."""
        if not event.action & ActionType.UPDATE_POD_SCALE_DOWN:
            self._move_neighbours(event, old, new, now)
        elif is_of_interest(self.requeuing.hint_maps, event):
            self._move(to_be_asked(self.unschedulable), event, old, new, now)

    def flush_backoff_q_completed(self, now: int) -> None:
        """Move on the pods whose backoff is over. Due every second."""
        for info in self.backoff.pop_completed(now):
            self._queues.to_active(info, BACKOFF_COMPLETE, now)

    def flush_unschedulable_pods_leftover(self, now: int) -> None:
        """Try again what has waited too long for an event. Due every 30 seconds."""
        limit = self.options.max_in_unschedulable_us
        overdue = [info for info in self.unschedulable if now - info.timestamp > limit]
        if overdue:
            self._move(to_be_asked(overdue), UNSCHEDULABLE_TIMEOUT, None, None, now)

    def run_due_flushes(self, now: int) -> None:
        """Run each flush whose tick (whole second; whole 30 seconds) has come since it ran last."""
        tick = now // SECOND_US
        if tick > self._last_backoff_tick:
            self._last_backoff_tick = tick
            self.flush_backoff_q_completed(now)
        tick = now // LEFTOVER_FLUSH_INTERVAL_US
        if tick > self._last_leftover_tick:
            self._last_leftover_tick = tick
            self.flush_unschedulable_pods_leftover(now)

    def next_due(self) -> int | None:
        """The next tick at which a flush changes anything; None when only events can."""
        due = self.backoff.next_completion()
        if due is not None:
            due = max(due, (self._last_backoff_tick + 1) * SECOND_US)
        # A gated pod stays; its flush leaves a trace only for pods in flight (hints off: in the move cycle).
        counts_gated = self.move_request_cycle != self.active.scheduling_cycle
        if self.options.queueing_hints:
            counts_gated = len(self.active.in_flight) > 0
        earliest = self.unschedulable.earliest(gated=counts_gated)
        if earliest is not None:
            leftover = max(self.left_over_at(earliest), (self._last_leftover_tick + 1) * LEFTOVER_FLUSH_INTERVAL_US)
            return leftover if due is None else min(due, leftover)
        return due

    def left_over_at(self, since: int) -> int:
        """When the flush of unschedulable pods moves one that has been among them since then."""
        ticks = (since + self.options.max_in_unschedulable_us) // LEFTOVER_FLUSH_INTERVAL_US + 1
        return ticks * LEFTOVER_FLUSH_INTERVAL_US

    def close(self) -> None:
        """Nothing is in flight any more; what is queued may still be popped. Closing twice is a fault."""
        if self.closed:
            raise ValueError("the scheduling queue is closed already")
        for pod in self.active.in_flight.pods():
            self.active.in_flight.done(pod.uid)
        self.closed = True

    # -- nominations -------------------------------------------------------------------------------------------------

    def add_nominated_pod(self, pod: Pod, info: NominatingInfo | None) -> None:
        self.nominator.add(pod, info)

    def delete_nominated_pod_if_exists(self, pod: Pod) -> None:
        self.nominator.delete_if_exists(pod)

    def nominated_node_names(self) -> list[str]:
        """Nodes with at least one nominated pod, in order of the first nomination."""
        return self.nominator.node_names

    def nominated_pods_for_node(self, node_name: str) -> list[PodInfo]:
        """The pods nominated to the node as the queue holds them; of one not queued only the name is known."""
        return [self.nominator.pod_info(ref, self.get(ref.key)) for ref in self.nominator.refs_for_node(node_name)]

    # -- looking in ----------------------------------------------------------------------------------------------------

    @property
    def scheduling_cycle(self) -> int:
        return self.active.scheduling_cycle

    @property
    def has_next(self) -> bool:  # whether `pop` has something to give
        return len(self.active) > 0 or (self.options.pop_from_backoff_q and len(self.backoff.ordinary) > 0)

    def get(self, key: str) -> QueuedPodInfo | None:
        """The entry of `namespace/name`, wherever it waits."""
        return self._queues.get(key)

    def pending_pods(self) -> tuple[list[Pod], str]:
        """All waiting pods, and how many are where."""
        return self._queues.pending_pods()

    def pending(self) -> dict[str, int]:
        """The gauge `scheduler_pending_pods` by sub-queue, with upstream's drift between the last two."""
        return self._queues.pending()

    def sizes(self) -> Mapping[str, int]:
        """How many pods really wait where."""
        return self._queues.sizes()

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def dump(self, encode: Encode = manifests.encode) -> dict[str, Any]:
        """All state as plain values; a queue with the same parts that loads it behaves the same from then on."""
        return {
            **dump_sub_queues(self._queues, encode),
            "move_request_cycle": self.move_request_cycle,
            "closed": self.closed,
            "sequence": self._sequence,
            "last_backoff_tick": self._last_backoff_tick,
            "last_leftover_tick": self._last_leftover_tick,
        }

    def load(self, dumped: dict[str, Any], decode: Decode = manifests.decode) -> None:
        """Take over a dump; the queue must be fresh."""
        load_sub_queues(self._queues, dumped, decode)
        self.move_request_cycle = dumped["move_request_cycle"]
        self.closed = dumped["closed"]
        self._sequence = dumped["sequence"]
        self._last_backoff_tick = dumped["last_backoff_tick"]
        self._last_leftover_tick = dumped["last_leftover_tick"]

    # -- inside --------------------------------------------------------------------------------------------------

    def _hand_out(self, info: QueuedPodInfo, now: int) -> bool:
        """Count the attempt and follow the pod while it is tried; False when it is being tried already."""
        info.attempts += 1
        if self.options.queueing_hints:
            if info.uid in self.active.in_flight:
                message = "The same pod is tracked in multiple places in the scheduler, and just discard it"
                self._log(message, {"pod": info.key, "err": None})
                self._queues.note(info, "", DISCARDED, now)
                return False
            self.active.in_flight.add_pod(info.pod)
        self.active.scheduling_cycle += 1
        self._queues.absolve(info)
        self.unschedulable.note_change(info.key)  # in two sub-queues: see there
        return True

    def _add_unschedulable(self, info: QueuedPodInfo, cycle: int, now: int) -> Requeued:
        key = info.key
        for name, queue in (
            ("unschedulable queue", self.unschedulable),
            ("the active queue", self.active),
            ("the backoff queue", self.backoff),
        ):
            if key in queue:
                self.unschedulable.note_change(key)
                return Requeued("", f"Pod {key} is already present in {name}")
        blamed = bool(info.unschedulable_plugins or info.pending_plugins)
        if blamed:
            info.unschedulable_count += 1
            info.consecutive_errors_count = 0
        else:
            info.consecutive_errors_count += 1
        info.timestamp = now
        info.backoff_expiration = None
        self._queues.blame(info, +1)
        if self.options.queueing_hints:
            verdict = self.requeuing.worth_after_flight(info, self.active.in_flight)
            return Requeued(self._queues.requeue(info, verdict, SCHEDULE_ATTEMPT_FAILURE, now))
        if blamed and self.move_request_cycle < cycle:
            return Requeued(self._queues.requeue(info, SKIP, SCHEDULE_ATTEMPT_FAILURE, now))
        added = self._queues.to_backoff(info, SCHEDULE_ATTEMPT_FAILURE, now)
        return Requeued(BACKOFF if added else UNSCHEDULABLE)

    def _update_unschedulable(
        self, info: QueuedPodInfo, events: list[ClusterEvent], old: Pod | None, new: Pod, now: int
    ) -> None:
        gated = info.gated
        for event in events:
            queue = self._queues.requeue(info, self.requeuing.worth(info, event, old, new), event.label, now)
            if queue != UNSCHEDULABLE:
                self.unschedulable.delete(info.key, gated=gated)
            # With pop-from-backoff off the rest is asked too, and may put the pod into a second sub-queue (upstream).
            if queue == ACTIVE or (queue == BACKOFF and self.options.pop_from_backoff_q):
                break

    def _move(
        self,
        waiting: list[Asked],
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        now: int,
    ) -> None:
        label = event.label
        opens: dict[str, bool] = {}  # by gating plugin: whether it wants the event
        for info, verdict in waiting:
            if info.gated:
                if info.gating_plugin not in opens:
                    opens[info.gating_plugin] = opens_gate(info, event)
                if not opens[info.gating_plugin]:
                    continue
            if verdict is None:
                verdict = self.requeuing.worth(info, event, old, new)
            if verdict.strategy is Strategy.SKIP:
                continue
            self.unschedulable.delete(info.key, gated=info.gated)
            self._queues.requeue(info, verdict, label, now)
        self.move_request_cycle = self.active.scheduling_cycle
        if len(self.active.in_flight):
            self.active.in_flight.add_event(event, old, new)

    def _move_neighbours(self, event: ClusterEvent, old: Pod | None, new: Pod, now: int) -> None:
        if is_of_interest(self.requeuing.hint_maps, event):
            waiting = [info for info in self.unschedulable if may_be_helped(info, new, self._namespace_labels)]
            self._move(to_be_asked(waiting), event, old, new, now)

    def _new_info(self, pod: Pod, now: int) -> QueuedPodInfo:
        self._sequence += 1
        return QueuedPodInfo(pod=pod, timestamp=now, sequence=self._sequence)
