"""Pods that wait for an event: refused ones, and those a PreEnqueue plugin keeps out (gated).

Visited in order of `namespace/name`, which decides what moves first when one event moves several.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.queue.options import QueueCounters


class UnschedulablePods:
    """Entries by `namespace/name`, with the gauges `unschedulable` and `gated`."""

    __slots__ = ("_counters", "_infos", "_keys")

    def __init__(self, counters: QueueCounters) -> None:
        self._counters = counters
        self._infos: dict[str, QueuedPodInfo] = {}
        self._keys: list[str] = []  # sorted

    def __len__(self) -> int:
        return len(self._infos)

    def __contains__(self, key: str) -> bool:
        return key in self._infos

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In key order, of a copy: the visitor may move entries."""
        infos = self._infos
        return iter([infos[key] for key in self._keys])

    def get(self, key: str) -> QueuedPodInfo | None:
        return self._infos.get(key)

    def put(self, info: QueuedPodInfo, event: str) -> bool:
        """Add the entry, or replace one silently; True when it is new."""
        key = info.key
        new = key not in self._infos
        if new:
            insort(self._keys, key)
            if info.gated:
                self._counters.gated += 1
            else:
                self._counters.unschedulable += 1
            self._counters.count_incoming("unschedulable", event)
        self._infos[key] = info
        return new

    def delete(self, key: str, *, gated: bool) -> bool:
        """Take the entry out; `gated` names the gauge to lower, the state the caller knew it in."""
        if self._infos.pop(key, None) is None:
            return False
        del self._keys[bisect_left(self._keys, key)]
        if gated:
            self._counters.gated -= 1
        else:
            self._counters.unschedulable -= 1
        return True

    def restore(self, info: QueuedPodInfo) -> None:
        """Put an entry of a checkpoint back; nothing is counted."""
        if info.key not in self._infos:
            insort(self._keys, info.key)
        self._infos[info.key] = info
