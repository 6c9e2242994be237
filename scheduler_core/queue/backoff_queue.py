"""Pods that wait for time: refused ones in the ordinary heap, those that met an error in the error heap.

Backoff doubles from the initial value to the maximum, counted by consecutive errors, else by rejections. With
pop-from-backoff on, expiry and `now` are cut down to whole seconds, so that within such a window the order is that of
QueueSort, and equality still counts as backing off: a pod leaves in (d, d + 1 s]. All times in microseconds.
Source: kubernetes v1.34.1, pkg/scheduler/backend/queue/backoff_queue.go.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import LogSink
from scheduler_core.queue.options import SECOND_US, QueueCounters, QueueOptions
from scheduler_core.queue.pod_heap import OrderFn, pod_heap

NO_BACKOFF: int | None = None


class BackoffQueue:
    """Both heaps; a pod is in at most one of them."""

    def __init__(self, options: QueueOptions, sort_key: OrderFn, counters: QueueCounters, log: LogSink) -> None:
        self._options = options
        self._windows = options.pop_from_backoff_q
        self._sort_key = sort_key
        self._counters = counters
        self._log = log
        self.ordinary = pod_heap(self._order_in_windows if self._windows else self._order)
        self.errors = pod_heap(self._order)

    def __len__(self) -> int:
        return len(self.ordinary) + len(self.errors)

    def __contains__(self, key: str) -> bool:
        return key in self.ordinary or key in self.errors

    def get(self, key: str) -> QueuedPodInfo | None:
        return self.ordinary.get(key) or self.errors.get(key)

    def backoff_time(self, info: QueuedPodInfo) -> int | None:
        """When the backoff ends; None when there is none. Computed once per failure and stored in the entry."""
        options = self._options
        count = info.consecutive_errors_count or info.unschedulable_count
        if options.max_backoff_us == 0 or count == 0:
            return NO_BACKOFF
        if info.backoff_expiration is None:
            shift = count - 1
            if options.initial_backoff_us > options.max_backoff_us >> shift:
                duration = options.max_backoff_us
            else:
                duration = options.initial_backoff_us << shift
            info.backoff_expiration = self._align(info.timestamp + duration)
        return info.backoff_expiration

    def is_backing_off(self, info: QueuedPodInfo, now: int) -> bool:
        expiry = self.backoff_time(info)
        return expiry is not None and expiry >= self._align(now)

    def add(self, info: QueuedPodInfo, event: str) -> str:
        """Add to the heap the blame decides on, and name it: `backoff` or `errorBackoff`."""
        blamed = bool(info.unschedulable_plugins or info.pending_plugins)
        heap, other = (self.ordinary, self.errors) if blamed else (self.errors, self.ordinary)
        heap.put(info)
        if other.remove(info.key) is not None:
            found = "podErrorBackoffQ" if blamed else "podBackoffQ"
            message = f"BackoffQueue add() was called with a pod that was already in the {found}"
            self._log(message, {"pod": info.key, "err": None})
        else:
            self._counters.count_incoming("backoff", event)
        return "backoff" if blamed else "errorBackoff"

    def update(self, info: QueuedPodInfo) -> None:
        """Put an entry whose pod was replaced in its new place."""
        (self.ordinary if info.key in self.ordinary else self.errors).put(info)

    def delete(self, key: str) -> QueuedPodInfo | None:
        return self.ordinary.remove(key) or self.errors.remove(key)

    def pop_completed(self, now: int) -> list[QueuedPodInfo]:
        """Take out all whose backoff is over, ordinary ones first."""
        done = []
        for heap in (self.ordinary, self.errors):
            while (head := heap.peek()) is not None and not self.is_backing_off(head, now):
                heap.pop()
                done.append(head)
        return done

    def next_completion(self) -> int | None:
        """The first whole second at which `pop_completed` takes something."""
        expiries = [
            self.backoff_time(head) or 0 for heap in (self.ordinary, self.errors) if (head := heap.peek()) is not None
        ]
        return (min(expiries) // SECOND_US + 1) * SECOND_US if expiries else None

    def _align(self, time: int) -> int:
        return time // SECOND_US * SECOND_US if self._windows else time

    def _order(self, info: QueuedPodInfo) -> tuple[Any, ...]:
        return (self.backoff_time(info) or 0,)

    def _order_in_windows(self, info: QueuedPodInfo) -> tuple[Any, ...]:
        return (self.backoff_time(info) or 0, *self._sort_key(info))
