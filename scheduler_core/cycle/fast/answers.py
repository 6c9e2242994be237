"""Answers cached by row: which filter refuses it first, and its raw scores.

A row is dirty when it changed since it was judged; dirty rows are judged again when they are wanted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.fast.limits import Limits
from scheduler_core.cycle.fast.refusals import FirstRefusals, judge_one_by_one, judge_rows
from scheduler_core.cycle.view import Rows
from scheduler_core.framework.answers import Int64Array
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.runtime import ScorePlan
from scheduler_core.model.status import SUCCESS
from scheduler_core.table.node_table import NodeTable

BoolArray = npt.NDArray[np.bool_]
Line = tuple[int, int]
"""A line of the scores, and the index of the plugin it is of."""


@dataclass(frozen=True, slots=True)
class FilterGroups:
    """Filters by index: cached while the node object stays, cached while the row stays, asked in every cycle for all
    rows, and asked in every cycle node by node."""

    by_object: tuple[int, ...]
    by_row: tuple[int, ...]
    every_cycle: tuple[int, ...]
    by_node: tuple[int, ...]


class _Dirty:
    """Flags of the dirty rows; all rows are dirty at first."""

    __slots__ = ("any", "flags")

    def __init__(self, n_rows: int) -> None:
        self.flags: BoolArray = np.ones(n_rows, dtype=np.bool_)
        self.any = True  # False: no row is dirty; True where some may be

    def add(self, rows: Rows) -> None:
        self.flags[rows] = self.any = True

    def clear(self, rows: Rows) -> None:
        self.flags[rows] = False

    def among(self, rows: Rows) -> Rows | None:
        """The dirty ones of the rows; None where there are none."""
        if not self.any:
            return None
        dirty = rows[self.flags[rows]]
        if len(dirty):
            return dirty
        self.any = bool(np.count_nonzero(self.flags))
        return None


class _RowAnswers(ABC):
    """Cached answers by row of the table, and which of them are out of date."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._drop()

    def _drop(self) -> None:
        self._version = self._nodes_version = -1
        self._dirty = _Dirty(0)
        self._dirty_objects = _Dirty(0)  # of these, rows whose node object may be another

    def _follow(self, table: NodeTable) -> list[int]:
        """Mark changed rows dirty. If only a few changed, return those that were clean for the caller to refresh."""
        if self._version == table.version:
            return []
        few: list[int] = []
        if len(self._dirty.flags) != len(table):
            self._dirty, self._dirty_objects = _Dirty(len(table)), _Dirty(len(table))
            self._resize(len(table))
        else:
            changed = table.rows_changed_since(self._version)
            if self._nodes_version != table.nodes_version:
                self._dirty.add(changed)
                self._dirty_objects.add(changed)
            elif len(changed) > self._limits.few_changed:
                self._dirty.add(changed)
            else:
                rows = sorted(set(changed.tolist()))
                few = [row for row in rows if not self._dirty.flags[row]] if self._dirty.any else rows
        self._version, self._nodes_version = table.version, table.nodes_version
        return few

    @abstractmethod
    def _resize(self, n_rows: int) -> None:
        """Prepare for answers of `n_rows` rows, and drop those there are."""


class CachedRefusals(_RowAnswers):
    """Each row's first refusal by the filters whose answers are cached."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._by_object = FirstRefusals.none(0)  # by filters that depend on no more than the node object
        self._all = FirstRefusals.none(0)

    def _resize(self, n_rows: int) -> None:
        self._by_object = FirstRefusals.none(n_rows)
        self._all = self._by_object.with_rows(n_rows)

    def at(self, cycle: Cycle, rows: Rows, groups: FilterGroups, *, codes_only: bool) -> FirstRefusals | None:
        """Copy the refusals of the rows by the cached filters; None when one failed: failures are not cached."""
        changed = self._follow(cycle.view.table)
        if changed:
            for row in changed:
                self._all.copy_row(row, self._by_object)
            judge_one_by_one(cycle, changed, groups.by_row, self._all)
        wanted = self._dirty.among(rows)
        if wanted is not None:
            self._judge(cycle, wanted, groups)
        if self._all.has_errors:
            self._drop()
            return None
        if len(self._all.statuses) > self._limits.many_statuses:
            self._drop()
        return self._all.at(rows, codes_only=codes_only)

    def _judge(self, cycle: Cycle, rows: Rows, groups: FilterGroups) -> None:
        other_objects = self._dirty_objects.among(rows)
        if other_objects is not None:
            part = self._by_object.with_rows(len(other_objects))
            judge_rows(cycle, other_objects, groups.by_object, part)
            self._by_object.put(other_objects, part)
            self._dirty_objects.clear(other_objects)
        if len(rows) > self._limits.few_rows:
            part = self._by_object.at(rows)
            judge_rows(cycle, rows, groups.by_row, part)
            self._all.put(rows, part)
        else:
            self._all.copy(rows, self._by_object)
            judge_one_by_one(cycle, rows.tolist(), groups.by_row, self._all)
        self._dirty.clear(rows)


class CachedScores(_RowAnswers):
    """Raw scores, shape (n_plugins, n_rows); lines of plugins that are asked in every cycle mean nothing."""

    def __init__(self, levels: dict[str, DependsOn], limits: Limits) -> None:
        super().__init__(limits)
        self._levels = levels
        self._weights: tuple[tuple[str, int], ...] | None = None
        # Who is asked when a row changed, when its node object did as well, and in every cycle.
        self._by_row: list[Line] = []
        self._by_object: list[Line] = []
        self.every_cycle: list[Line] = []
        self._raw: Int64Array = np.zeros((0, 0), dtype=np.int64)

    def at(self, cycle: Cycle, rows: Rows, plan: ScorePlan) -> Int64Array | None:
        """Copy the scores of the rows by the plan's plugins; None when a plugin could not score."""
        if plan.weights != self._weights:  # others skip than did before
            self._drop()
            self._group(cycle, plan)
        changed, answered = self._follow(cycle.view.table), True
        if changed:
            answered = self._score_one_by_one(cycle, changed, self._by_row)
        wanted = self._dirty.among(rows)
        if answered and wanted is not None:
            answered = self._score(cycle, wanted)
        if not answered:
            self._drop()
            return None
        return self._raw.take(rows, axis=1, mode="clip")  # all are valid: clipping only spares the check

    def _group(self, cycle: Cycle, plan: ScorePlan) -> None:
        self._weights = plan.weights
        self._by_row, self._by_object, self.every_cycle = [], [], []
        for line, index in enumerate(plan.plugins):
            name = cycle.profile.score[index].name
            level = self._levels[name]
            if level is DependsOn.CLUSTER:
                self.every_cycle.append((line, index))
                continue
            self._by_object.append((line, index))
            if level is DependsOn.NODE_INFO:
                self._by_row.append((line, index))

    def _resize(self, n_rows: int) -> None:
        self._raw = np.zeros((len(self._weights or ()), n_rows), dtype=np.int64)

    def _score(self, cycle: Cycle, rows: Rows) -> bool:
        """Score the rows; False when a plugin could not."""
        profile, table = cycle.profile, cycle.view.table
        other_objects = self._dirty_objects.among(rows)
        asked = self._by_row if other_objects is None else self._by_object
        if len(rows) <= self._limits.few_rows:
            if not self._score_one_by_one(cycle, rows.tolist(), asked):
                return False
        else:
            for line, index in asked:
                scorer = profile.table_scorers.get(profile.score[index].name)
                if scorer is None:
                    if not self._score_one_by_one(cycle, rows.tolist(), [(line, index)]):
                        return False
                    continue
                scores = scorer.score_nodes(cycle.state, cycle.pod, table, rows)
                if scores is None:
                    return False
                self._raw[line, rows] = scores
        self._dirty.clear(rows)
        if other_objects is not None:
            self._dirty_objects.clear(other_objects)
        return True

    def _score_one_by_one(self, cycle: Cycle, rows: list[int], asked: list[Line]) -> bool:
        """Score the rows in the node form; False when a plugin could not."""
        node_infos, profile = cycle.view.table.node_infos, cycle.profile
        for line, index in asked:
            plugin, raw = profile.score[index], self._raw[line]
            scorer = profile.node_scorers.get(plugin.name)
            if scorer is not None:
                on_node = scorer.node_scorer(cycle.state, cycle.pod)
                for row in rows:
                    node_info = node_infos[row]
                    if node_info is not None:
                        raw[row] = on_node(node_info)
                continue
            for row in rows:
                node_info = node_infos[row]
                if node_info is not None:
                    raw[row], status = plugin.score(cycle.state, cycle.pod, node_info)
                    if status is not SUCCESS and not status.is_success:
                        return False
        return True
