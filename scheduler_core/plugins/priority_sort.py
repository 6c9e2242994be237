"""Pods of higher priority are tried first; among equals the one that entered the queue first.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/queuesort
"""

from __future__ import annotations

from scheduler_core.config import names
from scheduler_core.framework.handle import Handle
from scheduler_core.model.types import QueuedPodInfo


class PrioritySort:
    name = names.PRIORITY_SORT

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments and needs nothing of the scheduler."""

    def sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, ...]:
        return -pod_info.pod.priority, pod_info.timestamp
