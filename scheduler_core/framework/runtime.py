"""A profile made runnable: its plugins at each extension point, and how their answers merge.

Filters stop at the first refusal; PreFilter goes on after an Unschedulable, because preemption may need
the state of the plugins behind it; Unreserve runs over all plugins in reverse, whether or not they reserved.
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.config.defaults import DEFAULT_PLUGINS
from scheduler_core.config.types import KubeSchedulerProfile, Plugins
from scheduler_core.errors import ConfigError
from scheduler_core.framework import expansion
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.interface import (
    BindPlugin,
    FilterPlugin,
    Handle,
    NominatedPods,
    NominatingInfo,
    NominatingMode,
    PermitPlugin,
    Plugin,
    PluginFactory,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScoreExtensions,
    ScorePlugin,
    TableFilterPlugin,
    TablePreFilterPlugin,
    TablePreScorePlugin,
    TableScorePlugin,
)
from scheduler_core.framework.limits import LIMITS, Limits
from scheduler_core.framework.refusals import refusal
from scheduler_core.framework.reuse import Pace, Reuse, SchedulingClass
from scheduler_core.framework.room import FiltersByRoom
from scheduler_core.framework.waiting_pods import MAX_PERMIT_TIMEOUT_US
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import NodeToStatus, PodInfo
from scheduler_core.table.node_table import NodeTable

_DEFAULT_NAMES = frozenset(entry.name for entry in DEFAULT_PLUGINS.multi_point.enabled)


class PreFilterOutcome(msgspec.Struct, frozen=True):
    """What PreFilter came to: the nodes worth looking at (None: all), and the plugins that narrowed them down."""

    status: Status
    node_names: frozenset[str] | None
    plugins_with_nodes: tuple[str, ...]  # sorted


_ALL_NODES = PreFilterOutcome(SUCCESS, None, ())


@dataclass(frozen=True, slots=True)
class FilterPlan:
    """The filters that take part, by index: those with a table form, and those asked node by node."""

    in_table: tuple[int, ...]
    by_node: tuple[int, ...]
    skipped: tuple[str, ...]  # sorted


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """The scorers that take part, by index, with their weights; `normalizers`: (place among these, name)."""

    plugins: tuple[int, ...]
    weights: tuple[tuple[str, int], ...]
    normalizers: tuple[tuple[int, str], ...]
    skipped: tuple[str, ...]  # sorted
    factors: npt.NDArray[np.int64]  # the weights once more


class Framework:
    """The plugins of one profile, instantiated and in running order."""

    def __init__(
        self,
        profile: KubeSchedulerProfile,
        registry: Mapping[str, PluginFactory],
        handle: Handle,
        *,
        use_table: bool = True,
        reuse: bool = True,
        limits: Limits = LIMITS,
    ) -> None:
        """`use_table` False: rules are asked node by node; `reuse` False: nothing is kept between cycles; `limits`: of
        what is kept."""
        self.name = profile.scheduler_name
        self.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score
        self.use_table = use_table
        plugins, self.left_out = _without_missing_defaults(profile.plugins, registry)
        self.instances = _instantiate(profile, expansion.needed_plugins(plugins), registry, handle)
        self.not_deterministic = _not_deterministic(self.instances)
        points = expansion.expand(plugins, self.instances)
        self.pre_enqueue = cast(list[PreEnqueuePlugin], points["pre_enqueue"])
        self.pre_filter = cast(list[PreFilterPlugin], points["pre_filter"])
        self.filter = cast(list[FilterPlugin], points["filter"])
        self.post_filter = cast(list[PostFilterPlugin], points["post_filter"])
        self.pre_score = cast(list[PreScorePlugin], points["pre_score"])
        self.score = cast(list[ScorePlugin], points["score"])
        self.reserve = cast(list[ReservePlugin], points["reserve"])
        self.permit = cast(list[PermitPlugin], points["permit"])
        self.pre_bind = cast(list[PreBindPlugin], points["pre_bind"])
        self.bind = cast(list[BindPlugin], points["bind"])
        self.post_bind = cast(list[PostBindPlugin], points["post_bind"])
        self.pre_filter_extensions = [p for p in self.pre_filter if isinstance(p, PreFilterExtensions)]
        in_table = self.instances.values() if use_table else ()
        self.table_filters = {p.name: p for p in in_table if isinstance(p, TableFilterPlugin)}
        self.table_pre_filters = {p.name: p for p in in_table if isinstance(p, TablePreFilterPlugin)}
        self.table_pre_scorers = {p.name: p for p in in_table if isinstance(p, TablePreScorePlugin)}
        self.table_scorers = {p.name: p for p in in_table if isinstance(p, TableScorePlugin)}
        self.normalizers = {p.name: p for p in self.score if isinstance(p, ScoreExtensions)}
        queue_sorts = cast(list[QueueSortPlugin], points["queue_sort"])
        if len(queue_sorts) != 1:
            raise ConfigError(
                [
                    f'only one queue sort plugin required for profile with scheduler name "{self.name}",'
                    f" but got {len(queue_sorts)}"
                ]
            )
        self.queue_sort = queue_sorts[0]
        if not self.bind:
            raise ConfigError([f'at least one bind plugin is needed for profile with scheduler name "{self.name}"'])
        self.weights = expansion.score_weights(plugins, self.instances, points["score"])
        self._filter_plans: dict[frozenset[str], FilterPlan] = {}
        self._score_plans: dict[frozenset[str], ScorePlan] = {}
        self.by_room = FiltersByRoom(self)
        self.pace = Pace()  # of walks for pods without a class
        self.reuse = Reuse(self, limits) if reuse and use_table else None

    @property
    def replayable(self) -> bool:
        """Whether equal inputs are sure to give equal decisions: plugins not in tree have to say so of themselves."""
        return not self.not_deterministic

    # What takes part when some plugins are skipped: few sets of them ever occur

    def filter_plan(self, skipped: frozenset[str]) -> FilterPlan:
        plan = self._filter_plans.get(skipped)
        if plan is None:
            active = [(index, plugin.name) for index, plugin in enumerate(self.filter) if plugin.name not in skipped]
            plan = self._filter_plans[skipped] = FilterPlan(
                in_table=tuple(index for index, name in active if name in self.table_filters),
                by_node=tuple(index for index, name in active if name not in self.table_filters),
                skipped=tuple(sorted(skipped)),
            )
        return plan

    def score_plan(self, skipped: frozenset[str]) -> ScorePlan:
        plan = self._score_plans.get(skipped)
        if plan is None:
            active = [(index, plugin.name) for index, plugin in enumerate(self.score) if plugin.name not in skipped]
            plan = self._score_plans[skipped] = ScorePlan(
                plugins=tuple(index for index, _ in active),
                weights=tuple((name, self.weights[name]) for _, name in active),
                normalizers=tuple((place, name) for place, (_, name) in enumerate(active) if name in self.normalizers),
                skipped=tuple(sorted(skipped)),
                factors=np.array([self.weights[name] for _, name in active], dtype=np.int64),
            )
        return plan

    # PreFilter and Filter

    def run_pre_filter(
        self,
        state: CycleState,
        pod: Pod,
        node_infos: Sequence[NodeInfo],
        table: NodeTable,
        kept: SchedulingClass | None = None,
    ) -> PreFilterOutcome:
        """Ask every plugin once about the whole cluster, or its class; plugins that skip are left out of Filter too."""
        plugins = self.pre_filter
        skipped: list[str] = []
        if kept is not None:
            state.take_over(kept.pre_filter.values)
            if kept.pre_filter.anew == ():
                state.skip_filter_plugins = kept.pre_filter.skipped
                return _ALL_NODES
            if kept.pre_filter.anew is not None:
                plugins = [self.pre_filter[index] for index in kept.pre_filter.anew]
        merged: frozenset[str] | None = None
        with_nodes: list[str] = []
        refused = SUCCESS
        try:
            for plugin in plugins:
                result, status = self._ask_pre_filter(plugin, state, pod, node_infos, table, kept)
                if status.is_skip:
                    skipped.append(plugin.name)
                    continue
                if not status.is_success:
                    if status.code is Code.UnschedulableAndUnresolvable:
                        return PreFilterOutcome(status.by(plugin.name), None, ())
                    if status.code is Code.Unschedulable:
                        refused = status.by(plugin.name)
                        continue
                    failure = Status.failed(f'running PreFilter plugin "{plugin.name}": {status.message}')
                    return PreFilterOutcome(failure, None, ())
                if result is None or result.node_names is None:
                    continue
                with_nodes.append(plugin.name)
                merged = result.node_names if merged is None else merged & result.node_names
                if not merged:
                    names = tuple(sorted(with_nodes))
                    return PreFilterOutcome(Status.unresolvable(_no_nodes_text(names)), frozenset(), names)
        finally:
            state.skip_filter_plugins = (
                kept.pre_filter.skipped_with(skipped) if kept is not None else frozenset(skipped)
            )
        if kept is not None and kept.pre_filter.anew is None and refused is SUCCESS and not with_nodes:
            kept.pre_filter.settle(self.pre_filter, skipped)
        return PreFilterOutcome(refused, merged, tuple(sorted(with_nodes)))

    def _ask_pre_filter(
        self,
        plugin: PreFilterPlugin,
        state: CycleState,
        pod: Pod,
        node_infos: Sequence[NodeInfo],
        table: NodeTable,
        kept: SchedulingClass | None,
    ) -> tuple[PreFilterResult | None, Status]:
        if kept is not None and kept.keeps(plugin.name):
            known = kept.pre_filter.answers.get(plugin.name)
            if known is not None:
                return known
            return kept.pre_filter.record(plugin.name, state, lambda: plugin.pre_filter(state, pod, node_infos))
        table_plugin = self.table_pre_filters.get(plugin.name)
        if table_plugin is not None:
            return table_plugin.pre_filter_table(state, pod, table)
        return plugin.pre_filter(state, pod, node_infos)

    def run_add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status:
        """Tell the PreFilter states that `pod_to_add` is on the node as well."""
        for plugin in self.pre_filter_extensions:
            if plugin.name in state.skip_filter_plugins:
                continue
            status = plugin.add_pod(state, pod, pod_to_add, node_info)
            if not status.is_success:
                return Status.failed(f'running AddPod on PreFilter plugin "{plugin.name}": {status.message}')
        return SUCCESS

    def run_remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status:
        """Tell the PreFilter states that `pod_to_remove` is not on the node any more."""
        for plugin in self.pre_filter_extensions:
            if plugin.name in state.skip_filter_plugins:
                continue
            status = plugin.remove_pod(state, pod, pod_to_remove, node_info)
            if not status.is_success:
                return Status.failed(f'running RemovePod on PreFilter plugin "{plugin.name}": {status.message}')
        return SUCCESS

    def run_filters(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        """The first refusal of the node, blamed on its plugin."""
        for plugin in self.filter:
            if plugin.name in state.skip_filter_plugins:
                continue
            status = plugin.filter(state, pod, node_info)
            if not status.is_success:
                return refusal(plugin.name, status)
        return SUCCESS

    def run_filters_with_nominated_pods(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, nominated: NominatedPods
    ) -> Status:
        """Whether the pod fits both with the pods nominated to the node and without them."""
        extra = [info for info in nominated.nominated_pods_for_node(node_info.name) if counts_against(info.pod, pod)]
        if extra:
            crowded_state, crowded = state.clone(), node_info.copy()
            for info in extra:
                crowded.add_pod(info)
                status = self.run_add_pod(crowded_state, pod, info, crowded)
                if not status.is_success:
                    return status
            status = self.run_filters(crowded_state, pod, crowded)
            if not status.is_success:
                return status
        return self.run_filters(state, pod, node_info)

    def run_post_filter(
        self, state: CycleState, pod: Pod, node_to_status: NodeToStatus
    ) -> tuple[NominatingInfo | None, Status]:
        """What can be done about a pod that fits nowhere: the first plugin with an answer, else all their reasons."""
        nominating: NominatingInfo | None = None
        reasons: list[str] = []
        first_plugin = ""
        for plugin in self.post_filter:
            result, status = plugin.post_filter(state, pod, node_to_status)
            if status.is_success:
                return result, status
            if status.code is Code.UnschedulableAndUnresolvable:
                return result, status.by(plugin.name)
            if not status.is_rejected:
                return None, Status.failed(status.message, plugin=plugin.name)
            if result is not None and result.mode is not NominatingMode.NOOP:
                nominating = result
            reasons.extend(status.reasons)
            first_plugin = first_plugin or plugin.name
        return nominating, Status.unschedulable(*reasons, plugin=first_plugin)

    # Reserve and Permit

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        for plugin in self.reserve:
            status = plugin.reserve(state, pod, node_name)
            if not status.is_success:
                return _refused_or_failed("Reserve", plugin, status)
        return SUCCESS

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        for plugin in reversed(self.reserve):
            plugin.unreserve(state, pod, node_name)

    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, dict[str, int]]:
        """Success, Wait with the time-outs in microseconds by plugin, or the first refusal."""
        timeouts: dict[str, int] = {}
        for plugin in self.permit:
            status, timeout_us = plugin.permit(state, pod, node_name)
            if status.is_success:
                continue
            if status.is_rejected:
                return status.by(plugin.name), {}
            if not status.is_wait:
                return _refused_or_failed("Permit", plugin, status).by(plugin.name), {}
            timeouts[plugin.name] = min(timeout_us, MAX_PERMIT_TIMEOUT_US)
        if timeouts:
            text = f'one or more plugins asked to wait and no plugin rejected pod "{pod.name}"'
            return Status(Code.Wait, (text,)), timeouts
        return SUCCESS, {}

    # Bind; PreBind runs plugin by plugin in the binding cycle, which may have to wait between two of them

    def pre_bind_result(self, plugin: PreBindPlugin, status: Status) -> Status:
        """A PreBind plugin's status as the cycle sees it."""
        return status if status.is_success else _refused_or_failed("PreBind", plugin, status)

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, str]:
        """The answer of the first plugin that does not skip, and its name."""
        for plugin in self.bind:
            status = plugin.bind(state, pod, node_name)
            if status.is_skip:
                continue
            if status.is_success:
                return status, plugin.name
            return _refused_or_failed("Bind", plugin, status), plugin.name
        return Status(Code.Skip), ""

    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        for plugin in self.post_bind:
            plugin.post_bind(state, pod, node_name)


def counts_against(nominated: Pod, pod: Pod) -> bool:
    """Whether a nominated pod's room is out of reach for `pod`: it is at least as important, and another pod."""
    return nominated.priority >= pod.priority and nominated.uid != pod.uid


def _refused_or_failed(point: str, plugin: Plugin, status: Status) -> Status:
    if status.is_rejected:
        return status.by(plugin.name)
    return Status.failed(f'running {point} plugin "{plugin.name}": {status.message}')


def _no_nodes_text(plugins: tuple[str, ...]) -> str:
    if len(plugins) == 1:
        return f"node(s) didn't satisfy plugin {plugins[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"


def _without_missing_defaults(
    plugins: Plugins, registry: Mapping[str, PluginFactory]
) -> tuple[Plugins, tuple[str, ...]]:
    """The plugin sets without those of the default list this build does not have, and their names."""
    missing = tuple(
        entry.name
        for entry in plugins.multi_point.enabled
        if entry.name in _DEFAULT_NAMES and entry.name not in registry
    )
    if not missing:
        return plugins, ()
    enabled = tuple(entry for entry in plugins.multi_point.enabled if entry.name not in missing)
    multi_point = msgspec.structs.replace(plugins.multi_point, enabled=enabled)
    return msgspec.structs.replace(plugins, multi_point=multi_point), missing


def _not_deterministic(instances: Mapping[str, Plugin]) -> tuple[str, ...]:
    """Plugins of others that do not declare `deterministic = True`; no other name can be one of the default list's."""
    return tuple(
        name
        for name, plugin in instances.items()
        if name not in _DEFAULT_NAMES and getattr(plugin, "deterministic", False) is not True
    )


def _instantiate(
    profile: KubeSchedulerProfile, needed: list[str], registry: Mapping[str, PluginFactory], handle: Handle
) -> dict[str, Plugin]:
    args: dict[str, Any] = {}
    for entry in profile.plugin_config:
        if entry.name in args:
            raise ConfigError([f"repeated config for plugin {entry.name}"])
        args[entry.name] = entry.args
    instances: dict[str, Plugin] = {}
    for name in needed:
        if name not in registry:
            continue  # found missing where it is used, with the name of the point
        try:
            instances[name] = registry[name](args.get(name), handle)
        except ConfigError as error:
            raise ConfigError([f'initializing plugin "{name}": {error}']) from error
    return instances
