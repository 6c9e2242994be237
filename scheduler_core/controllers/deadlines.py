"""Deadlines by key: each key has at most one, setting it anew replaces it, equal ones come in the order of setting."""

from __future__ import annotations

import heapq
from collections.abc import Iterator


class Deadlines:
    """A heap in which outdated entries are skipped. Times are microseconds."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str]] = []
        self._current: dict[str, tuple[int, int]] = {}  # key -> (time, turn)
        self._turn = 0

    def set(self, key: str, at: int) -> None:
        """A deadline that stays as it was keeps its turn."""
        if key in self._current and self._current[key][0] == at:
            return
        self._turn += 1
        self._current[key] = at, self._turn
        heapq.heappush(self._heap, (at, self._turn, key))

    def drop(self, key: str) -> None:
        self._current.pop(key, None)

    def pop_due(self, now: int) -> Iterator[str]:
        """The keys whose time has come, earliest first; each is forgotten as it is given."""
        while (first := self.first()) is not None and first <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._current[key]
            yield key

    def first(self) -> int | None:
        """The earliest time."""
        while self._heap:
            at, turn, key = self._heap[0]
            if self._current.get(key) == (at, turn):
                return at
            heapq.heappop(self._heap)
        return None

    def __contains__(self, key: str) -> bool:
        return key in self._current

    def __len__(self) -> int:
        return len(self._current)
