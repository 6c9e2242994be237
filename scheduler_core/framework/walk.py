"""What a walk over the nodes goes by, and what it comes to.

Nodes are int32 indices into the snapshot's node order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.model.effects import FilterRows, NodeOrder
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import NodeToStatus, count_reasons
from scheduler_core.table.node_table import NodeTable

Int32Array = npt.NDArray[np.int32]
Rows = npt.NDArray[np.intp]  # rows of the table, in the type numpy gathers by without converting each time


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """The snapshot of one cycle as the walk sees it; node i has `infos[i]` and row `rows[i]` of the table."""

    order: NodeOrder
    infos: Sequence[NodeInfo]
    rows: Rows
    index: dict[str, int]  # node name -> i
    table: NodeTable
    snapshot_order: Int32Array  # what `rows` was made from
    # All nodes, and their rows, twice in a row: a walk round the nodes is a stretch of these.
    _around: Int32Array
    _rows_around: Rows

    @staticmethod
    def of(order: NodeOrder, infos: Sequence[NodeInfo], snapshot_order: Int32Array, table: NodeTable) -> SnapshotView:
        around = np.tile(np.arange(len(snapshot_order), dtype=np.int32), 2)
        around.flags.writeable = False
        index = {name: node for node, name in enumerate(order.names)}
        rows_around = np.tile(snapshot_order, 2).astype(np.intp)
        rows = rows_around[: len(snapshot_order)]
        return SnapshotView(order, infos, rows, index, table, snapshot_order, around, rows_around)

    def from_node(self, start: int) -> tuple[Int32Array, Rows]:
        """All nodes from the one at `start` round to the one before it, and their rows."""
        n = len(self.rows)
        first = start % n if n else 0
        return self._around[first : first + n], self._rows_around[first : first + n]

    def from_candidate(self, candidates: Int32Array, start: int) -> tuple[Int32Array, Rows]:
        """The same of some nodes; `start` counts among these."""
        first = start % len(candidates) if len(candidates) else 0
        walk = np.concatenate((candidates[first:], candidates[:first])) if first else candidates
        return walk, self.rows[walk]

    def pick(self, nodes: Int32Array, rows: Rows | None = None) -> PickedNodes:
        """These nodes; `rows` are theirs, where they are known."""
        return PickedNodes(self.infos, nodes, self.rows[nodes] if rows is None else rows)


class PickedNodes(Sequence[NodeInfo]):
    """Some nodes of a view, in the order given; `rows` are their rows of the table."""

    __slots__ = ("_infos", "nodes", "rows")

    def __init__(self, infos: Sequence[NodeInfo], nodes: Int32Array, rows: Rows) -> None:
        self._infos = infos
        self.nodes = nodes
        self.rows = rows

    @overload
    def __getitem__(self, position: int) -> NodeInfo: ...
    @overload
    def __getitem__(self, position: slice) -> PickedNodes: ...
    def __getitem__(self, position: int | slice) -> NodeInfo | PickedNodes:
        if isinstance(position, slice):
            return PickedNodes(self._infos, self.nodes[position], self.rows[position])
        return self._infos[int(self.nodes[position])]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[NodeInfo]:
        infos = self._infos
        return (infos[node] for node in self.nodes.tolist())


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


def nodes_named(view: SnapshotView, names: Iterable[str]) -> Int32Array:
    """The nodes with these names, in node order; unknown names are dropped."""
    return np.array(sorted(view.index[name] for name in names if name in view.index), dtype=np.int32)
