"""The nodes as one cycle sees them: int32 indices into the snapshot's node order, each with its row of the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from scheduler_core.model.effects import NodeOrder
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.table.node_table import NodeTable

Int32Array = npt.NDArray[np.int32]
Rows = npt.NDArray[np.intp]  # rows of the table, in the type numpy gathers by without converting each time


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """The snapshot of one cycle; node i has `infos[i]` and row `rows[i]` of the table."""

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

    def walk_from(self, start: int, candidates: Int32Array | None = None) -> tuple[Int32Array, Rows]:
        """The candidates (None: all nodes), and their rows, from the one at `start` among them once around."""
        n = len(self.rows) if candidates is None else len(candidates)
        first = start % n if n else 0
        if candidates is None:
            return self._around[first : first + n], self._rows_around[first : first + n]
        walk = np.concatenate((candidates[first:], candidates[:first])) if first else candidates
        return walk, self.rows[walk]

    def named(self, names: Iterable[str]) -> Int32Array:
        """The nodes with these names, in node order; unknown names are dropped."""
        return np.array(sorted(self.index[name] for name in names if name in self.index), dtype=np.int32)

    def pick(self, nodes: Int32Array, rows: Rows | None = None) -> PickedNodes:
        """These nodes; `rows` are theirs, where they are known."""
        return PickedNodes(self.infos, nodes, self.rows[nodes] if rows is None else rows)


EMPTY_VIEW = SnapshotView.of(NodeOrder("", ()), (), np.zeros(0, dtype=np.int32), NodeTable())
"""What a cycle sees before its snapshot is taken."""


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
