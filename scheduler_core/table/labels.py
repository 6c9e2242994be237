"""Labels of all nodes, one column per key that a rule has asked for.

A column is made the first time a rule asks for its key, from all nodes, and updated from then on; the columns least
recently asked for are given up beyond a limit, and made again when needed.
`ids`: (n_rows,) int32, the number of the node's value, −1 where the node lacks the key. A rule judges each distinct
value once and gathers: `verdict_by_value[column.ids]` with one more entry at the end, which −1 picks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from scheduler_core.api.node import Node
from scheduler_core.lru import LruDict
from scheduler_core.table.growth import BoolArray, Int32Array, grown
from scheduler_core.table.interning import Interner

NO_VALUE: Final = -1
MAX_COLUMNS: Final = 512


class LabelColumn:
    """One label key; `values` numbers its distinct values."""

    __slots__ = ("_ids", "ids", "key", "values")

    ids: Int32Array

    def __init__(self, key: str, capacity: int) -> None:
        self.key = key
        self.values: Interner[str] = Interner()
        self._ids: Int32Array = np.full(capacity, NO_VALUE, dtype=np.int32)

    def fill(self, nodes: Sequence[Node | None]) -> None:
        """Write all rows of a new column."""
        key = self.key
        values = [labels.get(key) if node is not None and (labels := node.metadata.labels) else None for node in nodes]
        numbers = {
            value: NO_VALUE if value is None else self.values.acquire(value, times)
            for value, times in Counter(values).items()
        }
        self._ids[: len(values)] = [numbers[value] for value in values]

    def write(self, row: int, labels: Mapping[str, str]) -> None:
        value = labels.get(self.key)
        old = int(self._ids[row])
        self._ids[row] = NO_VALUE if value is None else self.values.acquire(value)
        if old != NO_VALUE:
            self.values.release(old)

    def resize(self, capacity: int) -> None:
        self._ids = grown(self._ids, capacity, NO_VALUE)

    def show(self, n_rows: int) -> None:
        self.ids = self._ids[:n_rows]

    @property
    def has_key(self) -> BoolArray:
        """Which rows have the label at all, shape (n_rows,)."""
        present: BoolArray = self.ids != NO_VALUE
        return present

    def holds_any(self, values: Sequence[str]) -> BoolArray:
        """Which rows have one of these values, shape (n_rows,)."""
        numbers = [number for number in map(self.values.id_of.get, values) if number is not None]
        if not numbers:
            return np.zeros(len(self.ids), dtype=np.bool_)
        if len(numbers) == 1:
            equal: BoolArray = self.ids == numbers[0]
            return equal
        wanted = np.zeros(len(self.values) + 1, dtype=np.bool_)
        wanted[numbers] = True
        held: BoolArray = wanted[self.ids]
        return held

    def gather(self, by_value: npt.NDArray[np.bool_]) -> BoolArray:
        """`by_value[number of the row's value]`, shape (n_rows,); the last entry is for rows without the key."""
        picked: BoolArray = by_value[self.ids]
        return picked


class LabelColumns:
    """The columns asked for lately, least recently used first."""

    __slots__ = ("_capacity", "_columns", "_n_rows", "_nodes")

    def __init__(self, capacity: int, nodes: Sequence[Node | None]) -> None:
        """`nodes[row]` is the table's own list: new columns are filled from it."""
        self._capacity = capacity
        self._n_rows = 0
        self._nodes = nodes
        self._columns: LruDict[str, LabelColumn] = LruDict(MAX_COLUMNS)

    def column(self, key: str) -> LabelColumn:
        """The column of the key, made when it is not there yet."""
        column = self._columns.use(key)
        if column is None:
            column = LabelColumn(key, self._capacity)
            column.fill(self._nodes)
            column.show(self._n_rows)
            self._columns[key] = column
        return column

    def write(self, row: int, labels: Mapping[str, str]) -> None:
        for column in self._columns.values():
            column.write(row, labels)

    def resize(self, capacity: int) -> None:
        self._capacity = capacity
        for column in self._columns.values():
            column.resize(capacity)

    def show(self, n_rows: int) -> None:
        self._n_rows = n_rows
        for column in self._columns.values():
            column.show(n_rows)
