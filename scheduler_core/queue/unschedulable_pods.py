"""Pods that wait for an event: refused ones, and those a PreEnqueue plugin keeps out (gated).

Visited in order of `namespace/name`, which decides what moves first when one event moves several. Beside that they are
grouped by what they have in common, and by their time stamps: an event, or the clock, need not visit them all.
Whoever changes the pod, the blame or the gate of an entry that waits here says so with `note_change`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping

from scheduler_core.api.signature import ClaimNames, Signature, claim_names
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.queue.options import QueueCounters

Likeness = tuple[Signature, ClaimNames, frozenset[str], frozenset[str], str]
"""Signature of the pod and its claims, unschedulable and pending plugins, gating plugin."""


class UnschedulablePods:
    """Entries by `namespace/name`, with the gauges `unschedulable` and `gated`."""

    __slots__ = ("_alike", "_counters", "_filed", "_gated_stamps", "_infos", "_keys", "_open_stamps")

    def __init__(self, counters: QueueCounters) -> None:
        self._counters = counters
        self._infos: dict[str, QueuedPodInfo] = {}
        self._keys: list[str] = []  # sorted
        self._alike: dict[Likeness, dict[str, QueuedPodInfo]] = {}
        # Time stamp → how many entries have it. All that fail in one step share one.
        self._open_stamps: dict[int, int] = {}
        self._gated_stamps: dict[int, int] = {}
        self._filed: dict[str, tuple[Likeness, int]] = {}  # likeness and time stamp as they were when filed

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

    @property
    def gated(self) -> int:
        """How many of the entries are gated."""
        return sum(self._gated_stamps.values())

    def equivalent(self) -> Iterable[Mapping[str, QueuedPodInfo]]:
        """All entries, by key, those together that no rule can tell apart but by their names."""
        return self._alike.values()

    def earliest(self, *, gated: bool) -> int | None:
        """The smallest time stamp; `gated` says whether entries that are gated count."""
        first = min(self._open_stamps, default=None)
        if gated and self._gated_stamps:
            first_gated = min(self._gated_stamps)
            first = first_gated if first is None else min(first, first_gated)
        return first

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
        else:
            self._unfile(key)
        self._file(info)
        return new

    def delete(self, key: str, *, gated: bool) -> bool:
        """Take the entry out; `gated` names the gauge to lower, the state the caller knew it in."""
        if key not in self._infos:
            return False
        self._unfile(key)
        del self._infos[key]
        del self._keys[bisect_left(self._keys, key)]
        if gated:
            self._counters.gated -= 1
        else:
            self._counters.unschedulable -= 1
        return True

    def note_change(self, key: str) -> None:
        """The entry, if it is here, is not what it was when it came: by a gate, a newer pod, or, where it is in a
        second sub-queue as well (an upstream case), by being tried."""
        info = self._infos.get(key)
        if info is not None:
            self._unfile(key)
            self._file(info)

    def restore(self, info: QueuedPodInfo) -> None:
        """Put an entry of a checkpoint back; nothing is counted."""
        if info.key not in self._infos:
            insort(self._keys, info.key)
        else:
            self._unfile(info.key)
        self._file(info)

    def _file(self, info: QueuedPodInfo) -> None:
        key = info.key
        likeness = (
            info.signature(),
            claim_names(info.pod),
            frozenset(info.unschedulable_plugins),
            frozenset(info.pending_plugins),
            info.gating_plugin,
        )
        self._infos[key] = info
        self._filed[key] = likeness, info.timestamp
        members = self._alike.get(likeness)
        if members is None:
            self._alike[likeness] = {key: info}
        else:
            members[key] = info
        stamps = self._gated_stamps if info.gating_plugin else self._open_stamps
        stamps[info.timestamp] = stamps.get(info.timestamp, 0) + 1

    def _unfile(self, key: str) -> None:
        likeness, timestamp = self._filed.pop(key)
        members = self._alike[likeness]
        del members[key]
        if not members:
            del self._alike[likeness]
        stamps = self._gated_stamps if likeness[-1] else self._open_stamps
        stamps[timestamp] -= 1
        if not stamps[timestamp]:
            del stamps[timestamp]
