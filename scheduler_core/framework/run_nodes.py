"""The walk over the nodes: which ones a pod fits on, until enough are found.

Both forms give the same answer. The row form asks the filters node by node. The table form asks each filter
once for all rows, combines the answers to (first refusing plugin, its status) per row, and goes node by node
only where a filter has no table form or where nominated pods count against the pod.
Nodes are int32 indices into the snapshot's node order.
Source: kubernetes v1.34.1, pkg/scheduler/schedule_one.go (findNodesThatPassFilters, numFeasibleNodesToFind).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.interface import NominatedPods, UInt16Array
from scheduler_core.framework.refusals import FirstRefusals, judge_rows, refusal
from scheduler_core.framework.reuse import SchedulingClass
from scheduler_core.framework.room import Crowding
from scheduler_core.framework.runtime import FilterPlan, Framework, counts_against
from scheduler_core.framework.walk import Int32Array, Rows, SnapshotView, Walk
from scheduler_core.model.effects import FilterRows
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.table.node_table import NodeTable

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE = 5

Narrow = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
Codes = npt.NDArray[np.int32] | Narrow

_MAX_NARROW = int(np.iinfo(np.uint8).max)


def num_feasible_nodes_to_find(num_nodes: int, percentage: int) -> int:
    """How many feasible nodes are enough; percentage 0 adapts to the size of the cluster."""
    if num_nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return num_nodes
    if percentage == 0:
        percentage = max(50 - num_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE)
    return max(num_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


def find_nodes_that_pass_filters(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    view: SnapshotView,
    candidates: Int32Array | None,
    *,
    start: int,
    count: int,
    nominated: NominatedPods,
    kept: SchedulingClass | None = None,
) -> Walk:
    """Walk over `candidates` (None: all nodes) from `start` on, round and round, until `count` nodes and one more
    are found.

    The one more ends the walk and is thrown away, but nodes refused before it are kept: upstream does so.
    """
    walk, rows = view.from_node(start) if candidates is None else view.from_candidate(candidates, start)
    if len(walk) == 0:
        return Walk(_no_rows(), walk, rows, 0)
    if not framework.filter:
        return Walk(_no_rows(), walk[:count], rows[:count], 0)
    if not framework.use_table or len(walk) == 1:
        codes, statuses = _row_codes(framework, state, pod, view, walk, count, nominated)
        return _cut(walk[: len(codes)], rows, codes, statuses, count)
    plan = framework.filter_plan(state.skip_filter_plugins)
    crowded = _crowded(pod, view, nominated)
    crowding = None
    if crowded and not plan.by_node:
        crowding = framework.by_room.crowding(state, pod, view.table, crowded)
    if plan.by_node or (crowded and crowding is None):
        refusals = _judge(framework, state, pod, view.table, rows, kept)
        codes, statuses = _ask_by_node(framework, state, pod, view, walk, count, nominated, refusals, plan, crowded)
        return _cut(walk, rows, codes, statuses, count)
    if crowding or kept is None or candidates is not None or kept.plan(framework, state.skip_filter_plugins).anew:
        return _walk_by_rows(framework, state, pod, view.table, walk, rows, count, kept, crowding)
    # Nothing is read but the pod's signature and the rows: an unchanged table gives the same walk.
    key = (view.table.version, int(walk[0]), count)
    if kept.last_walk is None or kept.last_walk[0] != key:
        kept.last_walk = key, _walk_by_rows(framework, state, pod, view.table, walk, rows, count, kept)
    return kept.last_walk[1]


def _row_codes(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    view: SnapshotView,
    walk: Int32Array,
    count: int,
    nominated: NominatedPods,
) -> tuple[Codes, list[Status]]:
    statuses: list[Status] = []
    codes: list[int] = []
    found = 0
    for node in walk.tolist():
        status = framework.run_filters_with_nominated_pods(state, pod, view.infos[node], nominated)
        if status.is_success:
            codes.append(0)
            found += 1
            if found > count:
                break
            continue
        statuses.append(status)
        codes.append(len(statuses))
        if status.code is Code.Error:
            break
    return np.array(codes, dtype=np.int32), statuses


def _walk_by_rows(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    table: NodeTable,
    walk: Int32Array,
    rows: Rows,
    count: int,
    kept: SchedulingClass | None,
    crowding: Crowding | None = None,
) -> Walk:
    """The walk where the table knows everything: a stretch of it, and more until that is enough."""
    pace = kept.pace if kept is not None else framework.pace
    begin, end = 0, pace.first_stretch(count + 1, len(walk))
    refusals: FirstRefusals | None = None
    codes: list[UInt16Array] = []
    num_passed = 0
    while True:
        part = _judge(framework, state, pod, table, rows[begin:end], kept, refusals, codes_only=crowding is None)
        if refusals is not None and part.statuses is not refusals.statuses:  # numbered anew meanwhile
            return _walk_by_rows(framework, state, pod, table, walk, rows, count, None, crowding)
        if crowding is not None:
            crowding.add_to(part, walk[begin:end], rows[begin:end], state, pod, table)
        refusals = part
        codes.append(part.codes)
        num_passed += end - begin - int(np.count_nonzero(part.codes))
        if end == len(walk) or num_passed > count:
            break
        begin, end = end, min(len(walk), 2 * end)
    all_codes = codes[0] if len(codes) == 1 else np.concatenate(codes)
    found = _cut(walk[:end], rows, all_codes, refusals.statuses, count)
    pace.note(len(found.filter_rows.nodes))
    return found


def _judge(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    table: NodeTable,
    rows: Rows,
    kept: SchedulingClass | None,
    alike: FirstRefusals | None = None,
    *,
    codes_only: bool = False,
) -> FirstRefusals:
    """What the table forms say of the rows, numbered as `alike`; `codes_only`: nobody asks for more."""
    skipped = state.skip_filter_plugins
    if kept is not None:
        asked = kept.plan(framework, skipped).anew
        known = kept.refusals.at(rows, table, framework, state, pod, codes_only=codes_only and not asked)
        if known is not None:
            judge_rows(framework, state, pod, table, rows, asked, known)
            return known
    refusals = FirstRefusals.none(len(rows)) if alike is None else alike.alike(len(rows))
    judge_rows(framework, state, pod, table, rows, framework.filter_plan(skipped).in_table, refusals)
    return refusals


def _ask_by_node(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    view: SnapshotView,
    walk: Int32Array,
    count: int,
    nominated: NominatedPods,
    refusals: FirstRefusals,
    plan: FilterPlan,
    crowded: Mapping[int, Sequence[PodInfo]],
) -> tuple[Codes, list[Status]]:
    """Node by node where the table cannot know: in walk order, and no further than the walk itself would go."""
    row_only = plan.by_node
    statuses = list(refusals.statuses)
    codes: Codes = refusals.codes.astype(np.int32)
    open_until = refusals.refused_by
    asked = open_until > row_only[0] if row_only else np.zeros(len(walk), dtype=np.bool_)
    if crowded:
        asked |= np.isin(walk, np.array(sorted(crowded), dtype=np.int32))
    found = 0
    for position in np.flatnonzero(asked).tolist():
        node = int(walk[position])
        node_info = view.infos[node]
        if node in crowded:
            status = framework.run_filters_with_nominated_pods(state, pod, node_info, nominated)
            codes[position] = 0
        else:
            status = SUCCESS
            for index in row_only:
                if index < open_until[position] and status.is_success:
                    plugin = framework.filter[index]
                    status = plugin.filter(state, pod, node_info)
                    if not status.is_success:
                        status = refusal(plugin.name, status)
        if not status.is_success:
            statuses.append(status)
            codes[position] = len(statuses)
            if status.code is Code.Error:
                break
        elif codes[position] == 0:
            found += 1
            if found > count:
                break
    return codes, statuses


def _crowded(pod: Pod, view: SnapshotView, nominated: NominatedPods) -> dict[int, list[PodInfo]]:
    """By node the nominated pods that count against the pod."""
    by_node: dict[int, list[PodInfo]] = {}
    for name in nominated.nominated_node_names():
        node = view.index.get(name)
        if node is None:
            continue
        infos = [info for info in nominated.nominated_pods_for_node(name) if counts_against(info.pod, pod)]
        if infos:
            by_node[node] = infos
    return by_node


def _cut(walk: Int32Array, rows: Rows, codes: Codes, statuses: Sequence[Status], count: int) -> Walk:
    """End the walk at the success after the last wanted one, or before the first error."""
    if not np.count_nonzero(codes):
        end = min(len(walk), count + 1)
        return Walk(FilterRows(walk[:end], np.zeros(end, dtype=np.uint8), ()), walk[:count], rows[:count], 0)
    if len(statuses) <= _MAX_NARROW:
        codes = codes.astype(np.uint8)
    passed = (codes == 0).nonzero()[0]
    end = int(passed[count]) + 1 if len(passed) > count else len(walk)
    met = _first_places(codes, len(statuses))
    error: Status | None = None
    for place, code in met:
        if place < end and statuses[code - 1].code is Code.Error:
            end, error = place, statuses[code - 1]
            passed = passed[: int(np.searchsorted(passed, end))]
    num_passed = min(len(passed), count + 1)
    found = passed[:count]
    present = [code for place, code in met if place < end]
    filter_rows = FilterRows(walk[:end], *_renumbered(codes[:end], statuses, present))
    return Walk(filter_rows, walk[found], rows[found], end - num_passed, error)


def _first_places(codes: Codes, highest: int) -> list[tuple[int, int]]:
    """(place, code) where each code above 0 occurs first, in that order."""
    if codes.dtype == np.uint8:
        data = codes.tobytes()  # searching bytes is several times as fast as it is with arrays
        return sorted((place, code) for code in range(1, highest + 1) if (place := data.find(code)) >= 0)
    values, places = np.unique(codes, return_index=True)
    return sorted((place, code) for place, code in zip(places.tolist(), values.tolist(), strict=True) if code)


def _renumbered(codes: Codes, statuses: Sequence[Status], present: Sequence[int]) -> tuple[Narrow, tuple[Status, ...]]:
    """The codes with statuses numbered in the order of `present`, equal ones once."""
    numbers: dict[Status, int] = {}
    renumber = {code: numbers.setdefault(statuses[code - 1], len(numbers) + 1) for code in present}
    if codes.dtype == np.uint8:
        translation = bytearray(_MAX_NARROW + 1)
        for code, number in renumber.items():
            translation[code] = number
        return np.frombuffer(codes.tobytes().translate(translation), dtype=np.uint8), tuple(numbers)
    # More than 255 different refusals in one cycle need the wider type.
    table: Narrow = np.zeros(len(statuses) + 1, dtype=np.uint16)
    if len(numbers) <= _MAX_NARROW:
        table = table.astype(np.uint8)
    table[list(renumber)] = list(renumber.values())
    return table[codes], tuple(numbers)


def with_refusals(rows: FilterRows, refused: Mapping[int, Status]) -> FilterRows:
    """The rows with nodes that passed the walk and were refused after it."""
    numbers = {status: number for number, status in enumerate(rows.statuses, start=1)}
    codes = rows.codes.astype(np.int32)
    for position in np.flatnonzero(codes == 0).tolist():
        status = refused.get(int(rows.nodes[position]))
        if status is not None:
            codes[position] = numbers.setdefault(status, len(numbers) + 1)
    wide = len(numbers) > _MAX_NARROW
    return FilterRows(rows.nodes, codes.astype(np.uint16) if wide else codes.astype(np.uint8), tuple(numbers))


def _no_rows() -> FilterRows:
    return FilterRows(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint8), ())
