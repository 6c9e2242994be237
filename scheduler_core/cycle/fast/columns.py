"""Rules asked in their table form, once for all rows; node by node only where the table cannot tell.

A node is asked for by itself where a filter has no table form, and where nominated pods count against the pod unless
arrays can add these up (`headroom.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.fast.headroom import NominatedHeadroom
from scheduler_core.cycle.fast.refusals import FirstRefusals, judge_rows
from scheduler_core.cycle.filtering import PreFilterAnswer, PreFilterOutcome, ask_pre_filter, nominated_that_count
from scheduler_core.cycle.runner import PlainRunner, Runner
from scheduler_core.cycle.scoring import Scored, ask_pre_score, ask_score, weigh
from scheduler_core.cycle.view import Int32Array, PickedNodes, Rows
from scheduler_core.cycle.walk import Codes, Walk, cut_walk
from scheduler_core.framework.answers import Int64Array, UInt16Array
from scheduler_core.framework.points import PreFilterPlugin, PreScorePlugin, ScorePlugin
from scheduler_core.framework.runtime import refusal
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import PodInfo


class Pace:
    """How far walks go lately, so that the next one looks at enough nodes at once."""

    def __init__(self) -> None:
        self._reach = 0

    def first_stretch(self, least: int, most: int) -> int:
        """How many nodes to look at first. Too many cost less than a second stretch."""
        return min(most, max(least, self._reach + self._reach // 16))

    def note(self, reach: int) -> None:
        """Note how many nodes a walk went over."""
        self._reach = max(reach, self._reach - self._reach // 8)


class Judge(Protocol):
    """Says which filter refuses each row first, but for those it leaves to be asked node by node."""

    pace: Pace

    def left_by_node(self, cycle: Cycle) -> tuple[int, ...]:
        """Filters, by index, that `judge` leaves out."""
        ...

    def judge(
        self, cycle: Cycle, rows: Rows, numbering: FirstRefusals | None = None, *, codes_only: bool = False
    ) -> FirstRefusals | None:
        """The refusals of the rows, in the numbering of earlier ones where it can; None when it cannot tell."""
        ...


class ColumnRunner:
    """Decorates the plain runner, which does what the table cannot."""

    def __init__(self, plain: PlainRunner) -> None:
        self._plain = plain
        self.pace = Pace()

    def runner_of(self, cycle: Cycle) -> Runner:
        return self

    def pre_filter(self, cycle: Cycle) -> PreFilterOutcome:
        outcome, skipped = ask_pre_filter(cycle.profile.pre_filter, partial(pre_filter_table, cycle))
        cycle.state.skip_filter_plugins = frozenset(skipped)
        return outcome

    def filter(self, cycle: Cycle, candidates: Int32Array | None) -> Walk:
        if not cycle.profile.filter or len(cycle.view.rows if candidates is None else candidates) <= 1:
            return self._plain.filter(cycle, candidates)
        walk = walk_by_columns(cycle, candidates, self, nominated_that_count(cycle))
        assert walk is not None  # this judge can always tell
        return walk

    def left_by_node(self, cycle: Cycle) -> tuple[int, ...]:
        return cycle.profile.filter_plan(cycle.state.skip_filter_plugins).by_node

    def judge(
        self, cycle: Cycle, rows: Rows, numbering: FirstRefusals | None = None, *, codes_only: bool = False
    ) -> FirstRefusals | None:
        refusals = FirstRefusals.none(len(rows)) if numbering is None else numbering.with_rows(len(rows))
        judge_rows(cycle, rows, cycle.profile.filter_plan(cycle.state.skip_filter_plugins).in_table, refusals)
        return refusals

    def pre_score(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Status:
        if not isinstance(nodes, PickedNodes):
            return self._plain.pre_score(cycle, nodes)
        status, skipped = ask_pre_score(cycle.profile.pre_score, partial(pre_score_table, cycle, nodes))
        cycle.state.skip_score_plugins = frozenset(skipped)
        return status

    def score(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Scored:
        if not isinstance(nodes, PickedNodes):
            return self._plain.score(cycle, nodes)
        plan = cycle.profile.score_plan(cycle.state.skip_score_plugins)
        raw = np.zeros((len(plan.plugins), len(nodes)), dtype=np.int64)
        failure = ask_score(cycle, nodes, raw, enumerate(plan.plugins), partial(score_table, cycle, nodes))
        return weigh(cycle, plan, raw) if failure.is_success else (None, failure)


# One plugin, in its table form where it has one


def pre_filter_table(cycle: Cycle, plugin: PreFilterPlugin) -> PreFilterAnswer:
    """Ask one plugin, in its table form where it has one."""
    in_table = cycle.profile.table_pre_filters.get(plugin.name)
    if in_table is not None:
        return in_table.pre_filter_table(cycle.state, cycle.pod, cycle.view.table)
    return plugin.pre_filter(cycle.state, cycle.pod, cycle.view.infos)


def pre_score_table(cycle: Cycle, nodes: PickedNodes, plugin: PreScorePlugin) -> Status:
    """Ask one plugin, in its table form where it has one."""
    in_table = cycle.profile.table_pre_scorers.get(plugin.name)
    if in_table is not None:
        return in_table.pre_score_table(cycle.state, cycle.pod, cycle.view.table, nodes.rows)
    return plugin.pre_score(cycle.state, cycle.pod, nodes)


def score_table(cycle: Cycle, nodes: PickedNodes, plugin: ScorePlugin) -> Int64Array | None:
    """The raw scores of one plugin; None when it has to be asked node by node."""
    in_table = cycle.profile.table_scorers.get(plugin.name)
    if in_table is None:
        return None
    return in_table.score_nodes(cycle.state, cycle.pod, cycle.view.table, nodes.rows)


# The walk


def walk_by_columns(
    cycle: Cycle, candidates: Int32Array | None, judge: Judge, nominated: Mapping[int, Sequence[PodInfo]]
) -> Walk | None:
    """The walk over the candidates; `nominated`: the pods that count, by node. None when the judge cannot tell."""
    nodes, rows = cycle.view.walk_from(cycle.start, candidates)
    by_node = judge.left_by_node(cycle)
    headroom = NominatedHeadroom.of(cycle, nominated) if nominated and not by_node else None
    if not by_node and (headroom is not None or not nominated):
        return _walk_in_stretches(cycle, nodes, rows, judge, headroom)
    refusals = judge.judge(cycle, rows)
    if refusals is None:
        return None
    codes, statuses = _ask_by_node(cycle, nodes, refusals, by_node, nominated)
    return cut_walk(nodes, rows, codes, statuses, cycle.wanted)


def _walk_in_stretches(
    cycle: Cycle, nodes: Int32Array, rows: Rows, judge: Judge, headroom: NominatedHeadroom | None
) -> Walk | None:
    """The walk where arrays tell everything: a stretch of it, and more until that is enough."""
    begin, end = 0, judge.pace.first_stretch(cycle.wanted + 1, len(nodes))
    refusals: FirstRefusals | None = None
    codes: list[UInt16Array] = []
    num_passed = 0
    while True:
        part = judge.judge(cycle, rows[begin:end], refusals, codes_only=headroom is None)
        if part is None or (refusals is not None and part.statuses is not refusals.statuses):
            return None
        if headroom is not None:
            headroom.add_to(part, cycle, nodes[begin:end], rows[begin:end])
        refusals = part
        codes.append(part.codes)
        num_passed += end - begin - int(np.count_nonzero(part.codes))
        if end == len(nodes) or num_passed > cycle.wanted:
            break
        begin, end = end, min(len(nodes), 2 * end)
    all_codes = codes[0] if len(codes) == 1 else np.concatenate(codes)
    walk = cut_walk(nodes[:end], rows, all_codes, refusals.statuses, cycle.wanted)
    judge.pace.note(len(walk.filter_rows.nodes))
    return walk


def _ask_by_node(
    cycle: Cycle,
    nodes: Int32Array,
    refusals: FirstRefusals,
    by_node: Sequence[int],
    nominated: Mapping[int, Sequence[PodInfo]],
) -> tuple[Codes, list[Status]]:
    """Ask the filters `by_node`, and all where nominated pods count, in walk order and no further than it would go."""
    profile, infos = cycle.profile, cycle.view.infos
    statuses = list(refusals.statuses)
    codes: Codes = refusals.codes.astype(np.int32)
    refused_by = refusals.refused_by
    asked = refused_by > by_node[0] if by_node else np.zeros(len(nodes), dtype=np.bool_)
    if nominated:
        asked |= np.isin(nodes, np.array(sorted(nominated), dtype=np.int32))
    found = 0
    for position in np.flatnonzero(asked).tolist():
        node = int(nodes[position])
        if node in nominated:
            status = profile.run_filters_with_nominated_pods(cycle.state, cycle.pod, infos[node], cycle.nominated)
            codes[position] = 0
        else:
            status = SUCCESS
            for index in by_node:
                if index < refused_by[position] and status.is_success:
                    plugin = profile.filter[index]
                    status = plugin.filter(cycle.state, cycle.pod, infos[node])
                    if not status.is_success:
                        status = refusal(plugin.name, status)
        if not status.is_success:
            statuses.append(status)
            codes[position] = len(statuses)
            if status.code is Code.Error:
                break
        elif codes[position] == 0:
            found += 1
            if found > cycle.wanted:
                break
    return codes, statuses
