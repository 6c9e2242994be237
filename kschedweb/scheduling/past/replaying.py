"""Recorded steps made again and compared with their record, a little at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kschedweb.cluster.models import Cluster
from kschedweb.common.collector import without_collecting
from kschedweb.scheduling.past import journal, moments, stores, walking
from kschedweb.scheduling.past.comparing import Difference, difference
from kschedweb.scheduling.past.errors import DamagedError, HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.journal import Piece, place_of
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.stores import Place
from kschedweb.scheduling.past.walking import START, Walker
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import EngineStep
from scheduler_core.errors import CoreError
from scheduler_core.trace.digest import START_OF_CHAIN


@dataclass(slots=True)
class Replay:
    """Steps of a cluster, made again up to `place`, of those up to `until`.

    `cycles` were identical; `unproven` cycles could not be made again, the last time for `reason`.
    """

    cluster: Cluster
    until: Place
    walker: Walker | None
    place: Place = START
    cycles: int = 0
    unproven: int = 0
    reason: str = ""
    difference: Difference | None = None
    on_step: Callable[[Walker], None] = field(default=lambda _: None)  # after each that is identical

    @property
    def is_over(self) -> bool:
        return self.difference is not None or self.place >= self.until

    def go(self, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Go on to the end or the first difference; at least one step, until it is enough. ClusterGoneError."""
        while not self.is_over:
            with without_collecting():
                self._go_on(is_enough)
            if is_enough():
                return

    def pass_over(self, reason: str) -> None:
        """Go on where the next engine is known; what lies between stays unproven."""
        last = self.place
        self.walker, damaged = start_after(self.cluster, last, self.until)
        self.reason = damaged or reason
        self.place = self.until if self.walker is None else self.walker.place
        self.unproven += stores.of(self.cluster.pk).cycles_between(last, self.place)

    def _go_on(self, is_enough: Callable[[], bool]) -> None:
        """The next piece, or as much of it as can be, and until it is enough."""
        try:
            piece = journal.piece_after(self.cluster.pk, self._next, self.until, with_decisions=True)
        except (HistoryCutError, NotReplayableError) as error:
            self.pass_over(error.message)
            return
        if not piece.steps:
            self.place = self.until
        for step in piece.steps:
            if not self._take(step, piece) or is_enough():
                return

    @property
    def _next(self) -> Place:
        """After which the next step is: what stands before a run's first one is no step."""
        return self.place if self.walker is None else max(self.place, self.walker.place)

    def _take(self, step: EngineStep, piece: Piece) -> bool:
        """Make one step again; whether the next one of the piece can follow."""
        if self.walker is None:
            self.walker = Walker(self.cluster, (step.run, step.step - 1))
        walker = self.walker
        if walker.engine is not None and step.kind == StepKind.APPLY:
            expected = walker.place[0], walker.place[1] + 1
            if place_of(step) != expected or step.log_from != walker.rv or step.seq_from != walker.seq:
                begins = journal.begins(self.cluster.pk)
                if walker.rv < begins[0] or walker.seq < begins[1]:
                    self.pass_over(HistoryCutError(*begins).message)
                    return False
                follows = f"step {expected[0]}.{expected[1]} from {walker.rv}.{walker.seq}"
                found = f"step {step.run}.{step.step} from {step.log_from}.{step.seq_from}"
                self.difference = Difference(step.run, step.step, step.seq_from, "", "step", found, follows)
                return False
        before = walker.digest if step.kind == StepKind.APPLY else START_OF_CHAIN
        try:
            effects = walker.take(step, piece)
        except (HistoryCutError, NotReplayableError) as error:
            self.pass_over(error.message)
            return False
        except CoreError as error:
            self.difference = Difference(step.run, step.step, step.seq_from, "", "step", "was made", str(error))
            return False
        assert walker.engine is not None
        try:
            self.difference = difference(step, piece, effects, walker.engine, before)
        except NotReplayableError as error:
            self.pass_over(error.message)
            return False
        if self.difference is not None:
            return False
        self.place = place_of(step)
        self.cycles += step.cycles
        self.on_step(walker)
        return True


def start_after(cluster: Cluster, place: Place, until: Place) -> tuple[Walker | None, str]:
    """An engine from the first checkpoint, or the first step of a run, after a place; None where there is none.

    With it what is said of a checkpoint that is damaged and was passed over, if there is one.
    """
    damaged = ""
    if cluster.is_mirror:
        return None, damaged
    store, run = stores.of(cluster.pk), place[0]
    row = store.checkpoint_after(place)
    while row is not None:
        first = store.first_step(place_of(row), after=run)
        if first is not None:
            break
        if place_of(row) > until:
            return None, damaged
        walker = Walker(cluster)
        try:
            walker.load(row)
        except NotReplayableError as error:
            damaged = error.message if isinstance(error, DamagedError) else damaged
            row = store.checkpoint_after(place_of(row))
            continue
        return walker, damaged
    first = store.first_step(until, after=run)
    return None if first is None else Walker(cluster, (first.run, first.step - 1), seq=first.seq_from), damaged


def replay_of(cluster_id: int, first: Position | None = None, last: Position | None = None) -> Replay:
    """All steps that are stored, or those after a position, or up to one, ready to be made again.

    ClusterGoneError; HistoryCutError, FutureError, NotReplayableError as of a moment.
    """
    cluster = journal.ends(cluster_id)
    if cluster.is_mirror:
        raise NotReplayableError(walking.OF_A_MIRROR)
    until = moments.step_at(cluster, last or Position(cluster.rv, cluster.seq)) or START
    if first is not None and (target := moments.step_at(cluster, first)) is not None:
        walker = walking.start_before(cluster, target)
        walking.walk(walker, target)
        return Replay(cluster, until, walker, walker.place)
    return oldest(cluster, until)


def oldest(cluster: Cluster, until: Place) -> Replay:
    """From where history begins: with the first step of all, or at the oldest checkpoint that can be read."""
    if journal.begins(cluster.pk) == (0, 0):
        return Replay(cluster, until, None, START)
    walker, damaged = start_after(cluster, START, until)
    return Replay(cluster, until, walker, START if walker is None else walker.place, reason=damaged)
