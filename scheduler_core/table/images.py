"""Images of all nodes, one column per image name that a rule has asked for.

Per row the size in bytes and the number of nodes that had the image when the row's node was last copied (frozen there,
as upstream). The columns least recently asked for are given up beyond a limit and made again when needed.
A node's dict of image states is replaced when it changes, never changed in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from scheduler_core.lru import LruDict
from scheduler_core.model.node_info import ImageStateSummary
from scheduler_core.table.growth import Int64Array, grown

MAX_COLUMNS: Final = 256

_NO_IMAGES: Final[dict[str, ImageStateSummary]] = {}


class ImageColumn:
    """One image: `sizes`, `num_nodes`: (n_rows,) int64, zero where the node lacks it; `holders`: rows that have it."""

    __slots__ = ("_data", "holders", "num_nodes", "sizes")

    sizes: Int64Array
    num_nodes: Int64Array

    def __init__(self, capacity: int) -> None:
        self._data: Int64Array = np.zeros((2, capacity), dtype=np.int64)
        self.holders = 0

    def put(self, row: int, state: ImageStateSummary) -> None:
        if self._data[1, row] == 0:
            self.holders += 1
        self._data[0, row] = state.size
        self._data[1, row] = state.num_nodes

    def drop(self, row: int) -> None:
        if self._data[1, row] != 0:
            self.holders -= 1
        self._data[:, row] = 0

    def resize(self, capacity: int) -> None:
        self._data = grown(self._data, capacity)

    def show(self, n_rows: int) -> None:
        self.sizes, self.num_nodes = self._data[:, :n_rows]


class ImageColumns:
    """The columns asked for lately, least recently used first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._n_rows = 0
        self._of_row: dict[int, Mapping[str, ImageStateSummary]] = {}
        self._columns: LruDict[str, ImageColumn] = LruDict(MAX_COLUMNS)

    @property
    def any(self) -> bool:
        """Whether any node has any image."""
        return bool(self._of_row)

    def column(self, name: str) -> ImageColumn | None:
        """The column of the image (normalised name); None when no node has it."""
        if not self.any:
            return None
        column = self._columns.use(name)
        if column is None:
            column = ImageColumn(self._capacity)
            for row, states in self._of_row.items():
                state = states.get(name)
                if state is not None:
                    column.put(row, state)
            column.show(self._n_rows)
            self._columns[name] = column
        return column if column.holders else None

    def write(self, row: int, states: Mapping[str, ImageStateSummary]) -> None:
        old = self._of_row.get(row, _NO_IMAGES)
        if states is old or not (states or old):
            return
        if states:
            self._of_row[row] = states
        else:
            del self._of_row[row]
        if not self._columns:
            return
        for name in old:
            if name not in states and name in self._columns:
                self._columns[name].drop(row)
        for name, state in states.items():
            column = self._columns.get(name)
            if column is not None:
                column.put(row, state)

    def resize(self, capacity: int) -> None:
        self._capacity = capacity
        for column in self._columns.values():
            column.resize(capacity)

    def show(self, n_rows: int) -> None:
        self._n_rows = n_rows
        for column in self._columns.values():
            column.show(n_rows)
