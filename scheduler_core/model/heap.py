"""A priority queue of entries that can be looked up, replaced and taken out by key.

The order is total: the order function given, then the turn of insertion. Entries taken out or replaced stay in the
binary heap as dead records until they surface or outnumber the live ones, so every operation costs O(log n), averaged
over many. Who changes what an entry is ordered by must `put` it again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class KeyedHeap(Generic[T]):
    """Smallest order first; one entry per key."""

    __slots__ = ("_key", "_live", "_order", "_records", "_turn")

    def __init__(self, order: Callable[[T], Any], key: Callable[[T], str]) -> None:
        self._order = order
        self._key = key
        self._records: list[tuple[Any, int, str, T]] = []  # no two have the same turn
        self._live: dict[str, tuple[Any, int, str, T]] = {}
        self._turn = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: str) -> bool:
        return key in self._live

    def __iter__(self) -> Iterator[T]:
        """In the order in which entries would be popped."""
        return iter([record[3] for record in sorted(self._live.values())])

    def get(self, key: str) -> T | None:
        record = self._live.get(key)
        return None if record is None else record[3]

    def put(self, entry: T) -> None:
        """Add the entry; one with the same key is replaced."""
        key = self._key(entry)
        self._turn += 1
        record = (self._order(entry), self._turn, key, entry)
        self._live[key] = record
        heapq.heappush(self._records, record)
        if len(self._records) > 2 * len(self._live) + 64:
            self._records = list(self._live.values())
            heapq.heapify(self._records)

    def remove(self, key: str) -> T | None:
        """Take the entry out; None when there is none."""
        record = self._live.pop(key, None)
        return None if record is None else record[3]

    def peek(self) -> T | None:
        """The first entry, left where it is."""
        while self._records:
            record = self._records[0]
            if self._live.get(record[2]) is record:
                return record[3]
            heapq.heappop(self._records)
        return None

    def pop(self) -> T | None:
        """The first entry, taken out."""
        while self._records:
            record = heapq.heappop(self._records)
            if self._live.get(record[2]) is record:
                del self._live[record[2]]
                return record[3]
        return None
