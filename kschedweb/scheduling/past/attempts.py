"""One attempt made again at its moment, with every value that its record does not keep, beside that record."""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.common.errors import InvalidError, NotFoundError
from kschedweb.scheduling.past import comparing, journal, moments, stores, walking
from kschedweb.scheduling.past.comparing import Difference
from kschedweb.scheduling.past.errors import HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.journal import Piece, place_of
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.walking import Walker
from kschedweb.traces.models import EngineStep
from scheduler_core.errors import CoreError
from scheduler_core.explain import again
from scheduler_core.explain.again import Wanted
from scheduler_core.model.effects import Attempt
from scheduler_core.model.observed import Observation


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
    step, piece, place = before.step, before.piece, before.place
    try:
        with walking.without_collecting():
            effects, observation = again.attempt_again(*before.walker.asked(step, piece), place, wanted)
    except CoreError as error:
        other = Difference(step.run, step.step, seq, "", "step", "was made", str(error))
        return Again(None, None, other)
    if len(effects.attempts) <= place:
        other = Difference(step.run, step.step, seq, "", "cycles", str(place + 1), str(len(effects.attempts)))
        return Again(None, None, other)
    made = effects.attempts[place]
    found = comparing.attempt_difference(made, seq, step, piece)
    if found is None and observation is not None and (against := again.contradiction(observation, made)) is not None:
        field, then, now = against
        found = Difference(step.run, step.step, seq, made.pod_key, field, comparing.text(then), comparing.text(now))
    return Again(made, observation, found)


def attempt_with(*, cluster_id: int, seq: int, plugin: str, weight: int) -> Attempt:
    """Make a stored attempt again with another weight of a plugin, 0 for no scores of it; raises as `attempt_again`.

    Of use is only what it says of the node that it chose.
    """
    before = _before(cluster_id, seq, Wanted())
    with walking.without_collecting():
        return again.attempt_with(*before.walker.asked(before.step, before.piece), before.place, plugin, weight)


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
