"""Pods ready to be tried, the pods being tried (in flight), and the events that arrive meanwhile.

In-flight pods and events share one list in order of arrival: what a pod missed while it was tried is what follows its
marker. Events nobody's marker precedes are dropped when a pod is done.
Source: kubernetes v1.34.1, pkg/scheduler/backend/queue/active_queue.go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

import msgspec

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.model.events import ClusterEvent
from scheduler_core.queue.pod_heap import OrderFn, pod_heap


class PodMarker(msgspec.Struct, frozen=True):
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
    """The shared list, as two: markers and events, each with its place in the order of arrival."""

    __slots__ = ("_event_places", "_events", "_marker_places", "_markers", "_next_place")

    def __init__(self) -> None:
        self._next_place = 0
        self._markers: OrderedDict[int, PodMarker] = OrderedDict()  # by place
        self._marker_places: dict[str, int] = {}  # by pod uid
        self._events: list[InFlightEvent] = []
        self._event_places: list[int] = []

    def __contains__(self, uid: str) -> bool:
        return uid in self._marker_places

    def __len__(self) -> int:
        """Number of pods in flight."""
        return len(self._markers)

    def __iter__(self) -> Iterator[InFlightEntry]:
        entries: list[tuple[int, InFlightEntry]] = [
            *self._markers.items(),
            *zip(self._event_places, self._events, strict=True),
        ]
        return (entry for _, entry in sorted(entries, key=itemgetter(0)))

    def pods(self) -> list[Pod]:
        return [marker.pod for marker in self._markers.values()]

    def add_pod(self, pod: Pod) -> None:
        self._marker_places[pod.uid] = self._next_place
        self._markers[self._next_place] = PodMarker(pod)
        self._next_place += 1

    def add_event(self, event: ClusterEvent, old: KubeObject | None, new: KubeObject | None) -> None:
        self._events.append(InFlightEvent(event, old, new))
        self._event_places.append(self._next_place)
        self._next_place += 1

    def events_since(self, uid: str) -> list[InFlightEvent] | None:
        """Events after the pod's marker; None when the pod is not in flight."""
        place = self._marker_places.get(uid)
        return None if place is None else self._events[bisect_left(self._event_places, place) :]

    def done(self, uid: str) -> None:
        """Forget the pod and the events only it could want; harmless when it is not in flight."""
        place = self._marker_places.pop(uid, None)
        if place is None:
            return
        del self._markers[place]
        first = next(iter(self._markers)) if self._markers else self._next_place
        unwanted = bisect_left(self._event_places, first)
        del self._events[:unwanted]
        del self._event_places[:unwanted]

    def restore(self, entries: list[InFlightEntry]) -> None:
        """Take over the entries of a checkpoint; there are none yet."""
        for entry in entries:
            if isinstance(entry, PodMarker):
                self.add_pod(entry.pod)
            else:
                self.add_event(entry.event, entry.old, entry.new)


class ActiveQueue:
    """The heap of QueueSort, the cycle counter, and what is in flight."""

    __slots__ = ("heap", "in_flight", "scheduling_cycle")

    def __init__(self, sort_key: OrderFn) -> None:
        self.heap = pod_heap(sort_key)
        self.in_flight = InFlight()
        self.scheduling_cycle = 0

    def __len__(self) -> int:
        return len(self.heap)

    def __contains__(self, key: str) -> bool:
        return key in self.heap
