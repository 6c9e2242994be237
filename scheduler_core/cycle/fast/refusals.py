"""Which filter refuses each row first, as arrays over rows.

Filters may be asked in any order and added as their answers come: of two refusals of a row the one of the filter that
runs earlier stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.view import Rows
from scheduler_core.framework.answers import RowVerdicts, UInt16Array
from scheduler_core.framework.points import FilterPlugin
from scheduler_core.framework.runtime import refusal
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Code, Status

NOBODY: Final = np.iinfo(np.int16).max
_NOT_ASKED = np.zeros(0, dtype=np.int16)


class FirstRefusals(msgspec.Struct):
    """`codes`: uint16, 0 where no filter refuses, else 1 + index into `statuses`, which are blamed on their plugins;
    `refused_by`: int16, the index of the filter, NOBODY where none refuses."""

    codes: UInt16Array
    refused_by: npt.NDArray[np.int16]
    statuses: list[Status] = msgspec.field(default_factory=list)
    _numbers: dict[Status, int] = msgspec.field(default_factory=dict)
    _errors: list[Status] = msgspec.field(default_factory=list)  # of the statuses, those of filters that failed

    @staticmethod
    def none(n_rows: int) -> FirstRefusals:
        refused_by = np.empty(n_rows, dtype=np.int16)
        refused_by.fill(NOBODY)
        return FirstRefusals(np.zeros(n_rows, dtype=np.uint16), refused_by)

    def with_rows(self, n_rows: int) -> FirstRefusals:
        """Return `n_rows` rows without refusals that share this numbering."""
        fresh = FirstRefusals.none(n_rows)
        fresh.statuses, fresh._numbers, fresh._errors = self.statuses, self._numbers, self._errors
        return fresh

    def at(self, rows: Rows, *, codes_only: bool = False) -> FirstRefusals:
        """Copy the refusals of the rows; `codes_only` when nobody will add to them or ask who refuses."""
        refused_by = _NOT_ASKED if codes_only else self.refused_by[rows]
        return FirstRefusals(self.codes[rows], refused_by, self.statuses, self._numbers, self._errors)

    def put(self, rows: Rows, part: FirstRefusals) -> None:
        """Replace the refusals of the rows by `part`, which has the same numbering."""
        self.codes[rows] = part.codes
        self.refused_by[rows] = part.refused_by

    def copy(self, rows: Rows, other: FirstRefusals) -> None:
        """Replace the refusals of the rows by those of `other`, which has the same numbering."""
        self.codes[rows] = other.codes[rows]
        self.refused_by[rows] = other.refused_by[rows]

    def copy_row(self, row: int, other: FirstRefusals) -> None:
        """Like `copy`, quicker for one row."""
        self.codes[row] = other.codes[row]
        self.refused_by[row] = other.refused_by[row]

    @property
    def has_errors(self) -> bool:
        """Whether any filter failed instead of judging."""
        return bool(self._errors)

    def add(self, index: int, plugin_name: str, verdicts: RowVerdicts) -> None:
        """Add the verdicts of the filter with this index in running order."""
        hit = verdicts.codes != 0
        hit &= self.refused_by > index
        if not np.count_nonzero(hit):
            return
        if len(verdicts.statuses) == 1:
            np.putmask(self.codes, hit, self.number_of(refusal(plugin_name, verdicts.statuses[0])))
        else:
            np.putmask(self.codes, hit, self._numbers_of(plugin_name, verdicts).take(verdicts.codes))
        np.putmask(self.refused_by, hit, index)

    def number_of(self, status: Status) -> int:
        """The code of the status, a new one where it was not given before."""
        number = self._numbers.get(status)
        if number is None:
            self.statuses.append(status)
            if status.code is Code.Error:
                self._errors.append(status)
            number = self._numbers[status] = len(self.statuses)
        return number

    def put_verdicts(self, places: Rows, index: int, plugin_name: str, verdicts: RowVerdicts) -> None:
        """Let these verdicts stand at the places, whatever the filter said before."""
        hit = np.flatnonzero(verdicts.codes)
        self.codes[places[hit]] = self._numbers_of(plugin_name, verdicts)[verdicts.codes[hit]]
        self.refused_by[places[hit]] = index

    def add_one(self, row: int, index: int, plugin_name: str, status: Status) -> None:
        """Add a filter's refusal of a row that no filter before it refuses."""
        self.codes[row] = self.number_of(refusal(plugin_name, status))
        self.refused_by[row] = index

    def _numbers_of(self, plugin_name: str, verdicts: RowVerdicts) -> UInt16Array:
        """What the codes of the verdicts become here."""
        return np.array([0, *(self.number_of(refusal(plugin_name, each)) for each in verdicts.statuses)], np.uint16)


def judge_rows(cycle: Cycle, rows: Rows, filters: Iterable[int], refusals: FirstRefusals) -> None:
    """Ask these filters, by index, about the rows, and add what they say to the refusals of these."""
    profile, state, pod, table = cycle.profile, cycle.state, cycle.pod, cycle.view.table
    for index in filters:
        plugin = profile.filter[index]
        in_table = profile.table_filters.get(plugin.name)
        if in_table is None:
            verdicts = _verdicts_by_node(cycle, plugin, rows)
        else:
            verdicts = in_table.filter_nodes(state, pod, table, rows)
        if verdicts is not None:
            refusals.add(index, plugin.name, verdicts)


def _verdicts_by_node(cycle: Cycle, plugin: FilterPlugin, rows: Rows) -> RowVerdicts | None:
    """What a filter without a table form says of the rows; None when all of them pass."""
    numbers: dict[Status, int] = {}
    codes = np.zeros(len(rows), dtype=np.uint16)
    for place, row in enumerate(rows.tolist()):
        node_info = cycle.view.table.node_infos[row]
        if node_info is not None:
            status = plugin.filter(cycle.state, cycle.pod, node_info)
            if not status.is_success:
                codes[place] = numbers.setdefault(status, len(numbers) + 1)
    return RowVerdicts(codes, tuple(numbers)) if numbers else None


def judge_one_by_one(cycle: Cycle, rows: Iterable[int], filters: Iterable[int], refusals: FirstRefusals) -> None:
    """Ask these filters in their node form, which is quicker for few rows. `refusals` are of the whole table."""
    node_infos, refused_by = cycle.view.table.node_infos, refusals.refused_by
    judges = [(index, _judge_of_nodes(cycle, cycle.profile.filter[index])) for index in filters]
    for row in rows:
        node_info = node_infos[row]
        if node_info is None:
            continue
        for index, judge in judges:
            status = judge(node_info)
            if status is not SUCCESS and not status.is_success:
                if refused_by.item(row) > index:
                    refusals.add_one(row, index, cycle.profile.filter[index].name, status)
                break


def _judge_of_nodes(cycle: Cycle, plugin: FilterPlugin) -> Callable[[NodeInfo], Status]:
    """What the filter says of a node to the pod of the cycle."""
    judge = cycle.profile.node_judges.get(plugin.name)
    return partial(plugin.filter, cycle.state, cycle.pod) if judge is None else judge.node_judge(cycle.state, cycle.pod)
