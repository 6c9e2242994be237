"""What upstream refuses in the args of its default plugins.

Source: kubernetes v1.34.1, pkg/scheduler/apis/config/validation/validation_pluginargs.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scheduler_core.api.selectors import SelectorError, parse_node_selector, parse_preferred_terms
from scheduler_core.api.syntax import qualified_name_problem
from scheduler_core.config.fields import duplicate, forbidden, invalid, required, unsupported
from scheduler_core.config.types import (
    ConfigValue,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from scheduler_core.errors import ConfigProblem

SCORING_STRATEGIES: Final = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_PERCENT: Final = "not in valid range [0, 100]"


def validate_args(path: str, args: ConfigValue) -> Iterator[ConfigProblem]:
    """Problems of one plugin's args; `path` leads to them."""
    match args:
        case DefaultPreemptionArgs():
            yield from _default_preemption(path, args)
        case InterPodAffinityArgs():
            if not 0 <= args.hard_pod_affinity_weight <= 100:
                yield invalid(f"{path}.hardPodAffinityWeight", args.hard_pod_affinity_weight, _PERCENT)
        case NodeAffinityArgs():
            yield from _node_affinity(path, args)
        case NodeResourcesFitArgs():
            yield from _node_resources_fit(path, args)
        case NodeResourcesBalancedAllocationArgs():
            yield from _balanced_allocation(path, args.resources)
        case PodTopologySpreadArgs():
            yield from _pod_topology_spread(path, args)
        case VolumeBindingArgs():
            yield from _volume_binding(path, args)
        case DynamicResourcesArgs():
            if args.filter_timeout.us < 0:
                yield invalid(f"{path}.filterTimeout", args.filter_timeout, "must be zero or positive")


def _default_preemption(path: str, args: DefaultPreemptionArgs) -> Iterator[ConfigProblem]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
    if not 0 <= percentage <= 100:
        yield invalid(percentage_path, percentage, _PERCENT)
    if absolute < 0:
        yield invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        yield invalid(percentage_path, 0, "cannot be zero at the same time as minCandidateNodesAbsolute")
        yield invalid(absolute_path, 0, "cannot be zero at the same time as minCandidateNodesPercentage")


def _node_affinity(path: str, args: NodeAffinityArgs) -> Iterator[ConfigProblem]:
    affinity = args.added_affinity
    if affinity is None:
        return
    selector = affinity.required_during_scheduling_ignored_during_execution
    required_path = f"{path}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    if selector is not None:
        yield from (_within(required_path, error) for error in parse_node_selector(selector).errors)
    preferred_path = f"{path}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    try:
        parse_preferred_terms(affinity.preferred_during_scheduling_ignored_during_execution or ())
    except SelectorError as error:
        yield ConfigProblem(preferred_path, str(error))


def _within(path: str, error: str) -> ConfigProblem:
    """A problem of something at `path`, whose text begins with the path from there."""
    below, _, message = error.partition(": ")
    return ConfigProblem(f"{path}.{below}", message)


def _node_resources_fit(path: str, args: NodeResourcesFitArgs) -> Iterator[ConfigProblem]:
    for index, name in enumerate(args.ignored_resources):
        yield from _label_name(f"{path}.ignoredResources[{index}]", name)
    for index, group in enumerate(args.ignored_resource_groups):
        at = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            yield invalid(at, group, "resource group name can't contain '/'")
        else:
            yield from _label_name(at, group)
    strategy = args.scoring_strategy
    if strategy.type not in SCORING_STRATEGIES:
        yield unsupported(f"{path}.scoringStrategy.type", strategy.type, SCORING_STRATEGIES)
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            yield invalid(f"{path}.scoringStrategy.resources[{index}].weight", resource.weight, detail)
    ratio = strategy.requested_to_capacity_ratio
    if ratio is not None or strategy.type == "RequestedToCapacityRatio":
        shape = ratio.shape if ratio is not None else ()
        yield from _shape(f"{path}.scoringStrategy.requestedToCapacityRatio.shape", shape)


def _label_name(path: str, name: str) -> Iterator[ConfigProblem]:
    problem = qualified_name_problem(name)
    if problem is not None:
        yield invalid(path, name, problem)


def _balanced_allocation(path: str, resources: tuple[ResourceSpec, ...]) -> Iterator[ConfigProblem]:
    seen: set[str] = set()
    for index, resource in enumerate(resources):
        at = f"{path}.resources[{index}]"
        if resource.name in seen:
            yield duplicate(f"{at}.name", resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            yield invalid(f"{at}.weight", resource.weight, "must be 1")


def _pod_topology_spread(path: str, args: PodTopologySpreadArgs) -> Iterator[ConfigProblem]:
    if args.defaulting_type not in ("System", "List"):
        yield unsupported(f"{path}.defaultingType", args.defaulting_type, ("System", "List"))
    elif args.defaulting_type == "System" and args.default_constraints:
        yield invalid(f"{path}.defaultingType", args.defaulting_type, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        at = f"{path}.defaultConstraints[{index}]"
        key, action = constraint.topology_key, constraint.when_unsatisfiable
        if constraint.max_skew <= 0:
            yield invalid(f"{at}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
        if not key:
            yield required(f"{at}.topologyKey", "can not be empty")
        else:
            yield from _label_name(f"{at}.topologyKey", key)
        if not action:
            yield required(f"{at}.whenUnsatisfiable", "can not be empty")
        elif action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield unsupported(f"{at}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        if constraint.label_selector is not None:
            detail = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden(f"{at}.labelSelector", detail)
        if (key, action) in seen:
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        seen.add((key, action))


def _volume_binding(path: str, args: VolumeBindingArgs) -> Iterator[ConfigProblem]:
    if args.bind_timeout_seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(f"{path}.bindTimeoutSeconds", args.bind_timeout_seconds, detail)
    if args.shape:
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield invalid(f"{path}.shape", args.shape, detail)


def _shape(path: str, shape: tuple[UtilizationShapePoint, ...]) -> Iterator[ConfigProblem]:
    if not shape:
        yield required(path, "at least one point must be specified")
        return
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            detail = "values must be sorted in increasing order"
            yield invalid(f"{path}[{index}].utilization", shape[index].utilization, detail)
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield invalid(f"{path}[{index}].utilization", point.utilization, _PERCENT)
        if not 0 <= point.score <= 10:
            yield invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]")
