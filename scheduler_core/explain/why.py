"""Why this node and not that one: what an attempt says of two nodes, and which weight would have turned it.

Of the attempt's matrix, stored or just made; nodes it never looked at need the attempt observed (`again.observed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from scheduler_core.framework.answers import Int64Array
from scheduler_core.model.amounts import Amounts
from scheduler_core.model.effects import ScoreRows
from scheduler_core.model.observed import Observation
from scheduler_core.model.status import Status
from scheduler_core.trace.matrix import AttemptMatrix

MOST_WEIGHT = 100  # that is tried, or the present one where that is higher


class By(StrEnum):
    """What decided for the chosen node."""

    TOTAL = "total"  # it alone had the highest
    DRAW = "draw"  # among those with the highest
    ONLY = "only"  # no other was feasible
    FIRST = "first"  # nobody scores: the first feasible one is taken
    NOMINATED = "nominated"  # it was tried first and fitted


class Standing(StrEnum):
    """What became of the other node."""

    COMPARED = "compared"  # feasible as well
    REFUSED = "refused"  # by a filter or an extender
    LEFT_OUT = "leftOut"  # a plugin's PreFilter named the nodes that may have the pod, and not this one
    SPARE = "spare"  # it fitted, and enough feasible nodes had been found
    UNSEEN = "unseen"  # the walk never came to it
    ABSENT = "absent"  # no node of then
    NONE = "none"  # there was no other


@dataclass(frozen=True, slots=True)
class PluginPart:
    """A plugin's normalized scores of both nodes, 0 to 100, and its weight."""

    plugin: str
    weight: int
    node: int
    other: int

    @property
    def difference(self) -> int:
        """How much more the chosen node got, weighted."""
        return self.weight * (self.node - self.other)


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of both nodes and what their difference is made of.

    `plugins`: those that tell the two apart, the largest part first; `by_extenders`: the rest of the difference;
    `best`: the highest total of all nodes that were scored, and `num_best` nodes have it. `of_all`: every node was
    scored that the pod fits on, without extenders, not only those the attempt compared.
    """

    node: int
    other: int
    plugins: tuple[PluginPart, ...]
    by_extenders: int
    best: int
    num_best: int
    of_all: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """The smallest change of one plugin's weight with which the other node has the highest total.

    `outright`: it alone; else it shares it. `node`: whom the engine then chose; empty while it was not asked.
    """

    plugin: str
    weight: int
    to: int
    outright: bool
    node: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """Why `node` and not `other`, which is empty where there was no other node.

    `tied`: nodes with the highest total, 0 where none were compared; `drawn`: which of them the draw fell on, from 1, 0
    without a draw. `status`: what kept the pod from the other node, None where nothing did or it is not known;
    `amounts`: what that asked and what there was. `is_observed`: the attempt was made again, so that of a node it never
    looked at `status` and `totals` are known as well. `turn` and `without` (plugins that would have turned it had they
    not scored) are then known of a node that was compared.
    """

    node: str
    other: str
    by: By
    tied: int
    drawn: int
    feasible: int
    looked_at: int
    nodes_total: int
    standing: Standing
    status: Status | None = None
    amounts: tuple[Amounts, ...] | None = None
    totals: Totals | None = None
    is_observed: bool = False
    turn: Turn | None = None
    without: tuple[str, ...] = ()


def why_of(matrix: AttemptMatrix, node: str, other: str = "") -> Why:
    """What the attempt itself says; without `other` of the best of the other nodes."""
    names, feasible = matrix.node_names, _feasible(matrix)
    chosen = names.index(node)
    other = other or _next_best(matrix, chosen)
    standing, status = _standing(matrix, other)
    scores, totals, tied = matrix.score_rows, None, _tied(matrix)
    if standing is Standing.COMPARED and scores is not None:
        totals = _totals(scores, feasible, chosen, names.index(other), of_all=False)
    return Why(
        node=node,
        other=other,
        by=_decided_by(matrix, node, len(tied)),
        tied=len(tied),
        drawn=tied.index(chosen) + 1 if len(tied) > 1 else 0,
        feasible=len(feasible),
        looked_at=matrix.num_rows(),
        nodes_total=len(names),
        standing=standing,
        status=status,
        totals=totals,
    )


def with_observed(why: Why, matrix: AttemptMatrix, seen: Observation) -> Why:
    """The same with what the attempt made again, this node observed, says beyond its record."""
    place = matrix.node_names.index(why.other)
    status, told, totals = seen.statuses[place], {each.place: each for each in seen.nodes}, why.totals
    is_scored = seen.all_scores is not None and status.is_success
    chosen = matrix.node_names.index(why.node)
    if totals is None and is_scored and chosen in seen.fitting:
        assert seen.all_scores is not None
        totals = _totals(seen.all_scores, seen.fitting, chosen, place, of_all=True)
    return replace(
        why,
        status=None if status.is_success else status,
        amounts=told[place].amounts if place in told else None,
        totals=totals,
        is_observed=True,
    )


def turn_to(scores: ScoreRows, feasible: Sequence[int], other: int) -> Turn | None:
    """The smallest change of one weight, within 1..MOST_WEIGHT, that gives the node at `other` the highest total.

    One that gives it to this node alone is preferred to any that lets it share. Of equal ones the first plugin's.
    """
    for outright in (True, False):
        turns = list(_turns(scores, feasible.index(other), outright))
        if turns:
            return min(turns, key=lambda turn: abs(turn.to - turn.weight))
    return None


def without_which(scores: ScoreRows, feasible: Sequence[int], other: int) -> tuple[str, ...]:
    """The plugins without whose scores the node at `other` alone would have had the highest total."""
    column, found = feasible.index(other), []
    for line, (plugin, weight) in enumerate(scores.plugins):
        totals = scores.totals - weight * scores.normalized[line]
        if (np.delete(totals, column) < totals[column]).all():
            found.append(plugin)
    return tuple(found)


def _turns(scores: ScoreRows, column: int, outright: bool) -> Iterator[Turn]:
    """Of each plugin the nearest weight that does it, where there is one.

    Totals are linear in a weight: with `change` more of it the node is ahead of another by `ahead + change * gains`.
    """
    least = int(outright)
    ahead = _over_others(scores.totals, column) - least
    for line, (plugin, weight) in enumerate(scores.plugins):
        gains = _over_others(scores.normalized[line], column)
        if (ahead[gains == 0] < 0).any():
            continue
        up, down = gains > 0, gains < 0
        # Both round towards where the inequality holds: // floors.
        lowest = max([1 - weight, *(-(ahead[up] // gains[up])).tolist()])
        highest = min([max(MOST_WEIGHT, weight) - weight, *(ahead[down] // -gains[down]).tolist()])
        change = lowest if lowest > 0 else min(highest, 0)
        if change and lowest <= change <= highest:
            yield Turn(plugin, weight, weight + change, outright)


def _over_others(values: Int64Array, column: int) -> Int64Array:
    """How much more the column has than each of the others."""
    return np.delete(values[column] - values, column)


def _totals(scores: ScoreRows, nodes: Sequence[int], chosen: int, other: int, *, of_all: bool) -> Totals:
    left, right = nodes.index(chosen), nodes.index(other)
    parts = [
        PluginPart(plugin, weight, int(scores.normalized[line, left]), int(scores.normalized[line, right]))
        for line, (plugin, weight) in enumerate(scores.plugins)
    ]
    node, best = int(scores.totals[left]), int(scores.totals.max())
    return Totals(
        node=node,
        other=int(scores.totals[right]),
        plugins=tuple(sorted((part for part in parts if part.difference), key=lambda part: -abs(part.difference))),
        by_extenders=node - int(scores.totals[right]) - sum(part.difference for part in parts),
        best=best,
        num_best=int((scores.totals == best).sum()),
        of_all=of_all,
    )


def _decided_by(matrix: AttemptMatrix, node: str, tied: int) -> By:
    tried, named = matrix.nominated, matrix.pre_filter_node_names
    if tried is not None and tried.fits and tried.node_name == node:
        return By.NOMINATED
    if len(_feasible(matrix)) > 1:
        return By.DRAW if tied > 1 else By.TOTAL
    candidates = len(matrix.node_names if named is None else named)
    return By.FIRST if matrix.num_nodes_to_find == 1 < candidates else By.ONLY


def _standing(matrix: AttemptMatrix, other: str) -> tuple[Standing, Status | None]:
    if not other:
        return Standing.NONE, None
    if other not in matrix.node_names:
        return Standing.ABSENT, None
    place = matrix.node_names.index(other)
    if place in _feasible(matrix):
        return Standing.COMPARED, None
    rows = matrix.filter_rows
    if rows is not None and place in rows.nodes:
        code = int(rows.codes[rows.nodes == place][0])
        return (Standing.REFUSED, rows.statuses[code - 1]) if code else (Standing.SPARE, None)
    tried = matrix.nominated
    if tried is not None and tried.node_name == other:
        return Standing.REFUSED, tried.status
    named = matrix.pre_filter_node_names
    return (Standing.LEFT_OUT if named is not None and other not in named else Standing.UNSEEN), None


def _next_best(matrix: AttemptMatrix, chosen: int) -> str:
    """Of the others the one with the highest total, else the first looked at, else the first there is."""
    feasible, scores = _feasible(matrix), matrix.score_rows
    others = [node for node in feasible if node != chosen]
    if others and scores is not None:
        others = sorted(others, key=lambda node: -int(scores.totals[feasible.index(node)]))
    walked = matrix.filter_rows.nodes.tolist() if matrix.filter_rows is not None else []
    order = (*others, *walked, *range(len(matrix.node_names)))
    return next((matrix.node_names[node] for node in order if node != chosen), "")


def _tied(matrix: AttemptMatrix) -> list[int]:
    """The nodes with the highest total; attempts of earlier releases keep them in their totals alone."""
    scores = matrix.score_rows
    if matrix.tied is not None:
        return [int(node) for node in matrix.tied]
    if scores is None or matrix.feasible is None:
        return []
    return [int(node) for node in matrix.feasible[scores.totals == scores.totals.max()]]


def _feasible(matrix: AttemptMatrix) -> list[int]:
    return matrix.feasible.tolist() if matrix.feasible is not None else []
