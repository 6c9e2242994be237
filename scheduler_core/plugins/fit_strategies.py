"""Which room is better: the score of one resource by strategy, and of a node over its resources.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/noderesources/{least_allocated,most_allocated,
requested_to_capacity_ratio}.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler_core.config.types import ScoringStrategy
from scheduler_core.framework.answers import MAX_NODE_SCORE, Int64Array
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.demand import Demand
from scheduler_core.plugins.helpers import broken_linear

SHAPE_SCALE = 10  # shape scores are 0..10


@dataclass(frozen=True, slots=True)
class Strategy:
    """The score of one resource from (a, q), a > 0, for a node and for rows.

    `shaped`: only resources that score above 0 count, and the mean is rounded half up instead of truncated.
    """

    judge: Callable[[int, int], int]
    judge_rows: Callable[[Int64Array, Int64Array], Int64Array]
    shaped: bool = False


def scorer(strategy: Strategy, demand: Demand) -> Callable[[NodeInfo], int]:
    """The score of a node by the strategy."""
    judge, usual = strategy.judge, demand.usual

    def on_node(node_info: NodeInfo) -> int:
        total = weight = 0
        for offered, asked, factor in demand.on_node(node_info, non_zero=True):
            score = judge(offered, asked)
            if score > 0 or not strategy.shaped:
                total += score * factor
                weight += factor
        if weight == 0:
            return 0
        # Sums are small and positive: exact integers round as upstream's floats do.
        return (2 * total + weight) // (2 * weight) if strategy.shaped else total // weight

    if usual is None or strategy.shaped:
        return on_node
    cpu, memory, cpu_weight, memory_weight = usual.cpu, usual.memory, usual.cpu_weight, usual.memory_weight
    both = cpu_weight + memory_weight

    def on_usual_node(node_info: NodeInfo) -> int:
        allocatable = node_info.allocatable
        offered_cpu, offered_memory = allocatable.milli_cpu, allocatable.memory
        if not offered_cpu or not offered_memory:
            return on_node(node_info)
        cpu_score = judge(offered_cpu, node_info.non_zero_milli_cpu + cpu)
        memory_score = judge(offered_memory, node_info.non_zero_memory + memory)
        return (cpu_score * cpu_weight + memory_score * memory_weight) // both

    return on_usual_node


def _least_allocated(offered: int, asked: int) -> int:
    return 0 if asked > offered else (offered - asked) * MAX_NODE_SCORE // offered


def _least_allocated_rows(offered: Int64Array, asked: Int64Array) -> Int64Array:
    free = offered - asked
    np.maximum(free, 0, out=free)
    free *= MAX_NODE_SCORE
    free //= offered
    return free


def _utilization(offered: int, asked: int) -> int:
    return min(asked, offered) * MAX_NODE_SCORE // offered


def _utilization_rows(offered: Int64Array, asked: Int64Array) -> Int64Array:
    used = np.minimum(asked, offered)
    used *= MAX_NODE_SCORE
    used //= offered
    return used


def _shaped(points: Sequence[tuple[int, int]]) -> Strategy:
    """A line through (utilization, score) points, scores 0..100."""
    by_utilization = [broken_linear(points, utilization) for utilization in range(MAX_NODE_SCORE + 1)]
    as_array = np.array(by_utilization, dtype=np.int64)
    return Strategy(
        judge=lambda offered, asked: by_utilization[_utilization(offered, asked)],
        judge_rows=lambda offered, asked: as_array[_utilization_rows(offered, asked)],
        shaped=True,
    )


LEAST_ALLOCATED = Strategy(_least_allocated, _least_allocated_rows)
MOST_ALLOCATED = Strategy(_utilization, _utilization_rows)


def strategy_of(strategy: ScoringStrategy) -> Strategy:
    if strategy.type == "LeastAllocated":
        return LEAST_ALLOCATED
    if strategy.type == "MostAllocated":
        return MOST_ALLOCATED
    ratio = strategy.requested_to_capacity_ratio
    assert ratio is not None  # the arguments were checked
    return _shaped([(point.utilization, point.score * SHAPE_SCALE) for point in ratio.shape])
