"""What the cycle of one pod leaves to the next pod like it: the scheduling class.

To pods with equal signatures every plugin that says what it reads gives equal answers until that changes. From the
second such pod on a class keeps what PreFilter and PreScore said, each row's first refusal, and its raw scores;
before they are used the rows in the table's journal are judged anew. Plugins that read other rows are asked in every
cycle. Where one plugin of a profile does not say what it reads for a pod, nothing is kept for that pod.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import Signature
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.interface import (
    ALL_ROWS,
    Int64Array,
    Plugin,
    PreFilterResult,
    ReadingPlugin,
    Reads,
    ScorePlugin,
)
from scheduler_core.framework.refusals import FirstRefusals, judge_one_by_one, judge_rows
from scheduler_core.model.status import Status
from scheduler_core.table.node_table import NodeTable

if TYPE_CHECKING:
    from scheduler_core.framework.runtime import Framework, ScorePlan

# Rows kept by all classes together, some 40 bytes each, and bounds for the number of classes whatever their size.
_MAX_ROWS = 1_500_000
_MIN_CLASSES, _MAX_CLASSES = 16, 1024
_MAX_SEEN = 4096
_FEW_ROWS = 5  # up to which the row form is quicker than arrays
_MANY_STATUSES = 4096  # more different refusals than a table of this size has: most are of rows as they once were

A = TypeVar("A")


@dataclass(slots=True)
class Recorded(Generic[A]):
    """What the plugins that are kept said at one point, by name, and what they wrote into the cycle's state."""

    answers: dict[str, A] = field(default_factory=dict)
    values: dict[type[Any], Any] = field(default_factory=dict)
    # Once all are known and all are success or skip: those that skip, and the plugins that are asked in every cycle.
    skipped: frozenset[str] = frozenset()
    anew: Sequence[Any] | None = None

    def settle(self, plugins: Sequence[Plugin], skipped: Iterable[str]) -> None:
        """No answer of those kept ends or narrows the cycle; `skipped`: who skips in this one."""
        self.skipped = frozenset(name for name in skipped if name in self.answers)
        self.anew = [plugin for plugin in plugins if plugin.name not in self.answers]

    def record(self, plugin_name: str, state: CycleState, question: Callable[[], A]) -> A:
        """Ask the plugin for the first pod of the class."""
        answer, values = state.recorded(question)
        self.answers[plugin_name] = answer
        self.values.update(values)
        return answer


@dataclass(frozen=True, slots=True)
class KeptFilters:
    """Filters by index: whose answers are kept per node object, per row, and who is asked in every cycle."""

    by_node: tuple[int, ...]
    by_row: tuple[int, ...]
    anew: tuple[int, ...]


class SchedulingClass:
    """What is kept for one signature under one profile; `levels` says how far each plugin reads."""

    def __init__(self, levels: dict[str, Reads]) -> None:
        self.levels = levels
        self.memo: dict[Hashable, tuple[Hashable, Any]] = {}
        self.pre_filter: Recorded[tuple[PreFilterResult | None, Status]] = Recorded()
        self.pre_score: Recorded[Status] = Recorded()
        self._plans: dict[frozenset[str], KeptFilters] = {}
        self.refusals = KeptRefusals(self)
        self.scores = KeptScores(self)

    def plan(self, framework: Framework, skipped: frozenset[str]) -> KeptFilters:
        """Which filters are kept how in a cycle that skips some."""
        plan = self._plans.get(skipped)
        if plan is None:
            by_level = [
                (index, self.levels[framework.filter[index].name]) for index in framework.filter_plan(skipped).in_table
            ]
            plan = self._plans[skipped] = KeptFilters(
                by_node=tuple(index for index, level in by_level if level <= Reads.NODE),
                by_row=tuple(index for index, level in by_level if level is Reads.ROW),
                anew=tuple(index for index, level in by_level if level is Reads.CLUSTER),
            )
        return plan

    def keeps(self, plugin_name: str) -> bool:
        """Whether the plugin's answers last longer than a cycle."""
        return self.levels[plugin_name] is not Reads.CLUSTER


class _Kept:
    """Answers by row as of a version of the table."""

    def __init__(self, owner: SchedulingClass) -> None:
        self._owner = owner
        self._forget()

    def _forget(self) -> None:
        self._version = self._nodes_version = self._n_rows = -1

    def _stale_rows(self, table: NodeTable) -> list[int] | None:
        """The rows to judge anew; None: all."""
        if self._n_rows != len(table):
            return None
        rows = table.rows_changed_since(self._version)
        return None if 2 * len(rows) > len(table) else rows

    def _as_of(self, table: NodeTable) -> None:
        self._version, self._nodes_version, self._n_rows = table.version, table.nodes_version, len(table)


class KeptRefusals(_Kept):
    """Each row's first refusal by the filters whose answers are kept."""

    def __init__(self, owner: SchedulingClass) -> None:
        super().__init__(owner)
        self._by_node = FirstRefusals.none(0)  # by filters that read no more than the node object
        self._all = FirstRefusals.none(0)

    def brought_up_to(
        self, table: NodeTable, framework: Framework, state: CycleState, pod: Pod
    ) -> FirstRefusals | None:
        """The refusals as of now, not to be changed; None when a filter failed: failures are not kept."""
        if self._version == table.version:
            return self._all
        rows = self._stale_rows(table)
        nodes_too = rows is None or self._nodes_version != table.nodes_version
        plan = self._owner.plan(framework, state.skip_filter_plugins)
        if rows is not None and not nodes_too and len(rows) <= _FEW_ROWS:
            for row in rows:
                self._all.take_row(row, self._by_node)
            judge_one_by_one(framework, state, pod, table, rows, plan.by_row, self._all)
        else:
            self._judge(table, framework, state, pod, plan, rows, nodes_too)
        self._as_of(table)
        if self._all.has_errors or len(self._all.statuses) > _MANY_STATUSES:
            self._forget()
        return None if self._all.has_errors else self._all

    def _judge(
        self,
        table: NodeTable,
        framework: Framework,
        state: CycleState,
        pod: Pod,
        plan: KeptFilters,
        stale: list[int] | None,
        nodes_too: bool,
    ) -> None:
        rows = ALL_ROWS if stale is None else np.array(stale, dtype=np.int32)
        if isinstance(rows, slice):
            self._by_node = FirstRefusals.none(len(table))
            self._all = self._by_node.alike(len(table))
        if nodes_too:
            part = self._by_node.alike(len(table.live[rows]))
            judge_rows(framework, state, pod, table, rows, plan.by_node, part)
            self._by_node.put(rows, part)
        part = self._by_node.at(rows)
        judge_rows(framework, state, pod, table, rows, plan.by_row, part)
        self._all.put(rows, part)


class KeptScores(_Kept):
    """Raw scores of all rows, shape (n_plugins, n_rows); rows of plugins that are asked in every cycle say nothing."""

    def __init__(self, owner: SchedulingClass) -> None:
        super().__init__(owner)
        self._plan: ScorePlan | None = None
        self._raw: Int64Array = np.zeros((0, 0), dtype=np.int64)

    def brought_up_to(
        self, table: NodeTable, framework: Framework, state: CycleState, pod: Pod, plan: ScorePlan
    ) -> Int64Array | None:
        """The scores of the plan's plugins as of now, not to be changed; None when a plugin could not score."""
        if plan is not self._plan:
            self._forget()
            self._plan = plan
        if self._version == table.version:
            return self._raw
        stale = self._stale_rows(table)
        nodes_too = stale is None or self._nodes_version != table.nodes_version
        if stale is None:
            stale = list(range(len(table)))
            self._raw = np.zeros((len(plan.plugins), len(table)), dtype=np.int64)
        self._as_of(table)
        rows = np.array(stale, dtype=np.int32) if nodes_too or len(stale) > _FEW_ROWS else None
        for plugin, raw in zip(plan.plugins, self._raw, strict=True):
            level = self._owner.levels[plugin.name]
            if level is Reads.CLUSTER or (level is not Reads.ROW and not nodes_too):
                continue
            if rows is None:
                answered = _score_one_by_one(plugin, state, pod, table, stale, raw)
            else:
                scores = framework.table_scorers[plugin.name].score_nodes(state, pod, table, rows)
                answered = scores is not None
                if scores is not None:
                    raw[rows] = scores
            if not answered:
                self._forget()
                return None
        return self._raw


def _score_one_by_one(
    plugin: ScorePlugin, state: CycleState, pod: Pod, table: NodeTable, rows: Iterable[int], raw: Int64Array
) -> bool:
    """Score the rows in the row form; False when the plugin could not."""
    for row in rows:
        node_info = table.node_infos[row]
        if node_info is not None:
            raw[row], status = plugin.score(state, pod, node_info)
            if not status.is_success:
                return False
    return True


class Reuse:
    """The classes of one profile, those used least recently first."""

    def __init__(self, framework: Framework) -> None:
        points = (framework.pre_filter, framework.filter, framework.pre_score, framework.score)
        self._plugins = {plugin.name: plugin for point in points for plugin in point}
        self._by_node_only = {plugin.name for plugin in framework.filter} - framework.table_filters.keys()
        self._by_node_only |= {plugin.name for plugin in framework.score} - framework.table_scorers.keys()
        self._classes: dict[Signature, SchedulingClass | None] = {}
        self._seen: dict[Signature, None] = {}

    def __len__(self) -> int:
        """How many classes are kept at the moment."""
        return sum(each is not None for each in self._classes.values())

    def class_of(self, pod: Pod, key: Signature, table: NodeTable) -> SchedulingClass | None:
        """The class of pods with the signature `key`; None for the first of them, and where nothing can be kept."""
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
