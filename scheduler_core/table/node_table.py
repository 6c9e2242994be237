"""The cluster as columns: one stable row per node, arrays over all rows.

A node keeps its row until it is removed; the row is then given to the next new node. Arrays end at `n_rows`, the most
rows ever in use; rows that are not `live` hold zeros, and what a rule says about them means nothing. Rows are in no
particular order: the snapshot holds the node order. `version` counts the changes; the journal says which rows changed
since any of them, so that results may be cached and only changed rows recomputed. `nodes_version` is the version at
which a node object last changed or a node came or went.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scheduler_core.api.node import Node
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.table.growth import BoolArray, grown
from scheduler_core.table.images import ImageColumn, ImageColumns
from scheduler_core.table.labels import LabelColumn, LabelColumns
from scheduler_core.table.pods import PodColumns
from scheduler_core.table.ports import PortIndex
from scheduler_core.table.resources import ResourceColumns
from scheduler_core.table.taints import TaintSets

Rows = npt.NDArray[np.intp]

_FIRST_CAPACITY = 64
_JOURNAL_FACTOR = 4  # the journal reaches back over at least three times as many changes as there is room for rows


class NodeTable:
    """Columns of what rules read of nodes; `len()` is `n_rows`.

    `live`, `unschedulable`: (n_rows,) bool; `resources`, `taints`, `ports`, `images`, `pods`, labels: see their
    classes. `names[row]` and `node_infos[row]` are None where the row is free.
    """

    live: BoolArray
    unschedulable: BoolArray

    def __init__(self) -> None:
        self.n_rows = 0
        self.version = 0
        self.nodes_version = 0
        # The row of each change; the last one in use, at `_journal_end` - 1, is that of `version`.
        self._journal = np.zeros(_JOURNAL_FACTOR * _FIRST_CAPACITY, dtype=np.intp)
        self._journal_end = 0
        self.row_of: dict[str, int] = {}
        self.names: list[str | None] = []
        self.node_infos: list[NodeInfo | None] = []
        self._nodes: list[Node | None] = []
        self._free: list[int] = []
        self._capacity = _FIRST_CAPACITY
        self._flags: BoolArray = np.zeros((2, self._capacity), dtype=np.bool_)
        self.resources = ResourceColumns(self._capacity)
        self.taints = TaintSets(self._capacity)
        self.ports = PortIndex(self._capacity)
        self.images = ImageColumns(self._capacity)
        self.pods = PodColumns()
        self._labels = LabelColumns(self._capacity, self._nodes)
        self._show()

    def __len__(self) -> int:
        return self.n_rows

    def label(self, key: str) -> LabelColumn:
        """The column of a label key."""
        return self._labels.column(key)

    def image(self, name: str) -> ImageColumn | None:
        """The column of an image by normalised name; None when no node has it."""
        return self.images.column(name)

    def rows_changed_since(self, version: int) -> Rows:
        """Rows written or freed after this version of the table, as often as they were, in that order.

        A view that holds until the next change. All rows once where that is not known any more.
        """
        many = self.version - version
        if many > self._journal_end:
            return np.arange(self.n_rows)
        return self._journal[self._journal_end - many : self._journal_end]

    def upsert(self, node_info: NodeInfo) -> int:
        """Take over the node as it is now; its row. Only what changed is written."""
        node = node_info.node
        if node is None:
            raise ValueError("a node without its object has no row")
        row = self.row_of.get(node.name)
        if row is None:
            row = self._take_row(node.name)
        self._note(row)
        self.node_infos[row] = node_info
        if self._nodes[row] is not node:
            self.nodes_version = self.version
            self._nodes[row] = node
            self._flags[1, row] = node.spec.unschedulable
            self.resources.write_allocatable(row, node_info.allocatable)
            self.taints.write(row, node.taints)
            self._labels.write(row, node.labels)
        self.resources.write_pods(row, node_info)
        self.ports.write(row, node_info.used_ports)
        self.images.write(row, node_info.image_states)
        self.pods.write(row, node_info.pods)
        return row

    def remove(self, name: str) -> int:
        """Free the node's row; KeyError when it has none."""
        row = self.row_of.pop(name)
        self._note(row)
        self.nodes_version = self.version
        self._flags[:, row] = False
        self.names[row] = self.node_infos[row] = self._nodes[row] = None
        self.resources.clear(row)
        self.taints.write(row, ())
        self._labels.write(row, {})
        self.ports.write(row, frozenset())
        self.images.write(row, {})
        self.pods.write(row, ())
        self._free.append(row)
        return row

    def _note(self, row: int) -> None:
        """One more change, of this row."""
        self.version += 1
        if self._journal_end == len(self._journal):
            recent = self._journal[-(_JOURNAL_FACTOR - 1) * self._capacity :]
            self._journal = np.zeros(_JOURNAL_FACTOR * self._capacity, dtype=np.intp)
            self._journal[: len(recent)] = recent
            self._journal_end = len(recent)
        self._journal[self._journal_end] = row
        self._journal_end += 1

    def _take_row(self, name: str) -> int:
        if self._free:
            row = self._free.pop()
            self.names[row] = name
        else:
            row = self.n_rows
            self.n_rows += 1
            self.names.append(name)
            self.node_infos.append(None)
            self._nodes.append(None)
            if self.n_rows > self._capacity:
                self._grow()
            self._show()
        self.row_of[name] = row
        self._flags[0, row] = True
        return row

    def _grow(self) -> None:
        self._capacity *= 2
        self._flags = grown(self._flags, self._capacity)
        for part in (self.resources, self.taints, self.ports, self.images, self._labels):
            part.resize(self._capacity)

    def _show(self) -> None:
        """Let all public arrays end at n_rows."""
        self.live, self.unschedulable = self._flags[:, : self.n_rows]
        for part in (self.resources, self.taints, self.ports, self.images, self.pods, self._labels):
            part.show(self.n_rows)
