"""The engine's whole interface: a step takes the time and what changed, and says what is to be done.

A step runs what is due by the clock, applies all its changes, then takes pods one after the other through
their cycles while the budget lasts. What it does depends on its arguments and the state alone; a step that a
deadline cut short is repeated by giving the number of its attempts as `max_cycles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.api.pod import Pod
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from scheduler_core.model.effects import Effects
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.scheduler import binding_cycle
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.event_handlers import apply_change, event_label
from scheduler_core.scheduler.observing import next_settling, settle_decisions
from scheduler_core.scheduler.schedule_one import schedule_one


@dataclass(frozen=True, slots=True)
class Budget:
    """At most `max_cycles` cycles; `deadline`, asked before each, says whether the time is over."""

    max_cycles: int
    deadline: Callable[[], bool] | None = None


class Scheduler:
    """One cluster's scheduler: a state machine without clock, threads or sockets."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def step(self, now: int, changes: Sequence[Change], budget: Budget) -> Effects:
        """Everything that follows from `changes` at `now`, as far as the budget goes."""
        effects = self._begin(now)
        for change in changes:
            self._apply(change)
        if any(isinstance(change, (ObjectPut, ObjectDeleted)) for change in changes):
            binding_cycle.on_objects_changed(self.engine)
        binding_cycle.settle_permits(self.engine)
        cycles, written = 0, self._spend(0)
        while cycles < budget.max_cycles and not (budget.deadline is not None and budget.deadline()):
            if self._next_cycle(now) != now:
                break
            queued = self.engine.queue.pop(now)
            if queued is None:
                break
            schedule_one(self.engine, queued)
            written = self._spend(written)
            cycles += 1
        effects.more = self._next_cycle(now) == now
        return effects

    def schedule_pod_now(self, pod: Pod | str, now: int) -> Effects:
        """One cycle for this pod (or its key), whatever its place in the queue.

        No attempt is made for a gated pod, one that is being bound, or a key of no pod. A pod given as such need
        not be stored: it is tried as it is, even when it names a node already.
        """
        effects = self._begin(now)
        queued = self._entry_of(pod, now)
        if queued is not None:
            schedule_one(self.engine, queued)
        self._spend(0)
        effects.more = self._next_cycle(now) == now
        return effects

    def next_due(self, now: int) -> int | None:
        """When the next step has something to do without a change: `now` or later, None when never."""
        cycle = self._next_cycle(now)
        if cycle == now:
            return now
        timer = self.next_timer(now)
        return cycle if timer is None else timer if cycle is None else min(cycle, timer)

    def next_timer(self, now: int) -> int | None:
        """When the clock alone brings something about: ends of backoff, time-outs of waits, pods left over."""
        engine = self.engine
        times = (
            engine.queue.next_due(),
            engine.waiting_pods.next_deadline(),
            binding_cycle.next_pre_bind_deadline(engine),
            next_settling(engine),
        )
        return min((max(time, now) for time in times if time is not None), default=None)

    def restore_bindings(self, bindings: Iterable[tuple[str, str]]) -> None:
        """Bindings (pod uid, node name) an engine before this one asked for, whose verdicts are still to come.

        Call it before the first step: the pods are assumed on their nodes when they arrive unassigned.
        """
        self.engine.restored_bindings.update(bindings)

    def _apply(self, change: Change) -> None:
        engine = self.engine
        if engine.recorder is None:
            apply_change(engine, change)
            return
        label, started = event_label(engine, change), engine.stopwatch()
        apply_change(engine, change)
        if label:
            engine.recorder.duration("event_handling_duration", (label,), engine.stopwatch() - started)

    def restore_attempts(self, attempts: Mapping[str, int]) -> None:
        """How often pods, by uid, were tried under engines before this one. Call it before the first step.

        They are tried at once, as after any start; numbers of attempts and backoff go on from there.
        """
        self.engine.restored_attempts.update(attempts)

    def _entry_of(self, pod: Pod | str, now: int) -> QueuedPodInfo | None:
        engine = self.engine
        key = pod if isinstance(pod, str) else pod.key
        if engine.queue.get(key) is not None:
            return engine.queue.pop_pod(key, now)
        stored = engine.store.pod(key) if isinstance(pod, str) else pod
        if stored is None or stored.uid in engine.bindings or (stored.is_assigned and stored is not pod):
            return None
        return QueuedPodInfo(stored, now, attempts=1)  # in no queue: of no profile, or not stored

    def _next_cycle(self, now: int) -> int | None:
        """When the next cycle may begin; None while no pod is ready."""
        engine = self.engine
        if not engine.queue.has_next:
            return None
        return now if engine.write_limit is None else engine.write_limit.ready_at(now)

    def _spend(self, counted: int) -> int:
        """Take tokens for the writes of this step that are not `counted` yet; return how many there are."""
        engine = self.engine
        if engine.write_limit is None:
            return 0
        writes = len(engine.effects.bindings) + len(engine.effects.status_patches)
        engine.write_limit.spend(engine.now, writes - counted)
        return writes

    def _begin(self, now: int) -> Effects:
        """Start a step and run what the clock alone brings about."""
        engine = self.engine
        engine.now = now
        engine.effects = Effects()
        engine.waiting_pods.expire(now)
        binding_cycle.settle_permits(engine)
        binding_cycle.on_pre_bind_deadlines(engine)
        engine.queue.run_due_flushes(now)
        engine.cache.cleanup_assumed_pods(now)
        settle_decisions(engine)
        return engine.effects
