"""Which nodes a pod fits on: PreFilter once for the cluster, then Filter node by node.

Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins),
pkg/scheduler/schedule_one.go (findNodesThatPassFilters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.view import Int32Array
from scheduler_core.cycle.walk import Codes
from scheduler_core.framework.answers import PreFilterResult
from scheduler_core.framework.points import PreFilterPlugin
from scheduler_core.framework.runtime import counts_against
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import PodInfo

PreFilterAnswer = tuple[PreFilterResult | None, Status]


class PreFilterOutcome(msgspec.Struct, frozen=True):
    """What PreFilter came to: the nodes worth looking at (None: all), and the plugins that narrowed them down."""

    status: Status
    node_names: frozenset[str] | None = None
    plugins_with_nodes: tuple[str, ...] = ()  # sorted


ALL_NODES = PreFilterOutcome(SUCCESS)


def ask_pre_filter(
    plugins: Iterable[PreFilterPlugin], ask: Callable[[PreFilterPlugin], PreFilterAnswer]
) -> tuple[PreFilterOutcome, list[str]]:
    """Ask the plugins in turn and merge their answers; the names of those that skip, which Filter leaves out too.

    An Unschedulable does not end the round: preemption may need the state of the plugins behind it.
    """
    skipped: list[str] = []
    merged: frozenset[str] | None = None
    with_nodes: list[str] = []
    refused = SUCCESS
    for plugin in plugins:
        result, status = ask(plugin)
        if status.is_skip:
            skipped.append(plugin.name)
            continue
        if not status.is_success:
            if status.code is Code.UnschedulableAndUnresolvable:
                return PreFilterOutcome(status.by(plugin.name)), skipped
            if status.code is Code.Unschedulable:
                refused = status.by(plugin.name)
                continue
            text = f'running PreFilter plugin "{plugin.name}": {status.message}'
            failure = Status.failed(text, plugin=plugin.name)
            return PreFilterOutcome(failure), skipped
        if result is None or result.node_names is None:
            continue
        with_nodes.append(plugin.name)
        merged = result.node_names if merged is None else merged & result.node_names
        if not merged:
            names = tuple(sorted(with_nodes))
            return PreFilterOutcome(Status.unresolvable(_no_nodes_text(names)), frozenset(), names), skipped
    return PreFilterOutcome(refused, merged, tuple(sorted(with_nodes))), skipped


def _no_nodes_text(plugins: tuple[str, ...]) -> str:
    if len(plugins) == 1:
        return f"node(s) didn't satisfy plugin {plugins[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"


def filter_by_node(cycle: Cycle, nodes: Int32Array) -> tuple[Codes, list[Status]]:
    """A code for each of the nodes, and the statuses; ends with the success more than wanted, or an error."""
    statuses: list[Status] = []
    codes: list[int] = []
    found = 0
    for node in nodes.tolist():
        status = cycle.profile.run_filters_with_nominated_pods(
            cycle.state, cycle.pod, cycle.view.infos[node], cycle.nominated
        )
        if status.is_success:
            codes.append(0)
            found += 1
            if found > cycle.wanted:
                break
            continue
        statuses.append(status)
        codes.append(len(statuses))
        if status.code is Code.Error:
            break
    return np.array(codes, dtype=np.int32), statuses


def nominated_that_count(cycle: Cycle) -> dict[int, list[PodInfo]]:
    """The nominated pods, by node, whose resources are out of reach for the cycle's pod."""
    by_node: dict[int, list[PodInfo]] = {}
    for name in cycle.nominated.nominated_node_names():
        node = cycle.view.index.get(name)
        if node is None:
            continue
        infos = [info for info in cycle.nominated.nominated_pods_for_node(name) if counts_against(info.pod, cycle.pod)]
        if infos:
            by_node[node] = infos
    return by_node
