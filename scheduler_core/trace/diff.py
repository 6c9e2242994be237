"""Where two attempts part: the first difference in the order in which a cycle runs.

`where` names the part, down to the node or (plugin, node) it is about. Attempt numbers, uids
and times are no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler_core.model.effects import Attempt, PreemptionRecord, ScoreRows
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.trace.digest import status_fields


@dataclass(frozen=True, slots=True)
class Divergence:
    """`left` and `right` are plain values: texts, numbers, tuples, or None for absent."""

    where: str
    left: object
    right: object


def first_divergence(left: Attempt, right: Attempt) -> Divergence | None:
    """The first difference, or None when both found and decided the same."""
    for where, read in _BEFORE_FILTER:
        if read(left) != read(right):
            return Divergence(where, read(left), read(right))
    if _names(left) != _names(right):
        return _first_of("node order", _names(left), _names(right))
    found = _filter_divergence(left, right) or _score_divergence(left, right)
    if found is not None:
        return found
    for where, read in _AFTER_SCORE:
        if read(left) != read(right):
            return Divergence(where, read(left), read(right))
    return None


def _nominated(attempt: Attempt) -> object:
    tried = attempt.nominated
    return None if tried is None else (tried.node_name, tried.fits, status_fields(tried.status), tried.error)


def _post_filter(attempt: Attempt) -> object:
    record = attempt.post_filter
    return None if record is None else (record.code, record.plugin, record.message, record.nominated_node_name)


def _preemption(read: Callable[[PreemptionRecord], object]) -> Callable[[Attempt], object]:
    """One thing of the search for victims; None where there was no search."""

    def read_of(attempt: Attempt) -> object:
        record = attempt.post_filter.preemption if attempt.post_filter is not None else None
        return None if record is None else read(record)

    return read_of


_BEFORE_FILTER: tuple[tuple[str, Callable[[Attempt], object]], ...] = (
    ("pod", lambda a: a.pod_key),
    ("profile", lambda a: a.profile),
    ("pre filter status", lambda a: status_fields(a.pre_filter_status)),
    ("pre filter nodes", lambda a: None if a.pre_filter_node_names is None else sorted(a.pre_filter_node_names)),
    ("skipped filters", lambda a: sorted(a.skip_filter_plugins)),
    ("nominated node", _nominated),
    ("nodes to find", lambda a: a.num_nodes_to_find),
    ("start index", lambda a: a.start_index),
)

_AFTER_SCORE: tuple[tuple[str, Callable[[Attempt], object]], ...] = (
    ("evaluated nodes", lambda a: a.evaluated_nodes),
    ("end index", lambda a: a.end_index),
    ("potential nodes of preemption", _preemption(lambda r: (r.potential_nodes, r.offset, r.num_candidates))),
    ("nodes tried in vain", _preemption(lambda r: [(name, status_fields(s)) for name, s in r.not_candidates])),
    (
        "candidates",
        _preemption(lambda r: [(c.node_name, c.victims, c.num_pdb_violations) for c in r.candidates]),
    ),
    ("victims", _preemption(lambda r: (r.tied, r.chosen, r.victims))),
    ("cleared nominations", _preemption(lambda r: r.cleared_nominations)),
    ("post filter", _post_filter),
    ("nomination", lambda a: a.nominated_node_name),
    ("result", lambda a: a.result),
    ("node", lambda a: a.node_name),
    ("message", lambda a: a.message),
    ("blamed plugins", lambda a: sorted(a.unschedulable_plugins)),
    ("pending plugins", lambda a: sorted(a.pending_plugins)),
    ("requeued to", lambda a: a.requeued_to),
)


def _names(attempt: Attempt) -> tuple[str, ...]:
    return attempt.node_order.names if attempt.node_order is not None else ()


def _first_of(where: str, left: tuple[object, ...], right: tuple[object, ...]) -> Divergence | None:
    """The first place at which two lists differ."""
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return Divergence(f"{where} [{place}]", one, other)
    if len(left) != len(right):
        return Divergence(f"{where}: length", len(left), len(right))
    return None


def _filter_divergence(left: Attempt, right: Attempt) -> Divergence | None:
    ours, theirs = left.filter_rows, right.filter_rows
    if ours is None or theirs is None:
        return None if ours is theirs else Divergence("filter phase ran", ours is not None, theirs is not None)
    names = _names(left)
    rows = zip(ours.nodes.tolist(), ours.codes.tolist(), theirs.nodes.tolist(), theirs.codes.tolist(), strict=False)
    for place, (node, code, other_node, other_code) in enumerate(rows):
        if node != other_node:
            return Divergence(f"filter row [{place}]", names[node], names[other_node])
        one, other = _verdict(ours.statuses, code), _verdict(theirs.statuses, other_code)
        if one != other:
            return Divergence(f"filter of {names[node]}", one, other)
    if len(ours.nodes) != len(theirs.nodes):
        return Divergence("filter rows: length", len(ours.nodes), len(theirs.nodes))
    return None


def _verdict(statuses: tuple[Status, ...], code: int) -> object:
    return status_fields(statuses[code - 1] if code else SUCCESS)


def _score_divergence(left: Attempt, right: Attempt) -> Divergence | None:
    names = _names(left)
    found = _first_of("feasible", _nodes(left), _nodes(right))
    ours, theirs = left.score_rows, right.score_rows
    if found is not None:
        return found
    if ours is None or theirs is None:
        return None if ours is theirs else Divergence("scoring ran", ours is not None, theirs is not None)
    if (ours.plugins, sorted(ours.skipped)) != (theirs.plugins, sorted(theirs.skipped)):
        return Divergence("score plugins", (ours.plugins, ours.skipped), (theirs.plugins, theirs.skipped))
    for column, (plugin, _) in enumerate(ours.plugins):
        for node, one, other in zip(_nodes(left), _column(ours, column), _column(theirs, column), strict=True):
            if one != other:
                return Divergence(f"score of {plugin} for {node} (raw, normalised)", one, other)
    for node, total, other_total in zip(_nodes(left), ours.totals.tolist(), theirs.totals.tolist(), strict=True):
        if total != other_total:
            return Divergence(f"total of {node}", total, other_total)
    tied, other_tied = left.tied, right.tied
    if tied is None or other_tied is None:
        return None if tied is other_tied else Divergence("tied recorded", tied is not None, other_tied is not None)
    return _first_of("tied", tuple(names[n] for n in tied.tolist()), tuple(names[n] for n in other_tied.tolist()))


def _nodes(attempt: Attempt) -> tuple[str, ...]:
    names = _names(attempt)
    return () if attempt.feasible is None else tuple(names[node] for node in attempt.feasible.tolist())


def _column(rows: ScoreRows, column: int) -> list[tuple[int, int]]:
    return list(zip(rows.raw[column].tolist(), rows.normalized[column].tolist(), strict=True))
