"""Nodes whose resources would be used evenly score higher.

score    1 − standard deviation of the used fractions of the configured resources, times 100, truncated

Real requests are counted, without defaults. Fractions are float64, at most 1, and operations keep upstream's order: of
two fractions half their distance, of more the population's deviation, added up in configured order.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import pod_requests
from scheduler_core.config import names
from scheduler_core.config.types import NodeResourcesBalancedAllocationArgs
from scheduler_core.framework.answers import MAX_NODE_SCORE, Int64Array
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.plugins.demand import Demand, Rows
from scheduler_core.plugins.helpers import BoolArray, check_args
from scheduler_core.table.node_table import NodeTable

Float64Array = npt.NDArray[np.float64]


class PreScoreState(msgspec.Struct, frozen=True):
    demand: Demand
    on_node: Callable[[NodeInfo], int]


class NodeResourcesBalancedAllocation:
    name = names.NODE_RESOURCES_BALANCED_ALLOCATION

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None, handle: Handle) -> None:
        """It needs nothing of the scheduler. ConfigError when the arguments cannot be used."""
        args = args if args is not None else NodeResourcesBalancedAllocationArgs()
        check_args(args)
        self._resources = tuple((spec.name, spec.weight) for spec in args.resources)

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_INFO

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        weighed = self._weigh(pod)
        if weighed.demand.is_nothing:
            return SKIP
        state.write(weighed)
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        return self._weighed(state, pod).on_node(node_info), SUCCESS

    def node_scorer(self, state: CycleState, pod: Pod) -> Callable[[NodeInfo], int]:
        return self._weighed(state, pod).on_node

    def score_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array:
        demand = self._weighed(state, pod).demand
        if demand.is_nothing:
            return np.zeros(len(rows), dtype=np.int64)
        _, offered, asked = demand.on_rows(table, rows, non_zero=False)
        complete = np.count_nonzero(offered) == offered.size
        if not complete:
            counts = offered != 0
            np.maximum(offered, 1, out=offered)
        fractions = asked / offered
        np.minimum(fractions, 1.0, out=fractions)
        deviation = (
            _deviation_of_rows(list(fractions), len(rows)) if complete else _deviation_of_ragged_rows(fractions, counts)
        )
        np.subtract(1.0, deviation, out=deviation)
        deviation *= float(MAX_NODE_SCORE)
        return deviation.astype(np.int64)

    def _weigh(self, pod: Pod) -> PreScoreState:
        demand = Demand(self._resources, pod_requests(pod, use_status=True, use_pod_level=True))
        return PreScoreState(demand, _scorer(demand))

    def _weighed(self, state: CycleState, pod: Pod) -> PreScoreState:
        """Worked out in PreScore; here where that is switched off."""
        return state.find(PreScoreState) or self._weigh(pod)


def _scorer(demand: Demand) -> Callable[[NodeInfo], int]:
    """The score of a node for what is demanded."""

    def on_node(node_info: NodeInfo) -> int:
        if demand.is_nothing:
            return 0
        fractions = [
            min(float(asked) / float(offered), 1.0) for offered, asked, _ in demand.on_node(node_info, non_zero=False)
        ]
        return int((1.0 - _deviation(fractions)) * float(MAX_NODE_SCORE))

    usual = demand.usual
    if usual is None or demand.is_nothing:
        return on_node
    cpu, memory = usual.cpu, usual.memory

    def on_usual_node(node_info: NodeInfo) -> int:
        offered, used = node_info.allocatable, node_info.requested
        if not offered.milli_cpu or not offered.memory:
            return on_node(node_info)
        cpu_part = float(used.milli_cpu + cpu) / float(offered.milli_cpu)
        memory_part = float(used.memory + memory) / float(offered.memory)
        distance = (cpu_part if cpu_part < 1.0 else 1.0) - (memory_part if memory_part < 1.0 else 1.0)
        return int((1.0 - abs(distance / 2)) * float(MAX_NODE_SCORE))

    return on_usual_node


def _deviation(fractions: Sequence[float]) -> float:
    if len(fractions) < 2:
        return 0.0
    if len(fractions) == 2:
        return abs((fractions[0] - fractions[1]) / 2)
    total = 0.0
    for fraction in fractions:
        total += fraction
    mean = total / float(len(fractions))
    squares = 0.0
    for fraction in fractions:
        squares = squares + (fraction - mean) * (fraction - mean)
    return math.sqrt(squares / float(len(fractions)))


def _deviation_of_rows(fractions: Sequence[Float64Array], n_rows: int) -> Float64Array:
    """`_deviation` of every row, all with the same resources."""
    if len(fractions) < 2:
        return np.zeros(n_rows)
    if len(fractions) == 2:
        half = fractions[0] - fractions[1]
        half /= 2
        return np.abs(half, out=half)
    total = np.zeros(n_rows)
    for fraction in fractions:
        total += fraction
    mean = total / float(len(fractions))
    squares = np.zeros(n_rows)
    for fraction in fractions:
        distance = fraction - mean
        squares += distance * distance
    squares /= float(len(fractions))
    return np.sqrt(squares, out=squares)


def _deviation_of_ragged_rows(fractions: Float64Array, counts: BoolArray) -> Float64Array:
    """`_deviation` where rows lack different resources; both arrays are (n_resources, n_rows).

    Rows with the same resources are judged together.
    """
    deviation = np.zeros(fractions.shape[1])
    patterns, pattern_of_row = np.unique(counts, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(pattern_of_row == number)
        deviation[rows] = _deviation_of_rows([one[rows] for one in fractions[pattern]], len(rows))
    return deviation
