"""Equivalence classes: what the cycle of one pod leaves to the next pod with the same signature.

To equivalent pods every plugin that says what it depends on gives equal answers until that changes. From the second
such pod on a class caches what PreFilter and PreScore said, each row's first refusal, and its raw scores; rows that
changed are judged again before they are used. Plugins that depend on other rows are asked in every cycle. Where one
plugin of a profile does not say what it depends on for a pod, nothing is cached for that pod.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from scheduler_core.api.signature import Signature
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.fast.answers import CachedRefusals, CachedScores, FilterGroups
from scheduler_core.cycle.fast.columns import (
    ColumnRunner,
    Pace,
    pre_filter_table,
    pre_score_table,
    score_table,
    walk_by_columns,
)
from scheduler_core.cycle.fast.limits import LIMITS, Limits
from scheduler_core.cycle.fast.refusals import FirstRefusals, judge_rows
from scheduler_core.cycle.filtering import (
    ALL_NODES,
    PreFilterAnswer,
    PreFilterOutcome,
    ask_pre_filter,
    nominated_that_count,
)
from scheduler_core.cycle.runner import Runner
from scheduler_core.cycle.scoring import Scored, ask_pre_score, ask_score, weigh
from scheduler_core.cycle.view import Int32Array, PickedNodes, Rows
from scheduler_core.cycle.walk import Walk
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.points import Plugin, PreFilterPlugin, PreScorePlugin
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.runtime import Framework
from scheduler_core.lru import LruDict
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.table.node_table import NodeTable

A = TypeVar("A")


@dataclass(slots=True)
class PointAnswers(Generic[A]):
    """What the cacheable plugins said at one extension point, by name, and what they wrote into the cycle's state."""

    answers: dict[str, A] = field(default_factory=dict)
    values: dict[type[Any], Any] = field(default_factory=dict)
    # Once all are known and all are success or skip: those that skip, and who is asked in every cycle, by index.
    skipped: frozenset[str] = frozenset()
    every_cycle: tuple[int, ...] | None = None
    _skipped_with: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)

    def settle(self, plugins: Sequence[Plugin], skipped: Iterable[str]) -> None:
        """No cached answer ends or narrows the cycle; `skipped`: who skips in this one."""
        self.skipped = frozenset(name for name in skipped if name in self.answers)
        self.every_cycle = tuple(index for index, plugin in enumerate(plugins) if plugin.name not in self.answers)

    def skipped_with(self, others: Sequence[str]) -> frozenset[str]:
        """The plugins that skip, and these others of those asked in this cycle."""
        if not others:
            return self.skipped
        key = tuple(others)
        if key not in self._skipped_with:
            self._skipped_with[key] = self.skipped.union(others)
        return self._skipped_with[key]

    def get(self, plugin_name: str, state: CycleState, question: Callable[[], A]) -> A:
        """The plugin's answer; the first pod of the class asks the question."""
        if plugin_name not in self.answers:
            self.answers[plugin_name], values = state.recorded(question)
            self.values.update(values)
        return self.answers[plugin_name]


class EquivalenceClass:
    """The runner of pods with one signature under one profile; it decorates the one that asks all plugins.

    `levels`: what each plugin depends on. They hold while `on_cluster` is what the plugins say that depend on the
    cluster only sometimes.
    """

    def __init__(
        self,
        decorated: ColumnRunner,
        levels: dict[str, DependsOn],
        on_cluster: Sequence[bool] = (),
        limits: Limits = LIMITS,
    ) -> None:
        self._decorated = decorated
        self._levels = levels
        self.on_cluster = on_cluster
        self.memo: dict[Hashable, tuple[Hashable, Any]] = {}
        self.pace = Pace()
        self._pre_filter: PointAnswers[PreFilterAnswer] = PointAnswers()
        self._pre_score: PointAnswers[Status] = PointAnswers()
        self._groups: dict[frozenset[str], FilterGroups] = {}
        self._last_walk: tuple[Hashable, Walk] | None = None  # and all it depended on
        self._refusals = CachedRefusals(limits)
        self._scores = CachedScores(levels, limits)

    def pre_filter(self, cycle: Cycle) -> PreFilterOutcome:
        cached, state, plugins = self._pre_filter, cycle.state, cycle.profile.pre_filter
        state.take_over(cached.values)
        if cached.every_cycle == ():
            state.skip_filter_plugins = cached.skipped
            return ALL_NODES
        if cached.every_cycle is not None:
            asked = [plugins[index] for index in cached.every_cycle]
            outcome, skipped = ask_pre_filter(asked, partial(pre_filter_table, cycle))
        else:
            outcome, skipped = ask_pre_filter(plugins, partial(self._ask_pre_filter, cycle))
            if outcome.status is SUCCESS and not outcome.plugins_with_nodes:
                cached.settle(plugins, skipped)
        state.skip_filter_plugins = cached.skipped_with(skipped)
        return outcome

    def _ask_pre_filter(self, cycle: Cycle, plugin: PreFilterPlugin) -> PreFilterAnswer:
        """The cached answer, unless it depends on the cluster."""
        if self._levels[plugin.name] is DependsOn.CLUSTER:
            return pre_filter_table(cycle, plugin)
        state = cycle.state
        return self._pre_filter.get(plugin.name, state, lambda: plugin.pre_filter(state, cycle.pod, cycle.view.infos))

    def filter(self, cycle: Cycle, candidates: Int32Array | None) -> Walk:
        num_nodes = len(cycle.view.rows if candidates is None else candidates)
        if not cycle.profile.filter or num_nodes <= 1:
            return self._decorated.filter(cycle, candidates)
        groups, nominated = self._groups_of(cycle), nominated_that_count(cycle)
        # Nothing is read but the pod's signature and the rows: an unchanged table gives the same walk.
        key = (cycle.view.table.version, cycle.start % num_nodes, cycle.wanted)
        may_repeat = candidates is None and not (groups.every_cycle or groups.by_node or nominated)
        if may_repeat and self._last_walk is not None and self._last_walk[0] == key:
            return self._last_walk[1]
        walk = walk_by_columns(cycle, candidates, self, nominated) or self._decorated.filter(cycle, candidates)
        if may_repeat:
            self._last_walk = key, walk
        return walk

    def left_by_node(self, cycle: Cycle) -> tuple[int, ...]:
        return self._groups_of(cycle).by_node

    def judge(
        self, cycle: Cycle, rows: Rows, numbering: FirstRefusals | None = None, *, codes_only: bool = False
    ) -> FirstRefusals | None:
        groups = self._groups_of(cycle)
        asked = groups.every_cycle
        refusals = self._refusals.at(cycle, rows, groups, codes_only=codes_only and not asked)
        if refusals is not None and asked:
            judge_rows(cycle, rows, asked, refusals)
        return refusals

    def pre_score(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Status:
        if not isinstance(nodes, PickedNodes):
            return self._decorated.pre_score(cycle, nodes)
        cached, state, plugins = self._pre_score, cycle.state, cycle.profile.pre_score
        state.take_over(cached.values)
        if cached.every_cycle == ():
            state.skip_score_plugins = cached.skipped
            return SUCCESS
        if cached.every_cycle is not None:
            asked = [plugins[index] for index in cached.every_cycle]
            status, skipped = ask_pre_score(asked, partial(pre_score_table, cycle, nodes))
        else:
            status, skipped = ask_pre_score(plugins, partial(self._ask_pre_score, cycle, nodes))
            if status is SUCCESS:
                cached.settle(plugins, skipped)
        state.skip_score_plugins = cached.skipped_with(skipped)
        return status

    def _ask_pre_score(self, cycle: Cycle, nodes: PickedNodes, plugin: PreScorePlugin) -> Status:
        """The cached answer, unless it depends on the cluster."""
        if self._levels[plugin.name] is DependsOn.CLUSTER:
            return pre_score_table(cycle, nodes, plugin)
        state = cycle.state
        return self._pre_score.get(plugin.name, state, lambda: plugin.pre_score(state, cycle.pod, nodes))

    def score(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Scored:
        if not isinstance(nodes, PickedNodes):
            return self._decorated.score(cycle, nodes)
        plan = cycle.profile.score_plan(cycle.state.skip_score_plugins)
        raw = self._scores.at(cycle, nodes.rows, plan)
        if raw is None:
            return self._decorated.score(cycle, nodes)
        if self._scores.every_cycle:
            lines = self._scores.every_cycle
            failure = ask_score(cycle, nodes, raw, lines, partial(score_table, cycle, nodes))
            if not failure.is_success:
                return None, failure
        return weigh(cycle, plan, raw)

    def _groups_of(self, cycle: Cycle) -> FilterGroups:
        """How the filters at work are cached; few sets of skipped ones ever occur."""
        skipped = cycle.state.skip_filter_plugins
        groups = self._groups.get(skipped)
        if groups is None:
            profile = cycle.profile
            plan = profile.filter_plan(skipped)
            levels = {
                index: self._levels[profile.filter[index].name] for index in sorted((*plan.in_table, *plan.by_node))
            }
            groups = self._groups[skipped] = FilterGroups(
                by_object=tuple(index for index, level in levels.items() if level <= DependsOn.NODE_OBJECT),
                by_row=tuple(index for index, level in levels.items() if level is DependsOn.NODE_INFO),
                every_cycle=tuple(index for index in plan.in_table if levels[index] is DependsOn.CLUSTER),
                by_node=tuple(index for index in plan.by_node if levels[index] is DependsOn.CLUSTER),
            )
        return groups


class EquivalenceClasses:
    """The classes of one profile, those used least recently first; pods without one get the decorated runner."""

    def __init__(self, decorated: ColumnRunner, profile: Framework, limits: Limits = LIMITS) -> None:
        self._decorated = decorated
        self._profile = profile
        self._limits = limits
        self._classes: LruDict[Signature, EquivalenceClass | None] = LruDict(limits.max_classes)
        self._seen: LruDict[Signature, None] = LruDict(limits.max_seen)
        self._unused = 0  # classes made for a first pod, less the second pods since

    def __len__(self) -> int:
        """How many classes there are at the moment."""
        return sum(each is not None for each in self._classes.values())

    def runner_of(self, cycle: Cycle) -> Runner:
        found = self._class_of(cycle) if not self._profile.ends_reuse else None
        if found is None:
            return self._decorated
        cycle.state.memo = found.memo
        return found

    def _class_of(self, cycle: Cycle) -> EquivalenceClass | None:
        """None where nothing can be cached, and for the first pod with its signature while few of these recur."""
        key = cycle.signature
        if key in self._classes:
            known = self._classes.use(key)
            if key in self._seen:
                self._recurred(key)
            if known is not None and known.on_cluster != self._on_cluster(cycle):
                known = self._classes[key] = self._new_class(cycle)
            return known
        limits = self._limits
        if len(key) > limits.longest_signature:
            return None
        if key in self._seen:
            self._recurred(key)
        else:
            self._seen[key] = None
            if self._unused >= limits.max_unused:
                return None
            self._unused += 1
        by_rows = limits.max_rows // max(len(cycle.view.table), 1)
        self._classes.limit = min(max(by_rows, limits.min_classes), limits.max_classes)
        found = self._classes[key] = self._new_class(cycle)
        return found

    def _recurred(self, key: Signature) -> None:
        """Here is the second pod with this signature."""
        del self._seen[key]
        self._unused = max(self._unused - 1, 0)

    def _on_cluster(self, cycle: Cycle) -> list[bool]:
        """What the plugins say now that depend on the cluster only sometimes."""
        table: NodeTable = cycle.view.table
        return [plugin.depends_on_cluster(cycle.pod, table) for plugin in self._profile.sometimes_on_cluster]

    def _new_class(self, cycle: Cycle) -> EquivalenceClass | None:
        on_cluster = self._on_cluster(cycle)
        levels: dict[str, DependsOn] = {}
        for name, plugin in self._profile.cacheable.items():
            level = plugin.depends_on(cycle.pod)
            if level is None:
                return None
            levels[name] = level
        for sometimes, has_to in zip(self._profile.sometimes_on_cluster, on_cluster, strict=True):
            if not has_to:
                levels[sometimes.name] = DependsOn.POD
        return EquivalenceClass(self._decorated, levels, on_cluster, self._limits)
