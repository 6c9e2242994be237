"""One cluster's engine in this process: built from the tables, stepped, and thrown away when a step is lost.

An engine is never ahead of the database: whatever keeps a step from being committed ends the engine, and the
next slice builds a new one. Everything of a step, from reading the log to committing, is here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import structlog
from django.conf import settings

from kschedweb.cluster import clock, extender_http, follow
from kschedweb.cluster.choices import Pace
from kschedweb.cluster.extender_http import StepTime
from kschedweb.common.collector import settle_after, without_collecting
from kschedweb.common.memory import trim
from kschedweb.common.metrics import RECORDER
from kschedweb.scheduling import adapters, selectors, services
from kschedweb.scheduling.api_calls import api_calls_measure
from kschedweb.scheduling.beginnings import beginning_packed
from kschedweb.scheduling.checkpoints import (
    LEAST_SECONDS_BETWEEN,
    CheckpointPosition,
    CheckpointTimer,
    checkpoint_store,
    checkpoint_want,
)
from kschedweb.scheduling.runner import attempt_log, building
from kschedweb.scheduling.runner.cluster_row import ClusterRow, read_row
from kschedweb.scheduling.runner.keeping import AttemptKeeper
from kschedweb.scheduling.runner.meter import Meter
from kschedweb.scheduling.runner.pace import Allowance, PaceSetting
from kschedweb.scheduling.runner.turns import in_turn
from kschedweb.scheduling.services import StepPosition
from kschedweb.traces.choices import StepKind
from scheduler_core import build, config
from scheduler_core.api.sharing import Sharing
from scheduler_core.api.times import moment_of
from scheduler_core.model.changes import Change
from scheduler_core.model.effects import Effects, QueueMove
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint, recorded
from scheduler_core.scheduler.engine import Observer
from scheduler_core.scheduler.scheduler import Budget, Scheduler
from scheduler_core.trace import digest

log = structlog.get_logger(__name__)

STEP_SECONDS = 0.1
STEP_CYCLES = 200
MOST_COMPARED = 100  # changes that a mirror's step takes: each may be a binding, and its attempt is kept until the end
# How much longer than other steps these may take before somebody else may lead: he would have to do the same.
REBUILD_SECONDS = 300.0
SECONDS_PER_CHANGE = 0.005
QUIET_SECONDS = 2.0  # without a change or a cycle, before an engine that waits is written down
START_OF_CHAIN = digest.START_OF_CHAIN


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What came of one step. `due_in` is seconds until the engine wants the next one; None: only when woken.

    `asked_seconds` of the step were spent waiting for extenders. `is_stepped`: the cluster's clock waits for the step.
    `is_idle`: it had nothing to do.
    """

    cycles: int
    changes: int
    due_in: float | None
    asked_seconds: float = 0.0
    is_stepped: bool = False
    is_idle: bool = False


@dataclass
class EngineHost:
    """The engine of one cluster under one epoch.

    `be_patient` hears how many seconds a long step asks for; `step_time` bounds what a step waits for extenders.
    """

    cluster_id: int
    epoch: int
    clock_us: Callable[[], int] | None = None  # None: the cluster's clock
    monotonic: Callable[[], float] = time.monotonic
    stopwatch: Callable[[], int] = time.perf_counter_ns
    be_patient: Callable[[float], None] = lambda _: None
    step_time: StepTime = field(default_factory=StepTime)
    is_stepped: bool = False  # at the last step: the cluster's clock waits for each
    _engine: Scheduler | None = None
    _run: int = 0
    _step: int = 0
    _seq: int = 0
    _rv_seen: int = 0
    _config_version: int = 0
    _digest: bytes = START_OF_CHAIN
    _last_now: int = 0
    _keeper: AttemptKeeper = field(default_factory=AttemptKeeper)
    _allowance: Allowance = field(default_factory=Allowance)
    _refused_version: int = 0  # of a configuration this process cannot use
    _stands_still: bool = False  # for want of a configuration that can be used
    _checkpoints: CheckpointTimer | None = None
    _meter: Meter = field(init=False)
    _commit_seconds: float = 0.0  # of the last step
    _sharing: Sharing | None = None  # of what a mirror's engine holds
    _worked_at: float = 0.0  # when a step last had something to do

    def __post_init__(self) -> None:
        self._meter = Meter(self.cluster_id, self.monotonic)

    def step(self) -> StepOutcome:
        """One step and its commit; builds the engine first when there is none. Any error ends the engine."""
        self.step_time.begin_step()
        try:
            return replace(self._step_once(), asked_seconds=self.step_time.spent)
        except BaseException:
            if self._engine is not None:
                RECORDER.count("ksched_steps_lost_total", cluster_id=self.cluster_id)
            self._engine = None
            raise

    def _step_once(self) -> StepOutcome:
        row = read_row(self.cluster_id)
        if row.is_mirror and not row.is_synced and self._engine is None:
            return StepOutcome(0, 0, None, is_idle=True)  # it is made of all objects at once when they are here
        if row.is_mirror and self._sharing is None:
            self._sharing = Sharing()
        if row.config_version not in (self._config_version, self._refused_version):
            self._rebuild(StepKind.REBUILD if self._engine is None else StepKind.CONFIG)
            row = read_row(self.cluster_id)
        elif self._engine is None and not self._stands_still:
            self._rebuild(StepKind.REBUILD)
            row = read_row(self.cluster_id)
        engine = self._engine
        if engine is None:
            return StepOutcome(0, 0, None, is_idle=True)  # until there is another configuration
        if row.config_version not in (self._config_version, self._refused_version):
            return StepOutcome(0, 0, 0.0)  # another one came while the engine was made
        self.is_stepped = row.is_stepped
        outcome = self._advance(engine, row)
        again_in = self._checkpoint_if_due(row, outcome)
        due_in = min((each for each in (again_in, outcome.due_in) if each is not None), default=None)
        return replace(outcome, due_in=due_in, is_stepped=row.is_stepped)

    def _advance(self, engine: Scheduler, row: ClusterRow) -> StepOutcome:
        """Take what changed and run the cycles the pace allows."""
        if row.rv > self._rv_seen:
            self.be_patient((row.rv - self._rv_seen) * SECONDS_PER_CHANGE)
        most = MOST_COMPARED if row.is_mirror else None
        # No further than the row had come: whoever stores a configuration and then a pod has the pod scheduled by it.
        changes, log_to = follow.changes_after(
            cluster_id=self.cluster_id, rv=self._rv_seen, least=row.rv, until=row.rv, most=most, sharing=self._sharing
        )
        now = self._now(row.now)
        if row.pace.pace == Pace.RUN and not row.is_mirror:
            changes, log_to = in_turn(engine, changes, log_to, cluster_id=self.cluster_id, now=now)
        allowed = self._allowance.cycles(row.pace, monotonic=self.monotonic(), most=STEP_CYCLES) if row.is_synced else 0
        if engine.engine.observer is not None:
            engine.engine.observer.compares = row.is_synced
        # A pod that is ready counts only when the pace allows a cycle; timers go on while paused.
        due = engine.next_due(now) if allowed else engine.next_timer(now)
        # What is recorded is a step of the engine, even if nothing in the log concerns it: its flushes have run then.
        if log_to == self._rv_seen and not changes and (due is None or due > now):
            due_in = 0.0 if log_to < row.rv else self._due_in(engine, now, row, row.pace)
            return StepOutcome(0, 0, due_in, is_idle=True)
        started = self.monotonic()
        ends_at = started + STEP_SECONDS
        budget = Budget(max_cycles=allowed, deadline=lambda: self.monotonic() >= ends_at)
        effects = engine.step(now, changes, budget)
        cycles = len(effects.attempts)
        stepped = min(row.pace.steps_waiting, cycles)
        self._commit(StepKind.APPLY, effects, now, log_to, cycles, stepped)
        self._tell(StepKind.APPLY, effects, changes, started)
        self._allowance.spend(cycles - stepped)
        pace = PaceSetting(row.pace.pace, row.pace.rate, row.pace.steps_waiting - stepped)
        due_in = 0.0 if log_to < row.rv else self._due_in(engine, now, row, pace)
        return StepOutcome(cycles, len(changes), due_in)

    def _now(self, now: int) -> int:
        """Engine time never runs backwards, whatever the cluster's clock does."""
        self._last_now = max(self._last_now + 1, now if self.clock_us is None else self.clock_us())
        return self._last_now

    def _due_in(self, engine: Scheduler, now: int, row: ClusterRow, pace: PaceSetting) -> float | None:
        due = engine.next_due(now) if row.is_synced else None
        if due is None:
            return None
        if due > now:
            return None if row.is_stepped else (due - now) / follow.MICROSECOND
        # A pod is ready: the pace says when it may have its cycle. Timers go on while paused.
        until_cycle = self._allowance.seconds_until_next(pace)
        timer = engine.next_timer(now)
        until_timer = None if timer is None or row.is_stepped else max(0.0, (timer - now) / follow.MICROSECOND)
        waits = [wait for wait in (until_cycle, until_timer) if wait is not None]
        return min(waits) if waits else None

    def _rebuild(self, kind: str) -> None:
        """A new engine from the tables as of one moment; a step of its own kind in the journal."""
        started = self.monotonic()
        self._meter = Meter(self.cluster_id, self.monotonic)
        self.be_patient(REBUILD_SECONDS)
        keeps = self._engine is not None  # and goes on, should the new configuration be of no use
        with without_collecting():
            stored = building.read(
                cluster_id=self.cluster_id,
                epoch=self.epoch,
                build=self._build,
                only_wanted=keeps,
                sharing=self._sharing,
            )
        building.state_tell(
            cluster_id=self.cluster_id, epoch=self.epoch, stored=stored, engine=stored.engine or self._engine
        )
        cluster, engine, changes = stored.cluster, stored.engine, stored.changes
        self._refused_version = cluster.config_version if stored.problem else 0
        self._stands_still = engine is None and not keeps
        if engine is None:
            return
        building.reuse_tell(cluster_id=self.cluster_id, engine=engine)
        now = self._now(clock.now_of(self.cluster_id))
        self._run, self._step = stored.run + 1, 0
        self._digest = START_OF_CHAIN
        self._seq = cluster.seq
        self._rv_seen = stored.rv
        self._config_version = stored.config_version
        beginning = recorded.Beginning(stored.in_flight, stored.attempts)
        with without_collecting():
            effects = recorded.begin(engine, beginning, recorded.RecordedStep(now, changes, 0))
        settle_after(len(changes))
        trim()
        self._keeper.remembered = selectors.remembered(
            cluster_id=self.cluster_id,
            pod_uids=[move.pod_uid for move in effects.moves if isinstance(move, QueueMove)],
            now=now,
        )
        self._engine = engine
        begun_seq = self._seq
        self._commit(kind, effects, now, stored.rv, 0, 0, beginning)
        self._checkpoints = CheckpointTimer(
            begun_seq, 0, self.monotonic() - LEAST_SECONDS_BETWEEN, first_entries=self._seq - begun_seq
        )
        self._tell(kind, effects, (), started)
        took = round(self.monotonic() - started, 3)
        log.info("engine built", cluster=self.cluster_id, kind=kind, objects=len(changes), rv=stored.rv, seconds=took)

    def _build(self, text: str, seed: int, is_mirror: bool) -> Scheduler:
        return build.build(
            config.load_stored(text),
            draws=SeededDraws(seed),
            feature_gates=settings.FEATURE_GATES,
            stopwatch=self.stopwatch,
            connect_extender=lambda extender: extender_http.connect(extender, self.step_time, self.monotonic),
            recorder=self._meter,
            keeper=self._keeper,
            log=attempt_log.engine_log,
            observer=Observer(is_configured=bool(text)) if is_mirror else None,
        )

    def _checkpoint_if_due(self, row: ClusterRow, outcome: StepOutcome) -> float | None:
        """Write the engine down between two steps, now and then; in how many seconds to look again, if at all.

        Between two uploads it only seems idle: whoever comes next would wait.
        """
        assert self._engine is not None and self._checkpoints is not None
        monotonic = self.monotonic()
        if outcome.cycles or outcome.changes:
            self._worked_at = monotonic
        idle = outcome.due_in is None or outcome.due_in > 0
        quiet_in = self._worked_at + QUIET_SECONDS - monotonic

        def is_due(*, idle: bool, wanted: bool) -> bool:
            assert self._checkpoints is not None
            return self._checkpoints.is_due(
                seq=self._seq, step=self._step, monotonic=monotonic, idle=idle, wanted=wanted
            )

        if not is_due(idle=idle and quiet_in <= 0, wanted=row.checkpoint_wanted):
            return quiet_in if idle and is_due(idle=True, wanted=False) else None
        self.be_patient(REBUILD_SECONDS)
        try:
            # Nothing goes on from the engine of a mirror, and to write down a large one takes as much room again.
            dumped = b"" if row.is_mirror else checkpoint.dump(self._engine)
        except Exception:
            # Of a plugin's state, say. The engine itself is none the worse for it.
            log.exception("the engine cannot be written down", cluster=self.cluster_id)
            self._checkpoints = CheckpointTimer(self._seq, self._step, monotonic, REBUILD_SECONDS)
            checkpoint_want(cluster_id=self.cluster_id, wanted=False)
            return None
        checkpoint_store(
            cluster_id=self.cluster_id,
            epoch=self.epoch,
            position=CheckpointPosition(
                run=self._run,
                step=self._step,
                seq=self._seq,
                rv=self._rv_seen,
                config_version=self._config_version,
                at=moment_of(self._last_now),
                digest=self._digest,
            ),
            engine=dumped,
        )
        seconds = self.monotonic() - monotonic
        self._checkpoints = CheckpointTimer(self._seq, self._step, monotonic, seconds)
        log.info("checkpoint", cluster=self.cluster_id, seconds=round(seconds, 3), seq=self._seq)
        return None

    def _commit(
        self,
        kind: str,
        effects: Effects,
        now: int,
        log_to: int,
        cycles: int,
        stepped: int,
        beginning: recorded.Beginning | None = None,
    ) -> None:
        assert self._engine is not None
        due = self._engine.next_due(now)
        rows = adapters.step_rows(
            effects,
            kind=kind,
            seq=self._seq,
            run=self._run,
            step=self._step + 1,
            rv=log_to,
            config_version=self._config_version,
            previous_digest=self._digest,
            now=now,
            remembered=self._keeper.end_step(),
            tried=(beginning and beginning.attempts) or {},
            queued=self._engine.engine.queue.sizes() if kind != StepKind.APPLY or moves_queue(effects) else None,
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
            now=moment_of(now),
            cycles=cycles,
            config_version=self._config_version,
            next_due_at=None if due is None else moment_of(due),
            pace_steps_done=stepped,
            began_from=None if beginning is None else beginning_packed(beginning, settings.FEATURE_GATES),
        )
        started = self.monotonic()
        services.step_commit(position=position, rows=rows, effects=effects, rebuilt=kind != StepKind.APPLY)
        self._commit_seconds = self.monotonic() - started
        self._step += 1
        self._seq = rows.seq_to
        self._rv_seen = log_to
        self._digest = rows.digest

    def _tell(self, kind: str, effects: Effects, changes: Sequence[Change], started: float) -> None:
        """Metrics and log of a step that has been committed."""
        assert self._engine is not None
        patches = len(effects.status_patches)
        if patches:
            api_calls_measure(
                "pod_status_patch", {"success": patches}, self._commit_seconds, cluster_id=self.cluster_id
            )
        self._meter.step_committed(
            self._engine.engine,
            effects,
            changes,
            kind=str(kind),
            epoch=self.epoch,
            seconds=self.monotonic() - started,
        )
        attempt_log.attempts_tell(effects.attempts)


def moves_queue(effects: Effects) -> bool:
    """Whether the step took a pod out of the scheduling queue or put one there."""
    return bool(effects.attempts) or any(isinstance(move, QueueMove) for move in effects.moves)
