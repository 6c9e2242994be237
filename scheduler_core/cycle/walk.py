"""The walk over the nodes: what it came to, how many nodes are enough for it, and where it ends.

Nodes are int32 indices into the snapshot's node order. "A walk's codes" are 0 for a node that passed, else 1 + index
into its statuses.
Source: kubernetes v1.34.1, pkg/scheduler/schedule_one.go (findNodesThatPassFilters, numFeasibleNodesToFind).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.cycle.view import Int32Array, Rows, SnapshotView
from scheduler_core.model.effects import FilterRows
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import NodeToStatus, count_reasons

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE = 5

Narrow = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
Codes = npt.NDArray[np.int32] | Narrow

_MAX_NARROW = int(np.iinfo(np.uint8).max)

NO_FILTER_ROWS = FilterRows(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint8), ())


def num_feasible_nodes_to_find(num_nodes: int, percentage: int) -> int:
    """How many feasible nodes are enough; percentage 0 adapts to the size of the cluster."""
    if num_nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return num_nodes
    if percentage == 0:
        percentage = max(50 - num_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE)
    return max(num_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


class Walk(msgspec.Struct, frozen=True):
    """What a walk found. An error ended it before the node that caused it, which is not among the rows."""

    filter_rows: FilterRows
    feasible: Int32Array
    feasible_rows: Rows
    num_rejected: int
    error: Status | None = None


class WalkStatuses(NodeToStatus):
    """The refusals of a walk by node name, spelled out only when somebody asks for a name."""

    __slots__ = ("_filled", "_num_extra", "_num_rejected", "_rows", "_view")

    def __init__(self, view: SnapshotView, walk: Walk, earlier: NodeToStatus) -> None:
        """`earlier`: the status of the nominated node, when it was tried first; the walk's own words win."""
        super().__init__(earlier.absent)
        self._view = view
        self._rows = walk.filter_rows
        self._num_rejected = walk.num_rejected
        self._filled = False
        if len(earlier):
            for name, status in earlier.items():
                if not self._code_of(name):
                    super().set(name, status)
        self._num_extra = len(self._statuses)

    def _fill(self) -> None:
        if self._filled:
            return
        self._filled = True
        names, statuses = self._view.order.names, self._rows.statuses
        for node, code in zip(self._rows.nodes.tolist(), self._rows.codes.tolist(), strict=True):
            if code:
                super().set(names[node], statuses[code - 1])

    def set(self, node_name: str, status: Status) -> None:
        self._fill()
        super().set(node_name, status)

    def _code_of(self, node_name: str) -> int:
        """What the walk says of the node, 0 where it says nothing."""
        node = self._view.index.get(node_name)  # none: somebody speaks of a node that is not there
        if node is None:
            return 0
        places = np.flatnonzero(self._rows.nodes == node)
        return int(self._rows.codes[places[0]]) if len(places) else 0

    def status_of(self, node_name: str) -> Status:
        code = 0 if self._filled else self._code_of(node_name)
        return self._rows.statuses[code - 1] if code else super().status_of(node_name)

    def __getitem__(self, node_name: str) -> Status:
        self._fill()
        return super().__getitem__(node_name)

    def nodes_with_code(self, code: Code, names: Sequence[str]) -> Int32Array:
        """From the codes of the walk; `names` are those of the view."""
        if self._filled:
            return super().nodes_with_code(code, names)
        statuses = (self.absent, *self._rows.statuses)
        is_it = np.array([status.code is code for status in statuses])
        if not is_it.any() and not self._num_extra:
            return np.zeros(0, dtype=np.int32)
        found = np.full(len(names), is_it[0], dtype=np.bool_)
        found[self._rows.nodes] = is_it[self._rows.codes]
        for name, status in self._statuses.items():
            node = self._view.index.get(name)
            if node is not None:
                found[node] = status.code is code
        return np.flatnonzero(found).astype(np.int32)

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return super().__iter__()

    def __len__(self) -> int:
        if self._filled:
            return super().__len__()
        return self._num_extra + self._num_rejected

    def reason_counts(self) -> dict[str, int]:
        if self._filled:
            return super().reason_counts()
        counts = count_reasons(status.reasons for status in self._statuses.values())
        times = np.bincount(self._rows.codes, minlength=len(self._rows.statuses) + 1)[1:]
        for status, many in zip(self._rows.statuses, times.tolist(), strict=True):
            for reason in status.reasons if many else ():
                counts[reason] = counts.get(reason, 0) + many
        return counts


def cut_walk(nodes: Int32Array, rows: Rows, codes: Codes, statuses: Sequence[Status], wanted: int) -> Walk:
    """End the walk over these nodes at the success after the last wanted one, or before the first error.

    A code is 0 for a success, else 1 + index into `statuses`. The success more than wanted ends the walk and is thrown
    away, but nodes refused before it stay in the record: upstream does so.
    """
    if not np.count_nonzero(codes):
        end = min(len(nodes), wanted + 1)
        return Walk(FilterRows(nodes[:end], np.zeros(end, dtype=np.uint8), ()), nodes[:wanted], rows[:wanted], 0)
    if len(statuses) <= _MAX_NARROW:
        codes = codes.astype(np.uint8)
    passed = (codes == 0).nonzero()[0]
    end = int(passed[wanted]) + 1 if len(passed) > wanted else len(nodes)
    met = _first_places(codes, len(statuses))
    error: Status | None = None
    for place, code in met:
        if place < end and statuses[code - 1].code is Code.Error:
            end, error = place, statuses[code - 1]
            passed = passed[: int(np.searchsorted(passed, end))]
    num_passed = min(len(passed), wanted + 1)
    found = passed[:wanted]
    present = [code for place, code in met if place < end]
    filter_rows = FilterRows(nodes[:end], *_renumbered(codes[:end], statuses, present))
    return Walk(filter_rows, nodes[found], rows[found], end - num_passed, error)


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
