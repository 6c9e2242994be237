"""A priority queue of entries that can be looked up, replaced and taken out by `namespace/name`.

The order is total: the order function given, then `sequence` of the entry, then the turn of insertion. Entries taken
out or replaced stay in the binary heap as dead records until they surface or outnumber the live ones, so every
operation costs O(log n), averaged over many. Who changes what an entry is ordered by must `put` it again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from scheduler_core.model.types import QueuedPodInfo

OrderFn = Callable[[QueuedPodInfo], tuple[Any, ...]]

_Record = tuple[tuple[Any, ...], int, int, str, QueuedPodInfo]


class KeyedHeap:
    """Smallest order first."""

    __slots__ = ("_live", "_order", "_records", "_turn")

    def __init__(self, order: OrderFn) -> None:
        self._order = order
        self._records: list[_Record] = []
        self._live: dict[str, _Record] = {}
        self._turn = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: str) -> bool:
        return key in self._live

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In the order in which entries would be popped."""
        return iter([record[4] for record in sorted(self._live.values())])

    def get(self, key: str) -> QueuedPodInfo | None:
        record = self._live.get(key)
        return None if record is None else record[4]

    def put(self, info: QueuedPodInfo) -> None:
        """Add the entry; one with the same key is replaced."""
        key = info.key
        self._turn += 1
        record = (self._order(info), info.sequence, self._turn, key, info)
        self._live[key] = record
        heapq.heappush(self._records, record)
        if len(self._records) > 2 * len(self._live) + 64:
            self._records = list(self._live.values())
            heapq.heapify(self._records)

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Take the entry out; None when there is none."""
        record = self._live.pop(key, None)
        return None if record is None else record[4]

    def peek(self) -> QueuedPodInfo | None:
        """The first entry, left where it is."""
        while self._records:
            record = self._records[0]
            if self._live.get(record[3]) is record:
                return record[4]
            heapq.heappop(self._records)
        return None

    def pop(self) -> QueuedPodInfo | None:
        """The first entry, taken out."""
        while self._records:
            record = heapq.heappop(self._records)
            if self._live.get(record[3]) is record:
                del self._live[record[3]]
                return record[4]
        return None
