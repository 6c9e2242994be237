"""The heap of the queues: pods by `namespace/name`; equal ones in order of their arrival in the queue."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from scheduler_core.model.heap import KeyedHeap
from scheduler_core.model.types import QueuedPodInfo

OrderFn = Callable[[QueuedPodInfo], tuple[Any, ...]]
PodHeap = KeyedHeap[QueuedPodInfo]


def pod_heap(order: OrderFn) -> PodHeap:
    """An empty heap with this order."""
    return PodHeap(lambda info: (order(info), info.sequence), attrgetter("key"))
