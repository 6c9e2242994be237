"""An engine that holds no lease and is led through recorded steps: from a checkpoint, or from the first of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson
import zstandard
from django.conf import settings

from kschedweb.cluster.models import Cluster
from kschedweb.common import packing
from kschedweb.common.collector import without_collecting
from kschedweb.scheduling.beginnings import beginning_of
from kschedweb.scheduling.past import journal, stores
from kschedweb.scheduling.past.errors import DamagedError, HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.journal import Piece, place_of
from kschedweb.scheduling.past.objects import objects_at
from kschedweb.scheduling.past.stores import Place
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import Checkpoint, EngineStep
from scheduler_core import build, config
from scheduler_core.errors import CheckpointError, ConfigError, CoreError
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler import checkpoint, recorded
from scheduler_core.scheduler.recorded import Beginning, RecordedAnswers, RecordedDraws, RecordedStep
from scheduler_core.scheduler.scheduler import Scheduler

START: Place = (0, 0)
OF_A_MIRROR = "a mirror decides nothing: what its engine compares is not made again"


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Says of which attempts of a step amounts are made again: of those that have a row of their own."""

    stored: frozenset[tuple[str, int]]  # (uid, number)

    def keeps(self, attempt: Attempt) -> bool:
        return (attempt.pod_uid, attempt.attempt) in self.stored


@dataclass(slots=True)
class Walker:
    """The engine of a cluster after one of its steps; `digest`: of that step, None where it is not known.

    `engine` is None before a run's first step.
    """

    cluster: Cluster
    place: Place = START
    rv: int = 0
    seq: int = 0
    now: int = 0
    digest: bytes | None = None
    engine: Scheduler | None = None
    config_version: int = 0
    gates: dict[str, bool] | None = None  # feature gates the engine was built with, where that is kept
    answers: RecordedAnswers = field(default_factory=RecordedAnswers)
    draws: RecordedDraws = field(init=False)

    def __post_init__(self) -> None:
        self.draws = RecordedDraws(SeededDraws(self.cluster.seed))

    def copy(self) -> Walker:
        """One with an engine of its own, which may be led elsewhere. NotReplayableError before a run's first step."""
        if self.engine is None:
            raise NotReplayableError(f"no engine is known from step {self.place[0]}.{self.place[1]}")
        copied = Walker(self.cluster, self.place, self.rv, self.seq, self.now, self.digest)
        with without_collecting():
            state = checkpoint.dump(self.engine)
            copied.engine = copied._build(self.config_version, self.gates, state)
        return copied

    def asked(self, step: EngineStep, piece: Piece) -> tuple[Scheduler, RecordedStep]:
        """The engine and what the step gives it, for who makes it again in another way than `take`."""
        follows = (step.run, step.step - 1), step.log_from, step.seq_from
        if self.engine is None or (self.place, self.rv, self.seq) != follows:
            raise NotReplayableError(f"no engine is known from before step {step.run}.{step.step}")
        self.answers.put(piece.exchanges.get(place_of(step), ()))
        with _naming(step, "draws"):
            self.draws.put(packing.unpacked(step.draws) if step.draws is not None else ())
        # Amounts decide nothing: they are worked out where there is a record to compare them with.
        self.engine.engine.keeper = _Recorded(piece.stored(step))
        return self.engine, RecordedStep(step.now_us, piece.changes[place_of(step)], step.cycles)

    def take(self, step: EngineStep, piece: Piece) -> Effects:
        """Make a step again, as its piece has it. NotReplayableError; UnansweredError when it goes another way.

        After an error the engine is none that there was.
        """
        effects = self._begin(step) if step.kind != StepKind.APPLY else recorded.repeat(*self.asked(step, piece))
        self.place, self.rv, self.seq = place_of(step), step.log_to, step.seq_to
        self.now, self.digest = step.now_us, bytes(step.digest)
        return effects

    def _begin(self, step: EngineStep) -> Effects:
        """The first step of a run: an engine of what was stored then."""
        beginning, gates = _beginning(step)
        with without_collecting():
            self.engine = self._build(step.config_version, gates)
            changes = objects_at(self.cluster.pk, step.log_to).puts()
            return recorded.begin(self.engine, beginning, RecordedStep(step.now_us, changes, 0))

    def load(self, row: Checkpoint) -> None:
        """Go on from a checkpoint; NotReplayableError when this version cannot read it, DamagedError when none can."""
        state = state_of(row)
        try:
            with without_collecting():
                self.engine = self._build(row.config_version, row.gates, state)
        except CheckpointError as error:
            raise NotReplayableError(
                f"the checkpoint of step {row.run}.{row.step} is one of another version of the engine: {error}"
            ) from None
        self.place, self.rv, self.seq = place_of(row), row.rv, row.seq
        self.now, self.digest = self.engine.engine.now, bytes(row.digest) or None

    def _build(self, version: int, gates: dict[str, bool] | None, state: bytes | None = None) -> Scheduler:
        found = journal.configuration(self.cluster.pk, version)
        if not found.is_replayable:
            raise NotReplayableError(
                f"version {version} of the configuration has a plugin that may not decide alike twice"
            )
        self.config_version, self.gates = version, gates
        try:
            return build.build(
                config.load_stored(found.text),
                draws=self.draws,
                feature_gates=settings.FEATURE_GATES if gates is None else gates,
                connect_extender=self.answers.connect,
                state=state,
            )
        except ConfigError as error:
            raise NotReplayableError(
                f"version {version} of the configuration cannot be used any more: {error}"
            ) from None


def state_of(row: Checkpoint) -> bytes:
    """The engine as the checkpoint has it; DamagedError."""
    try:
        return zstandard.ZstdDecompressor().decompress(bytes(row.engine), allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise DamagedError(f"the checkpoint of step {row.run}.{row.step} is damaged: {error}") from error


@contextmanager
def _naming(step: EngineStep, column: str) -> Iterator[None]:
    """DamagedError where what the step keeps in a column cannot be read."""
    try:
        yield
    except (zstandard.ZstdError, orjson.JSONDecodeError) as error:
        raise DamagedError(f"{column} of step {step.run}.{step.step} is damaged: {error}") from error


def _beginning(step: EngineStep) -> tuple[Beginning, dict[str, bool] | None]:
    """What the first engine of all was made of is known without being kept."""
    if step.began_from is not None:
        with _naming(step, "began_from"):
            return beginning_of(step.began_from)
    if step.run == 1 and step.seq_from == 0:
        return Beginning(), None
    raise NotReplayableError(
        f"what the engine of run {step.run} was made of is not kept: it was made by an earlier release"
    )


def bare_engine(cluster: Cluster, version: int) -> Scheduler:
    """An engine of a version of the configuration that knows no objects yet; NotReplayableError.

    It has the feature gates of this service, and extenders that never answer.
    """
    with without_collecting():
        return Walker(cluster)._build(version, None)


def start_before(cluster: Cluster, target: Place) -> Walker:
    """The walker from which the fewest steps lead to a step; NotReplayableError, HistoryCutError, ClusterGoneError."""
    if cluster.is_mirror:
        raise NotReplayableError(OF_A_MIRROR)
    walker = Walker(cluster)
    store = stores.of(cluster.pk)
    with store.reading():
        written = store.checkpoint_before(target)
        first = store.first_step(target)
    if first is not None and (written is None or place_of(written) < place_of(first)):
        walker.place = (first.run, first.step - 1)
        walker.seq = first.seq_from
        return walker
    if written is None:
        raise HistoryCutError(*journal.begins(cluster.pk))
    walker.load(written)
    return walker


def walk(walker: Walker, target: Place) -> None:
    """Lead the engine on to a step.

    HistoryCutError where steps on the way have been cleared away meanwhile; NotReplayableError, also where one goes
    another way than it went.
    """
    while walker.place < target:
        with without_collecting():
            piece = journal.piece_after(walker.cluster.pk, walker.place, target, with_decisions=False)
            for step in piece.steps:
                try:
                    walker.take(step, piece)
                except CoreError as error:
                    raise NotReplayableError(
                        f"step {step.run}.{step.step} does not go as it is recorded: {error}"
                    ) from error
        if not piece.steps:
            raise HistoryCutError(*journal.begins(walker.cluster.pk))
