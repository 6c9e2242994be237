"""A node must have room for what the pod requests; which room is better is a matter of strategy.

filter   pod count, cpu, memory, ephemeral storage, then scalar resources by name; every shortage is a reason, and a
         request above the whole allocatable makes the node unresolvable: evicting pods would not help
score    per resource 0..100 from offered (a) and asked (q, non-zero defaults for cpu and memory), averaged by weight:
         LeastAllocated, MostAllocated, or a shape over the utilization; resources the node lacks are left out

The incoming pod's requests at pod level count in Filter, not in the score: an upstream quirk.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/noderesources/{fit,least_allocated,most_allocated,
requested_to_capacity_ratio}.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import NON_ZERO_DEFAULTS, PODS, is_extended, pod_requests
from scheduler_core.config import names
from scheduler_core.config.types import NodeResourcesFitArgs
from scheduler_core.framework.answers import (
    ClusterEventWithHint,
    Headroom,
    Int64Array,
    PreFilterResult,
    RowIndex,
    RowVerdicts,
)
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import Resource
from scheduler_core.plugins.demand import Demand, Lines
from scheduler_core.plugins.fit_hints import FitHints, pod_request
from scheduler_core.plugins.fit_strategies import scorer, strategy_of
from scheduler_core.plugins.helpers import BoolArray, Rows, check_args, name_at, refuse_all
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.resources import MAX_AMOUNT, ResourceColumns

TOO_MANY_PODS = "Too many pods"
NO_PRE_FILTER = f'error reading "PreFilter{names.NODE_RESOURCES_FIT}" from cycleState: not found'


def insufficient_reason(resource: str) -> str:
    return f"Insufficient {resource}"


class Shortage(msgspec.Struct, frozen=True, gc=False):
    """A resource of which a node has too little left, in the integers of the engine."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def reason(self) -> str:
        return TOO_MANY_PODS if self.resource == PODS else insufficient_reason(self.resource)

    @property
    def is_hopeless(self) -> bool:
        """True when even the empty node had too little."""
        return self.resource != PODS and self.requested > self.capacity


def shortages(amounts: Iterable[tuple[str, int]], node_info: NodeInfo) -> list[Shortage]:
    """Return what the node lacks for one more pod that requests these amounts."""
    allocatable, requested = node_info.allocatable, node_info.requested
    found = []
    if len(node_info.pods) >= allocatable.allowed_pod_number:
        found.append(Shortage(PODS, 1, len(node_info.pods), allocatable.allowed_pod_number))
    for resource, amount in amounts:
        offered = allocatable.amount_of(resource)
        if amount > offered - requested.amount_of(resource):
            found.append(Shortage(resource, amount, requested.amount_of(resource), offered))
    return found


class PreFilterState(msgspec.Struct, frozen=True):
    """What the pod requests: pod level and overhead counted, what its status says not."""

    # (resource, amount) in the order of the reasons: what is asked for and not ignored.
    amounts: tuple[tuple[str, int], ...]
    on_node: Callable[[NodeInfo], Status]  # whether a node has room for it
    _lines: list[Lines]  # of these amounts in a table, once they were looked up

    def lines(self, columns: ResourceColumns) -> Lines | None:
        """None where the columns do not know a resource, or could not hold an amount."""
        if not self._lines or not self._lines[0].are_of(columns):
            if any(name not in columns.index_of or not 0 <= amount <= MAX_AMOUNT for name, amount in self.amounts):
                return None
            self._lines[:] = [Lines(columns, self.amounts)]
        return self._lines[0]


class PreScoreState(msgspec.Struct, frozen=True):
    demand: Demand
    on_node: Callable[[NodeInfo], int]


class NodeResourcesFit:
    name = names.NODE_RESOURCES_FIT

    def __init__(self, args: NodeResourcesFitArgs | None, handle: Handle) -> None:
        """It needs nothing of the scheduler. ConfigError when the arguments cannot be used."""
        args = args if args is not None else NodeResourcesFitArgs()
        check_args(args)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = tuple((spec.name, spec.weight) for spec in args.scoring_strategy.resources)
        self._strategy = strategy_of(args.scoring_strategy)
        self._hints = FitHints()

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_INFO

    # Filter

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        request = pod_request(pod)
        amounts = tuple(self._amounts_to_check(request))
        state.write(PreFilterState(amounts, _judge(request, amounts), []))
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        return self.node_judge(state, pod)(node_info)

    def node_judge(self, state: CycleState, pod: Pod) -> Callable[[NodeInfo], Status]:
        found = state.find(PreFilterState)
        return _without_pre_filter if found is None else found.on_node

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        found = state.find(PreFilterState)
        if found is None:
            return refuse_all(table, rows, Status.failed(NO_PRE_FILTER))
        if not isinstance(rows, slice):
            headroom = self.headroom(state, pod, table, rows)
            if headroom is not None and (not headroom.left.size or headroom.left.item(headroom.left.argmin()) >= 0):
                return None
        columns, live = table.resources, table.live[rows]
        shortages = _Shortages(live)
        shortages.add(columns.pod_count[rows] >= columns.allowed_pods[rows], TOO_MANY_PODS)
        for resource, amount in found.amounts:
            index = columns.index_of.get(resource)
            if index is None:  # no node has ever named it
                shortages.add(np.ones(len(live), dtype=np.bool_), insufficient_reason(resource), amount > 0)
                continue
            offered = columns.allocatable[index][rows]
            short = offered - columns.requested[index][rows] < amount
            shortages.add(short, insufficient_reason(resource), offered < amount)
        return shortages.verdicts()

    def headroom(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Headroom | None:
        """What `filter_nodes` compares, with the pod on the rows."""
        found = state.find(PreFilterState)
        if found is None:
            return None
        columns = table.resources
        lines = found.lines(columns)
        if lines is None:
            return None
        left = np.empty((1 + len(lines.indices), len(rows)), dtype=np.int64)
        np.subtract(columns.allowed_pods.take(rows), columns.pod_count.take(rows), out=left[0])
        left[0] -= 1
        np.subtract(columns.allocatable_at(lines.index, rows), columns.requested_at(lines.index, rows), out=left[1:])
        left[1:] -= lines.requests
        return Headroom(left, lines.indices)

    def headroom_verdicts(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows, left: Int64Array
    ) -> RowVerdicts | None:
        shortages = _Shortages(table.live[rows])
        shortages.add(left[0] < 0, TOO_MANY_PODS)
        for short, (resource, amount) in zip(left[1:] < 0, state.read(PreFilterState).amounts, strict=True):
            offered = table.resources.allocatable[table.resources.index_of[resource]][rows]
            shortages.add(short, insufficient_reason(resource), offered < amount)
        return shortages.verdicts()

    # Amounts

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        found = state.find(PreFilterState)
        for lack in shortages(found.amounts if found is not None else (), node_info):
            if lack.reason == reason:
                left = lack.capacity - lack.used
                yield _amounts(lack.resource, 1, lack.requested, left, node_info.name, lack.capacity).with_nearest(
                    int(alone), left, node_info.name
                )

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        found, columns, rows = state.find(PreFilterState), table.resources, refused.rows
        wanted = {insufficient_reason(name): (name, amount) for name, amount in found.amounts} if found else {}
        if refused.reason == TOO_MANY_PODS:
            resource, asked = PODS, 1
            offered, used = columns.allowed_pods.take(rows), columns.pod_count.take(rows)
        elif refused.reason in wanted:
            resource, asked = wanted[refused.reason]
            offered = used = np.zeros(len(rows), dtype=np.int64)
            if resource in columns.index_of:  # else no node has ever named it
                index = columns.lines_of((resource,))[1]
                offered, used = columns.allocatable_at(index, rows)[0], columns.requested_at(index, rows)[0]
        else:
            return
        left = offered - used
        best = int(left.argmax())
        told = _amounts(resource, len(rows), asked, left.item(best), name_at(table, rows, best), offered.item(best))
        only = np.flatnonzero(refused.alone)
        if len(only):
            near = int(only[left[only].argmax()])
            told = told.with_nearest(len(only), left.item(near), name_at(table, rows, near))
        yield told

    def _amounts_to_check(self, request: Resource) -> Iterator[tuple[str, int]]:
        """(resource, amount) in the order of the reasons: scalars last, by name, as upstream's order is random."""
        return ((name, amount) for name, amount in request.items() if amount and not self._is_ignored(name))

    def _is_ignored(self, resource: str) -> bool:
        if not (self._ignored or self._ignored_groups) or not is_extended(resource):
            return False
        return resource in self._ignored or resource.partition("/")[0] in self._ignored_groups

    # Score

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        state.write(self._weigh(pod))
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        return self._weighed(state, pod).on_node(node_info), SUCCESS

    def node_scorer(self, state: CycleState, pod: Pod) -> Callable[[NodeInfo], int]:
        return self._weighed(state, pod).on_node

    def score_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array:
        strategy = self._strategy
        weights, offered, asked = self._weighed(state, pod).demand.on_rows(table, rows, non_zero=True)
        lacking = offered.size - np.count_nonzero(offered)
        if lacking:
            counts = offered != 0
            np.maximum(offered, 1, out=offered)
        scores = strategy.judge_rows(offered, asked)
        if not lacking and not strategy.shaped and len(weights):
            averages: Int64Array = np.dot(weights, scores)
            averages //= weights.sum()
            return averages
        if not lacking:
            counts = np.ones(offered.shape, dtype=np.bool_)
        if strategy.shaped:
            counts &= scores > 0
        scores *= counts
        total: Int64Array = np.dot(weights, scores)
        weight: Int64Array = np.dot(weights, counts.astype(np.int64))
        # Rows that nothing counts for have a total of 0.
        divisor = np.maximum(weight, 1)
        if strategy.shaped:
            total *= 2
            total += divisor
            divisor = divisor * 2
        total //= divisor
        return total

    def _weigh(self, pod: Pod) -> PreScoreState:
        requests = pod_requests(pod, use_status=False, use_pod_level=False, non_missing=NON_ZERO_DEFAULTS)
        demand = Demand(self._resources, requests)
        return PreScoreState(demand, scorer(self._strategy, demand))

    def _weighed(self, state: CycleState, pod: Pod) -> PreScoreState:
        """Worked out in PreScore; here where that is switched off."""
        return state.find(PreScoreState) or self._weigh(pod)

    # Events

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod_event = ClusterEvent(EventResource.POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN)
        node_event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
        return (
            ClusterEventWithHint(pod_event, self._hints.after_pod_change),
            ClusterEventWithHint(node_event, self._hints.after_node_change),
        )


def _amounts(resource: str, nodes: int, asked: int, left: int, node: str, capacity: int) -> Amounts:
    kind = AmountKind.PODS if resource == PODS else AmountKind.RESOURCE
    return Amounts(kind, resource, nodes, asked, left, node, capacity)


def room_judge(request: Resource) -> Callable[[NodeInfo], Status]:
    """Whether a node has room for all of the request."""
    return _judge(request, [(name, amount) for name, amount in request.items() if amount])


def _judge(request: Resource, amounts: Sequence[tuple[str, int]]) -> Callable[[NodeInfo], Status]:
    """Whether a node has room for the amounts, all of them of the request."""
    is_plain = all(name in ("cpu", "memory") for name, _ in amounts)
    milli_cpu, memory = request.milli_cpu, request.memory

    def on_node(node_info: NodeInfo) -> Status:
        allocatable, requested = node_info.allocatable, node_info.requested
        has_place = len(node_info.pods) < allocatable.allowed_pod_number
        if (
            is_plain
            and has_place
            and milli_cpu <= allocatable.milli_cpu - requested.milli_cpu
            and memory <= allocatable.memory - requested.memory
        ):
            return SUCCESS  # what most nodes come to
        lacking = shortages(amounts, node_info)
        if not lacking:
            return SUCCESS
        reasons = [one.reason for one in lacking]
        if any(one.is_hopeless for one in lacking):
            return Status.unresolvable(*reasons)
        return Status.unschedulable(*reasons)

    return on_node


def _without_pre_filter(node_info: NodeInfo) -> Status:
    return Status.failed(NO_PRE_FILTER)


class _Shortages:
    """Reasons gathered for all rows at once; `_codes[row]` numbers the combination of reasons in `_combinations`."""

    _MANY = 64

    def __init__(self, live: BoolArray) -> None:
        self._live = live
        self._codes = np.zeros(len(live), dtype=np.int64)
        self._combinations: list[tuple[str, ...]] = [()]
        self._never: BoolArray | None = None

    def add(self, short: BoolArray, reason: str, never: BoolArray | bool = False) -> None:
        """One more reason for the rows in `short`; those in `never` too are beyond help."""
        short &= self._live
        if not np.count_nonzero(short):
            return
        self._codes += short * np.int64(len(self._combinations))
        self._combinations += [(*reasons, reason) for reasons in self._combinations]
        if never is not False:
            hopeless = short & never
            self._never = hopeless if self._never is None else self._never | hopeless
        if len(self._combinations) > self._MANY:
            self._compact()

    def verdicts(self) -> RowVerdicts | None:
        if len(self._combinations) == 1:
            return None
        num_resolvable = len(self._combinations)
        if self._never is not None and self._never.any():
            self._codes += self._never * np.int64(num_resolvable)
            self._combinations *= 2
        present = self._compact()
        statuses = [
            Status.unresolvable(*reasons) if code >= num_resolvable else Status.unschedulable(*reasons)
            for code, reasons in zip(present, self._combinations[1:], strict=True)
        ]
        return RowVerdicts(self._codes.astype(np.uint16), statuses)

    def _compact(self) -> list[int]:
        """Drop combinations no row has, the empty one excepted; the old numbers of those that stay."""
        used = np.flatnonzero(np.bincount(self._codes, minlength=1))
        present = [code for code in used.tolist() if code]
        renumber = np.zeros(len(self._combinations), dtype=np.int64)
        renumber[present] = np.arange(1, len(present) + 1)
        self._codes = renumber[self._codes]
        self._combinations = [(), *(self._combinations[code] for code in present)]
        return present
