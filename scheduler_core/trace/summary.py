"""What an attempt's row tells without opening its matrix: rejections counted, best nodes, how many were looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scheduler_core.model.amounts import Amounts
from scheduler_core.model.effects import Attempt, PostFilterRecord
from scheduler_core.model.status import Status

BEST_NODES = 5
VICTIMS_TOLD = 20


@dataclass(slots=True)
class Rejection:
    """One reason a plugin gave, and how many nodes it kept out; a node refused for two reasons counts for both.

    `amounts`: what was asked of these nodes and what there was, where that was kept.
    """

    plugin: str
    reason: str
    code: str
    count: int
    amounts: Sequence[Amounts] = ()


@dataclass(slots=True)
class BestNode:
    """A feasible node; `total` and `scores` (weighted, by plugin) are empty where nothing was scored."""

    node_name: str
    total: int | None
    scores: dict[str, int]


@dataclass(frozen=True, slots=True)
class PreemptionSummary:
    """A search for victims: how many nodes were tried and would do, and what was chosen (empty: nothing).

    At most VICTIMS_TOLD victims are named; `num_victims` counts all. `decided_by`: the criterion that left one of the
    candidates, empty where there was one, or equals.
    """

    tried: int
    candidates: int
    tied: int
    node_name: str
    victims: tuple[str, ...]
    num_victims: int
    num_pdb_violations: int
    cleared_nominations: tuple[str, ...]
    decided_by: str = ""


@dataclass(slots=True)
class AttemptSummary:
    """`evaluated` and `feasible` are numbers of nodes; rejections come most frequent first.

    `tied`: how many nodes had the highest total, the chosen one among them; None where no totals were compared.
    """

    evaluated: int
    feasible: int
    rejections: tuple[Rejection, ...]
    best: tuple[BestNode, ...]
    preemption: PreemptionSummary | None = None
    tied: int | None = None


def summarize(attempt: Attempt) -> AttemptSummary:
    """The summary of one attempt."""
    return AttemptSummary(
        evaluated=attempt.evaluated_nodes,
        feasible=len(attempt.feasible) if attempt.feasible is not None else 0,
        rejections=_rejections(attempt),
        best=_best(attempt),
        preemption=_preemption(attempt.post_filter),
        tied=len(attempt.tied) if attempt.tied is not None else None,
    )


def _rejections(attempt: Attempt) -> tuple[Rejection, ...]:
    counted: dict[tuple[str, str, str], int] = {}
    n_nodes = len(attempt.node_order.names) if attempt.node_order is not None else 0
    if attempt.pre_filter_status is not None and not attempt.pre_filter_status.is_success:
        # Refused before any node was looked at: that is every node.
        _count(counted, attempt.pre_filter_status, n_nodes)
    rows = attempt.filter_rows
    if rows is not None:
        for code, count in enumerate(np.bincount(rows.codes, minlength=1).tolist()):
            if code and count:
                _count(counted, rows.statuses[code - 1], count)
    elif attempt.nominated is not None and attempt.nominated.status is not None and not attempt.nominated.fits:
        _count(counted, attempt.nominated.status, 1)
    rejections = [Rejection(*what, count, attempt.amounts.get(what, ())) for what, count in counted.items()]
    return tuple(sorted(rejections, key=lambda r: (-r.count, r.plugin, r.reason)))


def _preemption(record: PostFilterRecord | None) -> PreemptionSummary | None:
    """None where no victims were looked for."""
    found = record.preemption if record is not None else None
    if found is None or not found.dry_run:
        return None
    chosen = next((each for each in found.candidates if each.node_name == found.chosen), None)
    return PreemptionSummary(
        tried=len(found.candidates) + len(found.not_candidates),
        candidates=len(found.candidates),
        tied=len(found.tied),
        node_name=found.chosen,
        victims=found.victims[:VICTIMS_TOLD],
        num_victims=len(found.victims),
        num_pdb_violations=chosen.num_pdb_violations if chosen is not None else 0,
        cleared_nominations=found.cleared_nominations[:VICTIMS_TOLD],
        decided_by=found.decided_by,
    )


def _count(counted: dict[tuple[str, str, str], int], status: Status, nodes: int) -> None:
    if status.is_success or status.is_skip:
        return
    for reason in status.reasons or ("",):
        what = (status.plugin, reason, status.code.name)
        counted[what] = counted.get(what, 0) + nodes


def _best(attempt: Attempt) -> tuple[BestNode, ...]:
    """At most five, best first; equals in the order found, with the chosen node in front of them."""
    if attempt.node_order is None or attempt.feasible is None or not len(attempt.feasible):
        return ()
    names, feasible, scored = attempt.node_order.names, attempt.feasible, attempt.score_rows
    if scored is None:
        return tuple(BestNode(names[node], None, {}) for node in feasible[:BEST_NODES].tolist())
    places = _best_places(scored.totals)
    # The draw may have picked an equal that stands far behind the first five.
    chosen = _place_of(attempt.node_name, names, feasible)
    if chosen is not None and scored.totals[chosen] == scored.totals[places[0]]:
        places = [chosen, *(place for place in places if place != chosen)]
    places = places[:BEST_NODES]
    plugins = [plugin for plugin, _ in scored.plugins]
    weights = [weight for _, weight in scored.plugins]
    return tuple(
        BestNode(
            names[node],
            total,
            {plugin: score * weight for plugin, score, weight in zip(plugins, scores, weights, strict=True)},
        )
        for node, total, scores in zip(
            feasible[places].tolist(),
            scored.totals[places].tolist(),
            scored.normalized[:, places].T.tolist(),
            strict=True,
        )
    )


def _best_places(totals: npt.NDArray[np.int64]) -> list[int]:
    """The places of the highest totals, as many as are told and one more; equals in their order."""
    wanted = BEST_NODES + 1
    equals = np.flatnonzero(totals == np.maximum.reduce(totals))
    if len(equals) >= wanted:
        return equals[:wanted].tolist()  # type: ignore[no-any-return]
    n = len(totals)
    # One number orders by total, then by place; to search the few is quicker than to sort all.
    ranks = totals * n - np.arange(n)
    few = np.argpartition(ranks, n - wanted)[n - wanted :] if n > wanted else np.arange(n)
    return few[np.argsort(-ranks[few])].tolist()  # type: ignore[no-any-return]


def _place_of(node_name: str, names: tuple[str, ...], feasible: npt.NDArray[np.int32]) -> int | None:
    """Where the node stands among the feasible ones."""
    node = _nodes_of.get(names).get(node_name)
    if node is None:
        return None
    places = np.flatnonzero(feasible == node)
    return int(places[0]) if len(places) else None


class _LastIndex:
    """Nodes by name, of the order asked for last: the attempts of an unchanged cluster share one."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._nodes: dict[str, int] = {}

    def get(self, names: tuple[str, ...]) -> dict[str, int]:
        if self._names is not names:
            self._nodes = {name: node for node, name in enumerate(names)}
            self._names = names
        return self._nodes


_nodes_of = _LastIndex()
