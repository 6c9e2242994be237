"""One cluster's engine in this process: built from the tables, stepped, and thrown away when a step is lost.

An engine is never ahead of the database: whatever keeps a step from being committed ends the engine, and the
next slice builds a new one. Everything of a step, from reading the log to committing, is here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog
from django.db import transaction

from kschedweb.cluster import extender_http, follow
from kschedweb.cluster.models import Cluster
from kschedweb.common.collector import settle
from kschedweb.scheduling import adapters, services
from kschedweb.scheduling.adapters import LastAttempt
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, EngineState
from kschedweb.scheduling.runner.pace import Allowance, PaceSetting
from kschedweb.scheduling.services import StatusPatch, StepOrders, StepPosition, WorkRequest
from kschedweb.traces.choices import StepKind
from scheduler_core import build, config
from scheduler_core.model.effects import Effects, QueueMove
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from scheduler_core.trace import digest

log = structlog.get_logger(__name__)

STEP_SECONDS = 0.1
STEP_CYCLES = 200
# How much longer than other steps these may take before somebody else may lead: he would have to do the same.
REBUILD_SECONDS = 300.0
SECONDS_PER_CHANGE = 0.005
START_OF_CHAIN = digest.START_OF_CHAIN


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What came of one step. `due_in` is seconds until the engine wants the next one; None: only when woken."""

    cycles: int
    changes: int
    due_in: float | None


@dataclass(slots=True)
class ClusterRow:
    """What a step needs of the cluster's row, read when it begins."""

    rv: int
    pace: PaceSetting
    config_version: int


@dataclass
class EngineHost:
    """The engine of one cluster under one epoch; `be_patient` hears how many seconds a long step asks for."""

    cluster_id: int
    epoch: int
    clock_us: Callable[[], int] = lambda: time.time_ns() // 1000
    monotonic: Callable[[], float] = time.monotonic
    stopwatch: Callable[[], int] = time.perf_counter_ns
    be_patient: Callable[[float], None] = lambda _: None
    _engine: Scheduler | None = None
    _run: int = 0
    _step: int = 0
    _seq: int = 0
    _rv_seen: int = 0
    _config_version: int = 0
    _digest: bytes = START_OF_CHAIN
    _last_now: int = 0
    _last_attempts: dict[str, LastAttempt] = field(default_factory=dict)
    _allowance: Allowance = field(default_factory=Allowance)

    def step(self) -> StepOutcome:
        """One step and its commit; builds the engine first when there is none. Any error ends the engine."""
        try:
            return self._step_once()
        except BaseException:
            self._engine = None
            raise

    def _step_once(self) -> StepOutcome:
        row = self._cluster_row()
        if self._engine is None:
            self._rebuild(StepKind.REBUILD)
            settle()
        elif row.config_version != self._config_version:
            self._rebuild(StepKind.CONFIG)
            settle()
        engine = self._engine
        assert engine is not None  # built above
        if row.rv > self._rv_seen:
            self.be_patient((row.rv - self._rv_seen) * SECONDS_PER_CHANGE)
        changes, log_to = follow.changes_after(cluster_id=self.cluster_id, rv=self._rv_seen)
        now = self._now()
        allowed = self._allowance.cycles(row.pace, monotonic=self.monotonic(), most=STEP_CYCLES)
        # A pod that is ready counts only when the pace allows a cycle; timers go on while paused.
        due = engine.next_due(now) if allowed else engine.next_timer(now)
        if not changes and (due is None or due > now):
            if log_to > self._rv_seen:
                self._commit(StepKind.APPLY, Effects(), now, log_to, 0, 0, row)
            return StepOutcome(0, 0, self._due_in(engine, now, row.pace))
        ends_at = self.monotonic() + STEP_SECONDS
        budget = Budget(max_cycles=allowed, deadline=lambda: self.monotonic() >= ends_at)
        effects = engine.step(now, changes, budget)
        cycles = len(effects.attempts)
        stepped = min(row.pace.steps_waiting, cycles)
        self._commit(StepKind.APPLY, effects, now, log_to, cycles, stepped, row)
        self._allowance.spend(cycles - stepped)
        pace = PaceSetting(row.pace.pace, row.pace.rate, row.pace.steps_waiting - stepped)
        return StepOutcome(cycles, len(changes), self._due_in(engine, now, pace))

    def _now(self) -> int:
        """Engine time never runs backwards, whatever the machine's clock does."""
        self._last_now = max(self._last_now + 1, self.clock_us())
        return self._last_now

    def _due_in(self, engine: Scheduler, now: int, pace: PaceSetting) -> float | None:
        due = engine.next_due(now)
        if due is None:
            return None
        if due > now:
            return (due - now) / follow.MICROSECOND
        # A pod is ready: the pace says when it may have its cycle. Timers go on while paused.
        until_cycle = self._allowance.seconds_until_next(pace)
        timer = engine.next_timer(now)
        until_timer = None if timer is None else max(0.0, (timer - now) / follow.MICROSECOND)
        waits = [wait for wait in (until_cycle, until_timer) if wait is not None]
        return min(waits) if waits else None

    def _cluster_row(self) -> ClusterRow:
        values = (
            Cluster.objects.filter(pk=self.cluster_id)
            .values_list("rv", "pace", "pace_rate", "pace_steps_requested", "pace_steps_done", "config_version")
            .get()
        )
        rv, pace, rate, requested, done, config_version = values
        return ClusterRow(rv, PaceSetting(pace, rate, max(0, requested - done)), config_version)

    def _rebuild(self, kind: str) -> None:
        """A new engine from the tables as of one moment; a step of its own kind in the journal."""
        started = self.monotonic()
        self.be_patient(REBUILD_SECONDS)
        with transaction.atomic():
            follow.read_only_moment()
            cluster = Cluster.objects.get(pk=self.cluster_id)
            state = EngineState.objects.filter(pk=self.cluster_id).first()
            changes = follow.stored_changes(cluster_id=self.cluster_id)
            in_flight = list(
                Binding.objects.filter(cluster_id=self.cluster_id, status=WorkStatus.PENDING, epoch=self.epoch)
                .order_by("id")
                .values_list("pod_uid", "node_name")
            )
        engine = build.build(
            config.load(cluster.scheduler_config or None),
            draws=SeededDraws(cluster.seed),
            stopwatch=self.stopwatch,
            connect_extender=extender_http.connect,
        )
        now = self._now()
        self._run = (state.run if state else 0) + 1
        self._step = 0
        self._digest = START_OF_CHAIN
        self._seq = cluster.seq
        self._rv_seen = cluster.rv
        self._config_version = cluster.config_version
        engine.restore_bindings(in_flight)
        effects = engine.step(now, changes, Budget(max_cycles=0))
        self._last_attempts = services.last_attempts(
            cluster_id=self.cluster_id,
            pod_uids=[move.pod_uid for move in effects.moves if isinstance(move, QueueMove)],
        )
        self._engine = engine
        self._commit(kind, effects, now, cluster.rv, 0, 0, None)
        log.info(
            "engine built",
            cluster=self.cluster_id,
            kind=kind,
            objects=len(changes),
            rv=cluster.rv,
            seconds=round(self.monotonic() - started, 3),
        )

    def _commit(
        self, kind: str, effects: Effects, now: int, log_to: int, cycles: int, stepped: int, row: ClusterRow | None
    ) -> None:
        assert self._engine is not None
        due = self._engine.next_due(now)
        rows = adapters.step_rows(
            effects,
            kind=kind,
            seq=self._seq,
            step=self._step + 1,
            rv=log_to,
            previous_digest=self._digest,
            now=now,
            last_attempts=self._last_attempts,
        )
        position = StepPosition(
            cluster_id=self.cluster_id,
            epoch=self.epoch,
            run=self._run,
            step=self._step + 1,
            kind=kind,
            log_from=self._rv_seen,
            log_to=log_to,
            seq_from=self._seq,
            now_us=now,
            now=follow.moment_of(now),
            cycles=cycles,
            config_version=self._config_version,
            next_due_at=None if due is None else follow.moment_of(due),
            pace_steps_done=stepped,
        )
        services.step_commit(position=position, rows=rows, orders=_orders(effects), rebuilt=kind != StepKind.APPLY)
        self._step += 1
        self._seq = rows.seq_to
        self._rv_seen = log_to
        self._digest = rows.digest


def _orders(effects: Effects) -> StepOrders:
    return StepOrders(
        bindings=[
            WorkRequest(
                pod_uid=request.pod_uid,
                namespace=request.namespace,
                name=request.name,
                node_name=request.node_name,
                attempt=request.attempt,
            )
            for request in effects.bindings
        ],
        evictions=[
            WorkRequest(
                pod_uid=request.pod_uid,
                namespace=request.namespace,
                name=request.name,
                node_name=request.node_name,
                preemptor_uid=request.preemptor_uid,
                message=request.message,
            )
            for request in effects.evictions
        ],
        patches=[
            StatusPatch(
                pod_uid=patch.pod_uid,
                status=patch.condition_status,
                reason=patch.reason,
                message=patch.message,
                nominated_node_name=patch.nominated_node_name,
            )
            for patch in effects.status_patches
        ],
        writes=[adapters.object_patch(obj) for obj in effects.writes],
    )
