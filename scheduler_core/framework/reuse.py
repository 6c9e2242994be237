"""What the cycle of one pod leaves to the next pod like it: the scheduling class.

To pods with equal signatures every plugin that says what it reads gives equal answers until that changes. From the
second such pod on a class keeps what PreFilter and PreScore said, each row's first refusal, and its raw scores;
before they are used the rows in the table's journal are judged anew. Plugins that read other rows are asked in every
cycle. Where one plugin of a profile does not say what it reads for a pod, nothing is kept for that pod.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import Signature, signature
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.interface import (
    ALL_ROWS,
    Int64Array,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReadingPlugin,
    Reads,
    RowIndex,
    TableScorePlugin,
)
from scheduler_core.framework.refusals import FirstRefusals, judge_rows
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Code, Status
from scheduler_core.table.node_table import NodeTable

if TYPE_CHECKING:
    from scheduler_core.framework.runtime import Framework

# Rows kept by all classes together, some 40 bytes each, and bounds for the number of classes whatever their size.
_MAX_ROWS = 1_500_000
_MIN_CLASSES, _MAX_CLASSES = 16, 1024
_MAX_SEEN = 4096

Values = dict[type[Any], Any]
"""What a plugin wrote into the cycle's state while it answered."""


class SchedulingClass:
    """What is kept for one signature under one profile; `levels` says how far each plugin reads."""

    def __init__(self, levels: dict[str, Reads]) -> None:
        self.levels = levels
        self.memo: dict[Hashable, tuple[Hashable, Any]] = {}
        self.pre_filter: dict[str, tuple[tuple[PreFilterResult | None, Status], Values]] = {}
        self.pre_score: dict[str, tuple[Status, Values]] = {}
        self.refusals = KeptRefusals(self)
        self.scores = KeptScores(self)

    def record_pre_filter(
        self, plugin: PreFilterPlugin, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        """Ask the plugin for the first pod of the class; errors are not kept."""
        recorded = state.recorded(lambda: plugin.pre_filter(state, pod, node_infos))
        result, status = recorded[0]
        if status.code is not Code.Error:
            self.pre_filter[plugin.name] = recorded
        return result, status

    def record_pre_score(
        self, plugin: PreScorePlugin, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> Status:
        """Ask the plugin for the first pod of the class; errors are not kept."""
        recorded = state.recorded(lambda: plugin.pre_score(state, pod, node_infos))
        if recorded[0].code is not Code.Error:
            self.pre_score[plugin.name] = recorded
        return recorded[0]

    def keeps(self, plugin_name: str) -> bool:
        """Whether the plugin's answers last longer than a cycle."""
        return self.levels[plugin_name] is not Reads.CLUSTER


class _Kept:
    """Answers by row as of a version of the table."""

    def __init__(self, owner: SchedulingClass) -> None:
        self._owner = owner
        self._version = -1
        self._nodes_version = -1
        self._n_rows = -1

    def _stale(self, table: NodeTable) -> tuple[RowIndex | None, bool]:
        """The rows to judge anew, None when there are none, and whether what reads the node object is among it."""
        if self._version == table.version:
            return None, False
        if self._n_rows != len(table):
            return ALL_ROWS, True
        rows = table.rows_changed_since(self._version)
        many = 2 * len(rows) > len(table)
        return ALL_ROWS if many else rows, many or self._nodes_version != table.nodes_version

    def _is_fresh(self, table: NodeTable) -> None:
        self._version, self._nodes_version, self._n_rows = table.version, table.nodes_version, len(table)


class KeptRefusals(_Kept):
    """Each row's first refusal by the filters whose answers are kept."""

    def __init__(self, owner: SchedulingClass) -> None:
        super().__init__(owner)
        self._by_node = FirstRefusals.none(0)  # by filters that read no more than the node object
        self._all = FirstRefusals.none(0)

    def brought_up_to(
        self, table: NodeTable, framework: Framework, state: CycleState, pod: Pod, active: Sequence[int]
    ) -> FirstRefusals | None:
        """The refusals as of now, not to be changed; None when a filter failed: failures are not kept.

        `active`: the filters that are not skipped, by index.
        """
        rows, nodes_too = self._stale(table)
        if rows is None:
            return self._all
        levels = self._owner.levels
        by_node = [index for index in active if levels[framework.filter[index].name] <= Reads.NODE]
        by_row = [index for index in active if levels[framework.filter[index].name] is Reads.ROW]
        if isinstance(rows, slice):
            self._by_node = FirstRefusals.none(len(table))
            self._all = self._by_node.alike(len(table))
        if nodes_too:
            part = self._by_node.alike(len(self._by_node.codes[rows]))
            judge_rows(framework, state, pod, table, rows, by_node, part)
            self._by_node.put(rows, part)
        part = self._by_node.at(rows)
        judge_rows(framework, state, pod, table, rows, by_row, part)
        self._all.put(rows, part)
        self._is_fresh(table)
        if any(status.code is Code.Error for status in part.statuses):
            self._version = self._n_rows = -1
            return None
        return self._all


class KeptScores(_Kept):
    """Raw scores of all rows by the plugins that are kept, one array of shape (n_rows,) each."""

    def __init__(self, owner: SchedulingClass) -> None:
        super().__init__(owner)
        self._raw: dict[str, Int64Array] = {}

    def brought_up_to(
        self, table: NodeTable, state: CycleState, pod: Pod, plugins: Sequence[TableScorePlugin]
    ) -> dict[str, Int64Array]:
        """The scores as of now by plugin; plugins that are kept and could not score are left out."""
        rows, nodes_too = self._stale(table)
        if rows is None:
            return self._raw
        if isinstance(rows, slice):
            self._raw = {}
            rows = np.arange(len(table), dtype=np.int32)
        for plugin in plugins:
            level = self._owner.levels[plugin.name]
            if level is Reads.CLUSTER or (level is not Reads.ROW and not nodes_too):
                continue
            scores = plugin.score_nodes(state, pod, table, rows)
            if scores is None:
                self._raw.pop(plugin.name, None)
            elif len(rows) == len(table):
                self._raw[plugin.name] = scores
            elif plugin.name in self._raw:
                self._raw[plugin.name][rows] = scores
        self._is_fresh(table)
        return self._raw


class Reuse:
    """The classes of one profile, those used least recently first."""

    def __init__(self, framework: Framework) -> None:
        points = (framework.pre_filter, framework.filter, framework.pre_score, framework.score)
        self._plugins = {plugin.name: plugin for point in points for plugin in point}
        self._by_node_only = {plugin.name for plugin in framework.filter} - framework.table_filters.keys()
        self._by_node_only |= {plugin.name for plugin in framework.score} - framework.table_scorers.keys()
        self._classes: dict[Signature, SchedulingClass | None] = {}
        self._seen: dict[Signature, None] = {}

    def class_of(self, pod: Pod, table: NodeTable) -> SchedulingClass | None:
        """The class of the pod; None for the first pod of its signature, and where nothing can be kept."""
        key = signature(pod)
        if key in self._classes:
            known = self._classes[key] = self._classes.pop(key)
            return known
        if key not in self._seen:
            if len(self._seen) >= _MAX_SEEN:
                del self._seen[next(iter(self._seen))]
            self._seen[key] = None
            return None
        limit = min(max(_MAX_ROWS // max(len(table), 1), _MIN_CLASSES), _MAX_CLASSES)
        while len(self._classes) >= limit:
            del self._classes[next(iter(self._classes))]
        levels = self._levels(pod)
        found = self._classes[key] = SchedulingClass(levels) if levels is not None else None
        del self._seen[key]
        return found

    def _levels(self, pod: Pod) -> dict[str, Reads] | None:
        levels: dict[str, Reads] = {}
        for name, plugin in self._plugins.items():
            level = plugin.reads(pod) if isinstance(plugin, ReadingPlugin) else None
            if level is None:
                return None
            # Without a table form rows cannot be kept: the plugin is asked in every cycle, node by node.
            levels[name] = Reads.CLUSTER if name in self._by_node_only else level
        return levels
