"""Resources of all nodes: what they offer and what their pods ask for.

`allocatable`, `requested`: (n_resources, n_rows) int64; index 0 is cpu in milli units, 1 memory and 2 ephemeral
storage in bytes, then one per scalar resource in order of first sight, whole units. A resource a node does not name
is 0: no rule tells absent from zero. `non_zero_requested`: (2, n_rows) int64, cpu and memory with the defaults for
containers that name no value. `pod_count`, `allowed_pods`: (n_rows,) int64.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scheduler_core.lru import LruDict
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import Resource
from scheduler_core.table.growth import Int64Array, grown

Rows = npt.NDArray[np.intp]
Index = slice | npt.NDArray[np.intp]

CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2
# Sums of absurd requests stop here: more than any node offers, and one more pod still fits 64 bits.
MAX_AMOUNT = 2**62
STANDARD_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_MAX_LINES = 4_096  # sets of resources that pods ask for together


class ResourceColumns:
    """The public arrays are views of the rows in use; a scalar resource keeps its index for good."""

    allocatable: Int64Array
    requested: Int64Array
    non_zero_requested: Int64Array
    pod_count: Int64Array
    allowed_pods: Int64Array

    def __init__(self, capacity: int) -> None:
        self.index_of: dict[str, int] = {name: index for index, name in enumerate(STANDARD_RESOURCES)}
        self._lines: LruDict[tuple[str, ...], tuple[tuple[int, ...], Index]] = LruDict(_MAX_LINES)
        self._n_rows = 0
        self._allocatable: Int64Array = np.zeros((4, capacity), dtype=np.int64)
        self._requested: Int64Array = np.zeros((4, capacity), dtype=np.int64)
        self._others: Int64Array = np.zeros((4, capacity), dtype=np.int64)  # non-zero cpu, memory; count; allowed
        self.show(0)

    def resize(self, capacity: int) -> None:
        self._allocatable = grown(self._allocatable, capacity)
        self._requested = grown(self._requested, capacity)
        self._others = grown(self._others, capacity)

    def show(self, n_rows: int) -> None:
        """Let the public arrays have this many rows."""
        self._n_rows = n_rows
        n_resources = len(self.index_of)
        self.allocatable = self._allocatable[:n_resources, :n_rows]
        self.requested = self._requested[:n_resources, :n_rows]
        self.non_zero_requested = self._others[:2, :n_rows]
        self.pod_count = self._others[2, :n_rows]
        self.allowed_pods = self._others[3, :n_rows]

    def lines_of(self, resources: tuple[str, ...]) -> tuple[tuple[int, ...], Index]:
        """Where these resources stand in `allocatable` and `requested`, and what picks them there; KeyError for others.

        Neighbours, as cpu and memory are, are picked by a slice.
        """
        known = self._lines.get(resources)
        if known is None:
            indices = tuple(self.index_of[name] for name in resources)
            index: Index = np.array(indices, dtype=np.intp).reshape(-1, 1)
            first = indices[0] if indices else 0
            if indices == tuple(range(first, first + len(indices))):
                index = slice(first, first + len(indices))
            known = self._lines[resources] = (indices, index)
        return known

    # numpy copies an array whole before it takes of one that is cut on both sides: these take of the uncut ones.

    def allocatable_at(self, index: Index, rows: Rows) -> Int64Array:
        """A copy of what `index`, from `lines_of`, picks of `allocatable` at the rows."""
        return _gathered(self._allocatable, index, rows)

    def requested_at(self, index: Index, rows: Rows) -> Int64Array:
        """Like `allocatable_at`, of `requested`."""
        return _gathered(self._requested, index, rows)

    def non_zero_requested_at(self, index: Index, rows: Rows) -> Int64Array:
        """Like `allocatable_at`, of `non_zero_requested`, for lines of cpu and memory only."""
        return _gathered(self._others, index, rows)

    def write_allocatable(self, row: int, allocatable: Resource) -> None:
        """Take over what the node offers."""
        self._intern(allocatable)
        _write(self._allocatable, row, allocatable, self.index_of)
        self._others[3, row] = allocatable.allowed_pod_number

    def write_pods(self, row: int, node_info: NodeInfo) -> None:
        """Take over what the node's pods ask for."""
        self._intern(node_info.requested)
        _write(self._requested, row, node_info.requested, self.index_of)
        others, milli_cpu, memory = self._others, node_info.non_zero_milli_cpu, node_info.non_zero_memory
        others[0, row] = milli_cpu if milli_cpu < MAX_AMOUNT else MAX_AMOUNT
        others[1, row] = memory if memory < MAX_AMOUNT else MAX_AMOUNT
        others[2, row] = len(node_info.pods)

    def clear(self, row: int) -> None:
        self._allocatable[:, row] = 0
        self._requested[:, row] = 0
        self._others[:, row] = 0

    def _intern(self, resource: Resource) -> None:
        """Give scalars seen for the first time an index."""
        if not resource.scalar or resource.scalar.keys() <= self.index_of.keys():
            return
        for name in resource.scalar:
            self.index_of.setdefault(name, len(self.index_of))
        if len(self.index_of) > len(self._allocatable):
            more = 2 * len(self.index_of)
            self._allocatable = grown(self._allocatable.T, more).T.copy()
            self._requested = grown(self._requested.T, more).T.copy()
        self.show(self._n_rows)


def _gathered(lines: Int64Array, index: Index, rows: Rows) -> Int64Array:
    if isinstance(index, slice):
        return lines[index].take(rows, axis=1, mode="clip")  # all are valid: clipping only spares the check
    picked: Int64Array = lines[index, rows]
    return picked


def _write(array: Int64Array, row: int, resource: Resource, index_of: dict[str, int]) -> None:
    milli_cpu, memory, storage = resource.milli_cpu, resource.memory, resource.ephemeral_storage
    # No min() here: this is written in every cycle.
    array[CPU, row] = milli_cpu if milli_cpu < MAX_AMOUNT else MAX_AMOUNT
    array[MEMORY, row] = memory if memory < MAX_AMOUNT else MAX_AMOUNT
    array[EPHEMERAL_STORAGE, row] = storage if storage < MAX_AMOUNT else MAX_AMOUNT
    if len(index_of) > len(STANDARD_RESOURCES):
        array[len(STANDARD_RESOURCES) :, row] = 0
        for name, amount in resource.scalar.items():
            array[index_of[name], row] = min(amount, MAX_AMOUNT)
