"""Pods ready to be tried, the pods being tried (in flight), and the events that arrive meanwhile.

In-flight pods and events share one list in order of arrival: what a pod missed while it was tried is what follows its
marker. Events nobody's marker precedes are dropped when a pod is done.
Source: kubernetes v1.34.1, pkg/scheduler/backend/queue/active_queue.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.model.events import ClusterEvent
from scheduler_core.queue.heap import KeyedHeap, OrderFn


@dataclass(frozen=True, slots=True)
class PodMarker:
    """Where a pod was popped."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class InFlightEvent:
    """An event some pod in flight may care about."""

    event: ClusterEvent
    old: KubeObject | None
    new: KubeObject | None


InFlightEntry = PodMarker | InFlightEvent


class InFlight:
    """The shared list. Positions count from the first entry ever; removed markers leave a hole (None)."""

    __slots__ = ("_entries", "_first", "_positions")

    def __init__(self) -> None:
        self._entries: list[InFlightEntry | None] = []
        self._first = 0  # position of _entries[0]
        self._positions: dict[str, int] = {}  # pod uid → position of its marker

    def __contains__(self, uid: str) -> bool:
        return uid in self._positions

    def __len__(self) -> int:
        """Number of pods in flight."""
        return len(self._positions)

    def __iter__(self) -> Iterator[InFlightEntry]:
        return (entry for entry in self._entries if entry is not None)

    def pods(self) -> list[Pod]:
        return [entry.pod for entry in self if isinstance(entry, PodMarker)]

    def add_pod(self, pod: Pod) -> None:
        self._positions[pod.uid] = self._first + len(self._entries)
        self._entries.append(PodMarker(pod))

    def add_event(self, event: ClusterEvent, old: KubeObject | None, new: KubeObject | None) -> None:
        self._entries.append(InFlightEvent(event, old, new))

    def events_since(self, uid: str) -> list[InFlightEvent] | None:
        """Events after the pod's marker; None when the pod is not in flight."""
        position = self._positions.get(uid)
        if position is None:
            return None
        return [entry for entry in self._entries[position - self._first :] if isinstance(entry, InFlightEvent)]

    def done(self, uid: str) -> None:
        """Forget the pod and the events only it could want; harmless when it is not in flight."""
        position = self._positions.pop(uid, None)
        if position is None:
            return
        self._entries[position - self._first] = None
        keep = 0
        while keep < len(self._entries) and not isinstance(self._entries[keep], PodMarker):
            keep += 1
        if keep:
            del self._entries[:keep]
            self._first += keep

    def restore(self, entries: list[InFlightEntry]) -> None:
        self._entries = list(entries)
        self._first = 0
        self._positions = {
            entry.pod.uid: position for position, entry in enumerate(entries) if isinstance(entry, PodMarker)
        }


class ActiveQueue:
    """The heap of QueueSort, the cycle counter, and what is in flight."""

    __slots__ = ("heap", "in_flight", "scheduling_cycle")

    def __init__(self, sort_key: OrderFn) -> None:
        self.heap = KeyedHeap(sort_key)
        self.in_flight = InFlight()
        self.scheduling_cycle = 0

    def __len__(self) -> int:
        return len(self.heap)

    def __contains__(self, key: str) -> bool:
        return key in self.heap
