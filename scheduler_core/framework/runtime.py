"""A profile made runnable: its plugins at each extension point, and how their answers merge.

Filters stop at the first refusal; Unreserve runs over all plugins in reverse, whether or not they reserved. PreFilter,
and the ways over many nodes, are in `cycle/`.
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.config.defaults import DEFAULT_PLUGINS
from scheduler_core.config.types import KubeSchedulerProfile, Plugins
from scheduler_core.errors import ConfigError, ConfigProblem
from scheduler_core.framework import expansion
from scheduler_core.framework.answers import NominatingInfo, NominatingMode
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle, NominatedPods, PluginFactory
from scheduler_core.framework.points import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScoreExtensions,
    ScorePlugin,
)
from scheduler_core.framework.reuse import CacheablePlugin, NodeJudgePlugin, NodeScorerPlugin, SometimesOnClusterPlugin
from scheduler_core.framework.roles import AmountsTeller, DeviceAccountant, EvictionObserver
from scheduler_core.framework.table_forms import (
    HeadroomPlugin,
    TableFilterPlugin,
    TablePreFilterPlugin,
    TablePreScorePlugin,
    TableScorePlugin,
)
from scheduler_core.framework.waiting_pods import MAX_PERMIT_TIMEOUT_US
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import NodeToStatus, PodInfo

# Points whose answers may be cached.
_OVER_NODES = ("pre_filter", "filter", "pre_score", "score")
_DEFAULT_NAMES = frozenset(entry.name for entry in DEFAULT_PLUGINS.multi_point.enabled)


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
    """The plugins of one profile, instantiated and in running order.

    `ends_reuse`: plugins that do not say what their answers depend on, so that nothing is cached between pods.
    """

    def __init__(
        self,
        profile: KubeSchedulerProfile,
        registry: Mapping[str, PluginFactory],
        handle: Handle,
        *,
        use_table: bool = True,
    ) -> None:
        """`use_table` False: plugins are taken to have no table form."""
        self.name = profile.scheduler_name
        self.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score
        plugins, self.left_out = _without_missing_defaults(profile.plugins, registry)
        making = _Making(profile, registry, handle)
        self.instances = making.instances(expansion.needed_plugins(plugins))
        self.not_deterministic = _not_deterministic(self.instances)
        expanding = expansion.Expansion(plugins, self.instances, registry)
        points = expanding.expand()
        self.weights = expanding.score_weights(points["score"])
        problems = [*making.problems, *expanding.problems]
        problems += _too_few_or_many(self.name, points) if not making.failed else ()
        if problems:
            raise ConfigError(problems)
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
        over_nodes = {p.name: p for name in _OVER_NODES for p in points[name]}
        self.ends_reuse = tuple(name for name, p in over_nodes.items() if not isinstance(p, CacheablePlugin))
        self.cacheable = {name: p for name, p in over_nodes.items() if isinstance(p, CacheablePlugin)}
        self.sometimes_on_cluster = [p for p in over_nodes.values() if isinstance(p, SometimesOnClusterPlugin)]
        in_table = self.instances.values() if use_table else ()
        self.table_filters = {p.name: p for p in in_table if isinstance(p, TableFilterPlugin)}
        self.headroom_filters = {p.name: p for p in self.filter if isinstance(p, HeadroomPlugin)}
        self.table_pre_filters = {p.name: p for p in in_table if isinstance(p, TablePreFilterPlugin)}
        self.table_pre_scorers = {p.name: p for p in in_table if isinstance(p, TablePreScorePlugin)}
        self.table_scorers = {p.name: p for p in in_table if isinstance(p, TableScorePlugin)}
        self.normalizers = {p.name: p for p in self.score if isinstance(p, ScoreExtensions)}
        self.node_judges = {p.name: p for p in self.filter if isinstance(p, NodeJudgePlugin)}
        self.node_scorers = {p.name: p for p in self.score if isinstance(p, NodeScorerPlugin)}
        # Asked once: to tell whether an object has a Protocol's methods takes longer than a filter over all nodes.
        self.eviction_observers = [p for p in self.instances.values() if isinstance(p, EvictionObserver)]
        self.device_accountants = [p for p in self.instances.values() if isinstance(p, DeviceAccountant)]
        self.amounts_tellers = {p.name: p for p in self.instances.values() if isinstance(p, AmountsTeller)}
        self.queue_sort = cast(list[QueueSortPlugin], points["queue_sort"])[0]
        self._filter_plans: dict[frozenset[str], FilterPlan] = {}
        self._score_plans: dict[frozenset[str], ScorePlan] = {}

    @property
    def replayable(self) -> bool:
        """Whether equal inputs are sure to give equal decisions: plugins not in tree have to say so of themselves."""
        return not self.not_deterministic

    def reweighted(self, plugin: str, weight: int) -> Framework:
        """The same plugins, of which this one's scores weigh otherwise; with 0 it does not score."""
        changed = copy.copy(self)
        changed.weights = {**self.weights, plugin: weight}
        changed.score = [each for each in self.score if weight or each.name != plugin]
        changed._score_plans = {}
        return changed

    def without(self, *plugins: str) -> Framework:
        """The same plugins, of which these keep no pod from any node."""
        changed = copy.copy(self)
        for point in ("pre_filter", "filter", "pre_filter_extensions"):
            setattr(changed, point, [each for each in getattr(self, point) if each.name not in plugins])
        changed._filter_plans = {}
        return changed

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

    # Filter, for one node
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
            crowded_state, crowded, status = self.with_pods(state, pod, node_info, extra)
            if status.is_success:
                status = self.run_filters(crowded_state, pod, crowded)
            if not status.is_success:
                return status
        return self.run_filters(state, pod, node_info)

    def with_pods(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, infos: Iterable[PodInfo]
    ) -> tuple[CycleState, NodeInfo, Status]:
        """Copies of the state and the node as they would be with these pods there, or how far that came."""
        crowded_state, crowded = state.clone(), node_info.copy()
        for info in infos:
            crowded.add_pod(info)
            status = self.run_add_pod(crowded_state, pod, info, crowded)
            if not status.is_success:
                return crowded_state, crowded, status
        return crowded_state, crowded, SUCCESS

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
    """Whether `pod` must leave the resources of a nominated pod alone: that is another, and at least as important."""
    return nominated.priority >= pod.priority and nominated.uid != pod.uid


def _refused_or_failed(point: str, plugin: Plugin, status: Status) -> Status:
    if status.is_rejected:
        return status.by(plugin.name)
    return Status.failed(f'running {point} plugin "{plugin.name}": {status.message}')


def refusal(plugin: str, status: Status) -> Status:
    """A filter's non-success, blamed; anything that is no rejection is an error of the plugin."""
    if status.is_rejected:
        return status.by(plugin)
    return Status.failed(f'running "{plugin}" filter plugin: {status.message}', plugin=plugin)


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


def _too_few_or_many(name: str, points: Mapping[str, list[Plugin]]) -> Iterator[ConfigProblem]:
    """A profile needs one queue sort plugin, and a bind plugin."""
    sorts, binds = len(points["queue_sort"]), len(points["bind"])
    if sorts != 1:
        text = f'only one queue sort plugin required for profile with scheduler name "{name}", but got {sorts}'
        yield ConfigProblem("plugins.queueSort", text, f"{sorts} plugins", "one plugin", sentence=text)
    if not binds:
        text = f'at least one bind plugin is needed for profile with scheduler name "{name}"'
        yield ConfigProblem("plugins.bind", text, "no plugin", "at least one plugin", sentence=text)


class _Making:
    """Makes the plugins of a profile; `failed` are those that could not be made, with their `problems`."""

    def __init__(self, profile: KubeSchedulerProfile, registry: Mapping[str, PluginFactory], handle: Handle) -> None:
        self.problems: list[ConfigProblem] = []
        self.failed: set[str] = set()
        self._registry = registry
        self._handle = handle
        self._args: dict[str, Any] = {}
        for entry in profile.plugin_config:
            if entry.name in self._args:
                self._add(entry.name, f"repeated config for plugin {entry.name}")
            self._args[entry.name] = entry.args

    def instances(self, needed: list[str]) -> dict[str, Plugin]:
        """The plugins of these names that there are: others are found missing where they are used."""
        found: dict[str, Plugin] = {}
        for name in needed:
            if name in self._registry:
                try:
                    found[name] = self._registry[name](self._args.get(name), self._handle)
                except ConfigError as error:
                    self.failed.add(name)
                    self._add(name, f'initializing plugin "{name}": {error}')
        return found

    def _add(self, name: str, text: str) -> None:
        self.problems.append(ConfigProblem("pluginConfig", text, item=name, sentence=text))
