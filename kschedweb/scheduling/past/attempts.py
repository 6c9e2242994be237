"""One attempt made again at its moment, with every value that its record does not keep, beside that record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from kschedweb.common.collector import without_collecting
from kschedweb.common.errors import InvalidError, NotFoundError
from kschedweb.scheduling.past import comparing, journal, moments, stores, walking
from kschedweb.scheduling.past.comparing import Difference
from kschedweb.scheduling.past.errors import HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.journal import Piece, place_of
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.walking import Walker
from kschedweb.traces.models import EngineStep
from scheduler_core.errors import CoreError
from scheduler_core.explain import again, changed, evicted, pending
from scheduler_core.explain.again import Wanted
from scheduler_core.explain.changed import Verdicts
from scheduler_core.explain.evicted import Evicting, Searched
from scheduler_core.explain.pending import Judged
from scheduler_core.model.effects import Attempt, Effects
from scheduler_core.model.observed import Observation
from scheduler_core.scheduler.recorded import RecordedStep
from scheduler_core.scheduler.scheduler import Scheduler

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Again:
    """An attempt made again. `difference`: the first thing that it says otherwise than its record.

    `observation` is None where the attempt ended before its filters had run.
    """

    attempt: Attempt | None
    observation: Observation | None
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class _Before:
    """The engine just before a step, as a copy of its own, and the attempt's place in that step."""

    walker: Walker
    step: EngineStep
    piece: Piece
    place: int


def attempt_again(*, cluster_id: int, seq: int, wanted: Wanted) -> Again:
    """Make a stored attempt again; the database is only read.

    NotFoundError, ClusterGoneError; HistoryCutError where what was before it has been cleared away, NotReplayableError
    where the record does not suffice; InvalidError for a node that was not there.
    """
    before = _before(cluster_id, seq, wanted)
    made, seen, found = _made(before, seq, partial(again.attempt_again, wanted=wanted))
    if made is not None and found is None and seen is not None:
        against = again.contradiction(seen, made)
        found = None if against is None else _difference(before, seq, made.pod_key, *against)
    return Again(made, seen, found)


def attempt_judged(*, cluster_id: int, seq: int, limit: int) -> tuple[Judged | None, Difference | None]:
    """Make a stored attempt again and judge its pod against every node; raises as `attempt_again`."""
    before = _before(cluster_id, seq, Wanted())
    made, judged, found = _made(before, seq, partial(pending.attempt_judged, limit=limit))
    if made is not None and found is None and judged is not None and judged.doubt:
        found = _difference(before, seq, made.pod_key, "nodes", judged.doubt, "")
    return judged, found


def attempt_evicting(*, cluster_id: int, seq: int, searched: Searched) -> tuple[Evicting | None, Difference | None]:
    """Make a stored attempt again and try its candidates for victims once more; raises as `attempt_again`."""
    before = _before(cluster_id, seq, Wanted())
    made, found, apart = _made(before, seq, partial(evicted.evicting_again, searched=searched))
    if made is not None and apart is None and found is not None and found.doubt:
        apart = _difference(before, seq, made.pod_key, "victims", found.doubt, "")
    return found, apart


def attempt_verdicts(*, cluster_id: int, seq: int) -> tuple[Verdicts | None, Difference | None]:
    """Make a stored attempt again, for what its filters say of every node; raises as `attempt_again`."""
    before = _before(cluster_id, seq, Wanted())
    made, found, apart = _made(before, seq, changed.attempt_verdicts)
    if made is not None and apart is None and found is not None:
        recorded = changed.recorded(made)
        doubt = changed.doubtful(found, recorded)
        if doubt:
            apart = _difference(before, seq, made.pod_key, f"verdict on {doubt}", recorded[doubt], found.get(doubt))
    return found, apart


def attempt_with(*, cluster_id: int, seq: int, plugin: str, weight: int) -> Attempt:
    """Make a stored attempt again with another weight of a plugin, 0 for no scores of it; raises as `attempt_again`.

    Of use is only what it says of the node that it chose.
    """
    before = _before(cluster_id, seq, Wanted())
    with without_collecting():
        return again.attempt_with(*before.walker.asked(before.step, before.piece), before.place, plugin, weight)


def _made(
    before: _Before, seq: int, make: Callable[[Scheduler, RecordedStep, int], tuple[Effects, T | None]]
) -> tuple[Attempt | None, T | None, Difference | None]:
    """The attempt, what was seen of it, and the first difference from its record."""
    step, piece, place = before.step, before.piece, before.place
    try:
        with without_collecting():
            effects, seen = make(*before.walker.asked(step, piece), place)
    except CoreError as error:
        return None, None, _difference(before, seq, "", "step", "was made", str(error))
    if len(effects.attempts) <= place:
        return None, None, _difference(before, seq, "", "cycles", place + 1, len(effects.attempts))
    made = effects.attempts[place]
    return made, seen, comparing.attempt_difference(made, seq, step, piece)


def _difference(before: _Before, seq: int, pod: str, field: str, then: object, now: object) -> Difference:
    step = before.step
    return Difference(step.run, step.step, seq, pod, field, comparing.text(then), comparing.text(now))


def _before(cluster_id: int, seq: int, wanted: Wanted) -> _Before:
    store = stores.of(cluster_id)
    with store.reading():
        cluster = journal.ends(cluster_id)
        row = store.attempt(seq)
        if row is None:
            raise NotFoundError("the attempt does not exist", seq=seq)
        if cluster.is_mirror:
            raise NotReplayableError(walking.OF_A_MIRROR)
        _check(cluster_id, row.node_order, wanted)
        step = store.step((row.run, row.step))
        if step is None:
            raise HistoryCutError(*journal.begins(cluster_id))
    walker = moments.engine_at(cluster_id=cluster_id, position=Position(step.log_from, step.seq_from))
    piece = journal.piece_after(cluster_id, walker.place, place_of(step), with_decisions=True)
    if [place_of(each) for each in piece.steps] != [place_of(step)]:
        raise NotReplayableError(f"the engine from before step {step.run}.{step.step} is not kept")
    return _Before(walker, step, piece, row.place)


def _check(cluster_id: int, order: str, wanted: Wanted) -> None:
    """InvalidError for a name that is none of the attempt's node order."""
    there = journal.node_names(cluster_id, order) if wanted.names else ()
    for name in sorted(wanted.names or ()):
        if name not in there:
            raise InvalidError(f"nodes: there was no node {name} at this attempt", nodes=name)
