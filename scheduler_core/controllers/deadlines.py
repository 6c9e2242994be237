"""Deadlines by key: at most one for each key."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from scheduler_core.model.heap import KeyedHeap


class Deadlines:
    """Earliest first, equal ones in the order of setting. Times are microseconds."""

    def __init__(self) -> None:
        self._heap: KeyedHeap[tuple[int, str]] = KeyedHeap(order=itemgetter(0), key=itemgetter(1))

    def set(self, key: str, at: int) -> None:
        """Set the key's deadline. One that stays as it was keeps its turn among equal ones."""
        if self._heap.get(key) != (at, key):
            self._heap.put((at, key))

    def drop(self, key: str) -> None:
        """Remove the key's deadline, if it has one."""
        self._heap.remove(key)

    def pop_due(self, now: int) -> Iterator[str]:
        """Remove and yield the keys whose time has come."""
        while (first := self._heap.peek()) is not None and first[0] <= now:
            self._heap.pop()
            yield first[1]

    def first(self) -> int | None:
        """Return the earliest time."""
        first = self._heap.peek()
        return None if first is None else first[0]

    def __contains__(self, key: str) -> bool:
        return key in self._heap
