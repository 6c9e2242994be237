"""What the cycle of one pod leaves to the next pod like it: the scheduling class.

To pods with equal signatures every plugin that says what it reads gives equal answers until that changes. From the
second such pod on a class keeps what PreFilter and PreScore said, each row's first refusal, and its raw scores;
before they are used the rows in the table's journal are judged anew. Plugins that read other rows are asked in every
cycle. Where one plugin of a profile does not say what it reads for a pod, nothing is kept for that pod.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import Signature
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.interface import (
    Int64Array,
    Plugin,
    PreFilterResult,
    ReadingPlugin,
    Reads,
    SometimesReadingPlugin,
)
from scheduler_core.framework.limits import LIMITS, Limits
from scheduler_core.framework.refusals import FirstRefusals, judge_one_by_one, judge_rows
from scheduler_core.framework.walk import Walk
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.table.node_table import NodeTable

if TYPE_CHECKING:
    from scheduler_core.framework.runtime import Framework, ScorePlan

A = TypeVar("A")

Rows = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Recorded(Generic[A]):
    """What the plugins that are kept said at one point, by name, and what they wrote into the cycle's state."""

    answers: dict[str, A] = field(default_factory=dict)
    values: dict[type[Any], Any] = field(default_factory=dict)
    # Once all are known and all are success or skip: those that skip, and who is asked in every cycle, by index.
    skipped: frozenset[str] = frozenset()
    anew: tuple[int, ...] | None = None
    _skipped_with: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)

    def settle(self, plugins: Sequence[Plugin], skipped: Iterable[str]) -> None:
        """No answer of those kept ends or narrows the cycle; `skipped`: who skips in this one."""
        self.skipped = frozenset(name for name in skipped if name in self.answers)
        self.anew = tuple(index for index, plugin in enumerate(plugins) if plugin.name not in self.answers)

    def skipped_with(self, others: Sequence[str]) -> frozenset[str]:
        """Those that skip, and these others of the plugins asked anew."""
        if not others:
            return self.skipped
        key = tuple(others)
        if key not in self._skipped_with:
            self._skipped_with[key] = self.skipped.union(others)
        return self._skipped_with[key]

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


class Pace:
    """How far walks go lately, so that the next one looks at enough nodes at once."""

    def __init__(self) -> None:
        self._reach = 0

    def first_stretch(self, least: int, most: int) -> int:
        """How many nodes to look at first. Too many cost less than a second stretch."""
        return min(most, max(least, self._reach + self._reach // 16))

    def note(self, reach: int) -> None:
        """A walk went over so many nodes."""
        self._reach = max(reach, self._reach - self._reach // 8)


class SchedulingClass:
    """What is kept for one signature under one profile; `levels` says how far each plugin reads."""

    def __init__(self, levels: dict[str, Reads], have_to_read: Sequence[bool] = (), limits: Limits = LIMITS) -> None:
        self.levels = levels
        self.have_to_read = have_to_read  # of the plugins that do not always: the levels hold while it is so
        self.memo: dict[Hashable, tuple[Hashable, Any]] = {}
        self.pre_filter: Recorded[tuple[PreFilterResult | None, Status]] = Recorded()
        self.pre_score: Recorded[Status] = Recorded()
        self._plans: dict[frozenset[str], KeptFilters] = {}
        self.pace = Pace()
        self.last_walk: tuple[Hashable, Walk] | None = None  # and what it came to, by all it depended on
        self.refusals = KeptRefusals(self, limits)
        self.scores = KeptScores(self, limits)

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


class _Stale:
    """Marks on the rows whose answers say nothing; all have them at first."""

    __slots__ = ("any", "marks")

    def __init__(self, n_rows: int) -> None:
        self.marks: BoolArray = np.ones(n_rows, dtype=np.bool_)
        self.any = True  # False: no row has one; True where some may

    def mark(self, rows: Rows) -> None:
        self.marks[rows] = self.any = True

    def clear(self, rows: Rows) -> None:
        self.marks[rows] = False

    def among(self, rows: Rows) -> Rows | None:
        """Those of the rows that are marked; None where there are none."""
        if not self.any:
            return None
        marked = rows[self.marks[rows]]
        if len(marked):
            return marked
        self.any = bool(np.count_nonzero(self.marks))
        return None


class _Kept(ABC):
    """Answers by row; those of stale rows say nothing, and are asked for anew when the row is wanted."""

    def __init__(self, owner: SchedulingClass, limits: Limits) -> None:
        self._owner = owner
        self._limits = limits
        self._forget()

    def _forget(self) -> None:
        self._version = self._nodes_version = -1
        self._stale = _Stale(0)
        self._node_stale = _Stale(0)  # of these, rows whose node object may be another

    def _keep_up(self, table: NodeTable) -> list[int]:
        """Mark the rows that changed as stale; few of which all else is known are given back instead."""
        if self._version == table.version:
            return []
        few: list[int] = []
        if len(self._stale.marks) != len(table):
            self._stale, self._node_stale = _Stale(len(table)), _Stale(len(table))
            self._make_room(len(table))
        else:
            changed = table.rows_changed_since(self._version)
            if self._nodes_version != table.nodes_version:
                self._stale.mark(changed)
                self._node_stale.mark(changed)
            elif len(changed) > self._limits.few_changed:
                self._stale.mark(changed)
            else:
                rows = sorted(set(changed.tolist()))
                few = [row for row in rows if not self._stale.marks[row]] if self._stale.any else rows
        self._version, self._nodes_version = table.version, table.nodes_version
        return few

    @abstractmethod
    def _make_room(self, n_rows: int) -> None:
        """Answers of so many rows will come; there are none yet."""


class KeptRefusals(_Kept):
    """Each row's first refusal by the filters whose answers are kept."""

    def __init__(self, owner: SchedulingClass, limits: Limits) -> None:
        super().__init__(owner, limits)
        self._by_node = FirstRefusals.none(0)  # by filters that read no more than the node object
        self._all = FirstRefusals.none(0)

    def _make_room(self, n_rows: int) -> None:
        self._by_node = FirstRefusals.none(n_rows)
        self._all = self._by_node.alike(n_rows)

    def at(
        self, rows: Rows, table: NodeTable, framework: Framework, state: CycleState, pod: Pod, *, codes_only: bool
    ) -> FirstRefusals | None:
        """A copy of those of the rows; None when a filter failed: failures are not kept."""
        changed = self._keep_up(table)
        if changed:
            self._judge_few(changed, table, framework, state, pod)
        wanted = self._stale.among(rows)
        if wanted is not None:
            self._judge(wanted, table, framework, state, pod)
        if self._all.has_errors:
            self._forget()
            return None
        if len(self._all.statuses) > self._limits.many_statuses:
            self._forget()
        return self._all.at(rows, codes_only=codes_only)

    def _judge(self, rows: Rows, table: NodeTable, framework: Framework, state: CycleState, pod: Pod) -> None:
        plan = self._owner.plan(framework, state.skip_filter_plugins)
        of_node = self._node_stale.among(rows)
        if of_node is not None:
            part = self._by_node.alike(len(of_node))
            judge_rows(framework, state, pod, table, of_node, plan.by_node, part)
            self._by_node.put(of_node, part)
            self._node_stale.clear(of_node)
        if len(rows) > self._limits.few_rows:
            part = self._by_node.at(rows)
            judge_rows(framework, state, pod, table, rows, plan.by_row, part)
            self._all.put(rows, part)
        else:
            self._judge_few(rows.tolist(), table, framework, state, pod)
        self._stale.clear(rows)

    def _judge_few(self, rows: list[int], table: NodeTable, framework: Framework, state: CycleState, pod: Pod) -> None:
        """By the filters that read rows, on top of what is known of their node objects."""
        for row in rows:
            self._all.take_row(row, self._by_node)
        plan = self._owner.plan(framework, state.skip_filter_plugins)
        judge_one_by_one(framework, state, pod, table, rows, plan.by_row, self._all)


class KeptScores(_Kept):
    """Raw scores, shape (n_plugins, n_rows); those of plugins that are asked in every cycle say nothing."""

    def __init__(self, owner: SchedulingClass, limits: Limits) -> None:
        super().__init__(owner, limits)
        self._weights: tuple[tuple[str, int], ...] | None = None
        # Of the plugins that score, by place and index: who is asked when a row changed, when its node object did as
        # well, and in every cycle.
        self._of_rows: list[tuple[int, int]] = []
        self._of_nodes: list[tuple[int, int]] = []
        self.anew: list[tuple[int, int]] = []
        self._raw: Int64Array = np.zeros((0, 0), dtype=np.int64)

    def at(
        self, rows: Rows, table: NodeTable, framework: Framework, state: CycleState, pod: Pod, plan: ScorePlan
    ) -> Int64Array | None:
        """A copy of those of the rows for the plan's plugins; None when a plugin could not score."""
        if plan.weights != self._weights:  # others skip than did before
            self._forget()
            self._weights = plan.weights
            names = [framework.score[index].name for index in plan.plugins]
            levels = [self._owner.levels[name] if name in framework.table_scorers else Reads.CLUSTER for name in names]
            places = [
                (level, (place, index)) for level, (place, index) in zip(levels, enumerate(plan.plugins), strict=True)
            ]
            self._of_rows = [one for level, one in places if level is Reads.ROW]
            self._of_nodes = [one for level, one in places if level is not Reads.CLUSTER]
            self.anew = [one for level, one in places if level is Reads.CLUSTER]
        changed, answered = self._keep_up(table), True
        if changed:
            answered = self._score_one_by_one(changed, table, framework, state, pod, self._of_rows)
        wanted = self._stale.among(rows)
        if answered and wanted is not None:
            answered = self._score(wanted, table, framework, state, pod)
        if not answered:
            self._forget()
            return None
        return self._raw.take(rows, axis=1)

    def _make_room(self, n_rows: int) -> None:
        self._raw = np.zeros((len(self._weights or ()), n_rows), dtype=np.int64)

    def _score(self, rows: Rows, table: NodeTable, framework: Framework, state: CycleState, pod: Pod) -> bool:
        """Score the rows; False when a plugin could not."""
        of_node = self._node_stale.among(rows)
        asked = self._of_rows if of_node is None else self._of_nodes
        if len(rows) <= self._limits.few_rows:
            if not self._score_one_by_one(rows.tolist(), table, framework, state, pod, asked):
                return False
        else:
            for place, index in asked:
                scores = framework.table_scorers[framework.score[index].name].score_nodes(state, pod, table, rows)
                if scores is None:
                    return False
                self._raw[place, rows] = scores
        self._stale.clear(rows)
        if of_node is not None:
            self._node_stale.clear(of_node)
        return True

    def _score_one_by_one(
        self,
        rows: list[int],
        table: NodeTable,
        framework: Framework,
        state: CycleState,
        pod: Pod,
        asked: list[tuple[int, int]],
    ) -> bool:
        """The same in the row form."""
        for place, index in asked:
            plugin, raw = framework.score[index], self._raw[place]
            for row in rows:
                node_info = table.node_infos[row]
                if node_info is not None:
                    raw[row], status = plugin.score(state, pod, node_info)
                    if status is not SUCCESS and not status.is_success:
                        return False
        return True


class Reuse:
    """The classes of one profile, those used least recently first."""

    def __init__(self, framework: Framework, limits: Limits = LIMITS) -> None:
        self._limits = limits
        points = (framework.pre_filter, framework.filter, framework.pre_score, framework.score)
        plugins = {plugin.name: plugin for point in points for plugin in point}
        # What a protocol asks of a plugin takes long to find out. None: it does not say what it reads.
        self._reading = {name: each if isinstance(each, ReadingPlugin) else None for name, each in plugins.items()}
        self._sometimes = [plugin for plugin in plugins.values() if isinstance(plugin, SometimesReadingPlugin)]
        self._by_node_only = {plugin.name for plugin in framework.filter} - framework.table_filters.keys()
        self._by_node_only |= {plugin.name for plugin in framework.score} - framework.table_scorers.keys()
        self._classes: dict[Signature, SchedulingClass | None] = {}
        self._seen: dict[Signature, None] = {}

    def __len__(self) -> int:
        """How many classes are kept at the moment."""
        return sum(each is not None for each in self._classes.values())

    def class_of(self, pod: Pod, key: Signature, table: NodeTable) -> SchedulingClass | None:
        """The class of pods with the signature `key`; None for the first of them, and where nothing can be kept.

        `table` is as it is in this cycle.
        """
        if key in self._classes:
            known = self._classes.pop(key)
            if known is not None:
                have_to_read = [plugin.has_to_read(pod, table) for plugin in self._sometimes]
                if known.have_to_read != have_to_read:
                    known = self._class(pod, table)
            self._classes[key] = known
            return known
        if len(key) > self._limits.longest_signature:
            return None
        if key not in self._seen:
            if len(self._seen) >= self._limits.max_seen:
                del self._seen[next(iter(self._seen))]
            self._seen[key] = None
            return None
        limits = self._limits
        limit = min(max(limits.max_rows // max(len(table), 1), limits.min_classes), limits.max_classes)
        while len(self._classes) >= limit:
            del self._classes[next(iter(self._classes))]
        found = self._classes[key] = self._class(pod, table)
        del self._seen[key]
        return found

    def _class(self, pod: Pod, table: NodeTable) -> SchedulingClass | None:
        have_to_read = [plugin.has_to_read(pod, table) for plugin in self._sometimes]
        levels: dict[str, Reads] = {}
        for name, plugin in self._reading.items():
            level = plugin.reads(pod) if plugin is not None else None
            if level is None:
                return None
            # Without a table form rows cannot be kept: the plugin is asked in every cycle, node by node.
            levels[name] = Reads.CLUSTER if name in self._by_node_only and level is not Reads.POD else level
        for sometimes, has_to in zip(self._sometimes, have_to_read, strict=True):
            if not has_to:
                levels[sometimes.name] = Reads.POD
        return SchedulingClass(levels, have_to_read, self._limits)
