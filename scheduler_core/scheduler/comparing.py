"""Another scheduler's choice of a node beside our own: whether they agree, what tells the nodes apart, and the cause.

The likely causes of a difference, the first that applies:

  plugin         its configuration names a plugin or an extender that is not here
  sampling       it looks at some of the nodes only, and need not have seen a better one: this is no difference yet
  state          it may have decided on a state that was not tried: nor is this
  configuration  its configuration was not given, and ours is the default one
  unknown        none of these
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from scheduler_core.cycle.walk import num_feasible_nodes_to_find
from scheduler_core.model.effects import Attempt, Comparison
from scheduler_core.model.status import Status
from scheduler_core.scheduler.engine import Observer

AGREED, TIED, EARLIER, DIFFERED, UNCERTAIN, OTHER = "agreed", "tied", "earlier", "differed", "uncertain", "other"
PLUGIN, STATE, SAMPLING, CONFIGURATION, UNKNOWN = "plugin", "state", "sampling", "configuration", "unknown"
NOT_NAMED = "the node is not among those that PreFilter names"
NO_SUCH_NODE = "the node was not known"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a decision depends on beyond its attempt: `percentage` of nodes to score (0 adapts), `now`, and `blamed`,
    the plugins that narrowed the nodes or refused some."""

    observer: Observer
    percentage: int
    now: int
    blamed: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class _Gap:
    """What tells two nodes apart."""

    plugin: str = ""
    reason: str = ""
    own_score: int | None = None
    score: int | None = None
    own_total: int | None = None
    total: int | None = None


def compare(attempt: Attempt, node_name: str, around: Circumstances) -> Comparison:
    """The choice of `node_name` by another scheduler, beside an attempt that looked at every node."""
    own = attempt.node_name
    outcome, gap, cause = DIFFERED, _Gap(), ""
    if own == node_name:
        outcome = AGREED
    elif is_tied(attempt, node_name):
        outcome = TIED
    if outcome != AGREED:
        gap = _gap(attempt, own, node_name, around.blamed)
    if outcome == DIFFERED:
        cause = _cause(attempt, node_name, around)
        outcome = UNCERTAIN if cause == SAMPLING else DIFFERED
    return Comparison(
        pod_key=attempt.pod_key,
        pod_uid=attempt.pod_uid,
        attempt=attempt.attempt,
        profile=attempt.profile,
        outcome=outcome,
        node_name=node_name,
        own_node_name=own,
        at=around.now,
        plugin=gap.plugin,
        reason=gap.reason,
        own_score=gap.own_score,
        score=gap.score,
        own_total=gap.own_total,
        total=gap.total,
        cause=cause,
    )


def refusal(attempt: Attempt, place: int) -> Status | None:
    """The status that kept the pod from the node at this place of the node order; None when it passed."""
    early = attempt.pre_filter_status
    if early is not None and not early.is_success:
        return early
    tried = attempt.nominated
    names = attempt.node_order.names if attempt.node_order is not None else ()
    if tried is not None and tried.status is not None and names[place] == tried.node_name:
        return tried.status
    rows = attempt.filter_rows
    if rows is None:
        return None
    found = np.flatnonzero(rows.nodes == place)
    code = int(rows.codes[found[0]]) if len(found) else 0
    return rows.statuses[code - 1] if code else None


def is_tied(attempt: Attempt, node_name: str) -> bool:
    """Whether the node is among those with the best total."""
    place = _place(attempt, node_name)
    return place is not None and attempt.tied is not None and place in attempt.tied.tolist()


def _place(attempt: Attempt, node_name: str) -> int | None:
    names = attempt.node_order.names if attempt.node_order is not None else ()
    return names.index(node_name) if node_name in names else None


def _gap(attempt: Attempt, own: str, node_name: str, blamed: Collection[str]) -> _Gap:
    place = _place(attempt, node_name)
    if place is None:
        return _Gap(reason=NO_SUCH_NODE)
    refused = refusal(attempt, place)
    if refused is not None:
        return _Gap(refused.plugin, refused.message)
    own_column, column = column_of(attempt, own), column_of(attempt, node_name)
    named = attempt.pre_filter_node_names
    if column is None and named is not None and node_name not in named:
        return _Gap(" ".join(sorted(blamed)), NOT_NAMED)
    rows = attempt.score_rows
    if rows is None or column is None or own_column is None:
        return _Gap()
    totals = int(rows.totals[own_column]), int(rows.totals[column])
    for index, (plugin, weight) in enumerate(rows.plugins):
        ours, theirs = (int(rows.normalized[index, each]) * weight for each in (own_column, column))
        if ours != theirs:
            return _Gap(plugin, "", ours, theirs, *totals)
    return _Gap("", "", None, None, *totals)


def column_of(attempt: Attempt, node_name: str) -> int | None:
    """Where the node stands among the feasible ones."""
    place = _place(attempt, node_name)
    if place is None or attempt.feasible is None:
        return None
    found = np.flatnonzero(attempt.feasible == place)
    return int(found[0]) if len(found) else None


def may_be_sampled(attempt: Attempt, node_name: str, percentage: int) -> bool:
    """Whether a scheduler that looks at some of the nodes only, a percentage of them, can have chosen this one."""
    all_nodes = len(attempt.node_order.names) if attempt.node_order is not None else 0
    feasible = 0 if attempt.feasible is None else len(attempt.feasible)
    return num_feasible_nodes_to_find(all_nodes, percentage) < feasible and column_of(attempt, node_name) is not None


def _cause(attempt: Attempt, node_name: str, around: Circumstances) -> str:
    observer = around.observer
    if observer.missing_plugins:
        return PLUGIN
    if may_be_sampled(attempt, node_name, around.percentage):
        return SAMPLING
    return UNKNOWN if observer.is_configured else CONFIGURATION
