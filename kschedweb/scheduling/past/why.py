"""Why an attempt chose its node and not another: what its record says, and what it says when it is made again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kschedweb.common.errors import InvalidError, NotFoundError
from kschedweb.scheduling.past import comparing, journal
from kschedweb.scheduling.past.attempts import attempt_again, attempt_with
from kschedweb.scheduling.past.comparing import Difference
from kschedweb.traces.models import Attempt as AttemptRow
from scheduler_core.errors import TraceError
from scheduler_core.explain import why
from scheduler_core.explain.again import Wanted
from scheduler_core.explain.why import Standing, Why
from scheduler_core.model.effects import Attempt
from scheduler_core.trace import codec
from scheduler_core.trace.matrix import AttemptMatrix

_OF_NODES_THEN = frozenset(Standing) - {Standing.ABSENT, Standing.NONE}


@dataclass(frozen=True, slots=True)
class Told:
    """`difference`: the first thing that came out otherwise than it is stored, or than a weight was said to make it.

    What the attempt made again would have said is then left out.
    """

    why: Why
    difference: Difference | None = None


def node_why(*, cluster_id: int, seq: int, other: str = "", again: bool = True) -> Told:
    """Say why a stored attempt chose its node and not `other`, else not the best of the others.

    With `again` it is made again, for what its record does not say; each change of a weight is tried by making it once
    more. NotFoundError; InvalidError where it chose no node, or this one; with `again` as `attempt_again` raises.
    """
    row = AttemptRow.objects.filter(cluster_id=cluster_id, seq=seq).defer("digest").first()
    if row is None:
        raise NotFoundError("the attempt does not exist", seq=seq)
    if not row.node_name:
        raise InvalidError("the attempt chose no node", seq=seq)
    if other == row.node_name:
        raise InvalidError(f"not: {other} is the node that was chosen", **{"not": other})
    matrix = _matrix(row)
    said = why.why_of(matrix, row.node_name, other)
    if not again or said.standing not in _OF_NODES_THEN:
        return Told(said)
    made = attempt_again(cluster_id=cluster_id, seq=seq, wanted=Wanted(frozenset([said.other])))
    if made.difference is not None or made.observation is None:
        return Told(said, made.difference)
    said = why.with_observed(said, matrix, made.observation)
    if said.standing is not Standing.COMPARED or matrix.score_rows is None:
        return Told(said)
    return _turned(row, matrix, said)


def _turned(row: AttemptRow, matrix: AttemptMatrix, said: Why) -> Told:
    """With the weights that would have turned it, each tried by the engine."""
    assert matrix.score_rows is not None and matrix.feasible is not None
    place, feasible = matrix.node_names.index(said.other), matrix.feasible.tolist()
    turn = why.turn_to(matrix.score_rows, feasible, place)
    without = why.without_which(matrix.score_rows, feasible, place)
    for plugin, weight, outright in _changes(turn, without):
        made = attempt_with(cluster_id=row.cluster_id, seq=row.seq, plugin=plugin, weight=weight)
        best = _best(made)
        if said.other not in best or outright != (len(best) == 1):
            field = f"node with {plugin} at weight {weight}"
            found = Difference(
                row.run, row.step, row.seq, made.pod_key, field, said.other, comparing.text(", ".join(best))
            )
            return Told(said, found)
        if turn is not None and weight:
            turn = replace(turn, node=made.node_name)
    return Told(replace(said, turn=turn, without=without))


def _changes(turn: why.Turn | None, without: tuple[str, ...]) -> Iterator[tuple[str, int, bool]]:
    if turn is not None:
        yield turn.plugin, turn.to, turn.outright
    for plugin in without:
        yield plugin, 0, True


def _best(made: Attempt) -> list[str]:
    """The nodes with the highest total."""
    if made.node_order is None or made.tied is None:
        return []
    return [made.node_order.names[node] for node in made.tied.tolist()]


def _matrix(row: AttemptRow) -> AttemptMatrix:
    if row.matrix is None:
        raise NotFoundError("no matrix is stored of this attempt", seq=row.seq)
    try:
        return codec.decode(bytes(row.matrix), journal.node_names(row.cluster_id, row.node_order))
    except TraceError as error:
        raise NotFoundError(f"the matrix of this attempt cannot be read: {error}", seq=row.seq) from error
