"""Pods that a Permit plugin holds back, each with one deadline per plugin that asked to wait.

The first verdict counts: one rejection, the last allowance, or the earliest deadline.
Deadlines are microseconds of engine time.
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/waiting_pods_map.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scheduler_core.config.duration import Duration
from scheduler_core.model.status import SUCCESS, Status

MAX_PERMIT_TIMEOUT_US = 15 * 60 * 1_000_000
REMOVED = "removed"


@dataclass(slots=True)
class WaitingPod:
    """One pod in Permit: plugins still undecided with their time-outs, and the verdict once there is one."""

    uid: str
    since: int
    timeouts_us: dict[str, int] = field(default_factory=dict)
    verdict: Status | None = None

    def allow(self, plugin: str) -> None:
        """`plugin` agrees; the verdict is success once none is left. An empty name speaks for all."""
        if plugin:
            self.timeouts_us.pop(plugin, None)
        else:
            self.timeouts_us.clear()
        if not self.timeouts_us and self.verdict is None:
            self.verdict = SUCCESS

    def reject(self, plugin: str, message: str) -> None:
        self.timeouts_us.clear()
        if self.verdict is None:
            self.verdict = Status.unschedulable(message, plugin=plugin)

    def deadline(self) -> int | None:
        """When the first time-out strikes; None once decided."""
        return self.since + min(self.timeouts_us.values()) if self.timeouts_us else None

    def expire(self, now: int) -> None:
        """Reject when a time-out has struck; among several the earliest, then the first by name."""
        due = [(timeout, plugin) for plugin, timeout in self.timeouts_us.items() if self.since + timeout <= now]
        if due:
            timeout, plugin = min(due)
            self.reject(plugin, f"rejected due to timeout after waiting {Duration(timeout)} at plugin {plugin}")


class WaitingPods:
    """All waiting pods by uid, in the order they began to wait."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def add(self, pod: WaitingPod) -> None:
        self._pods[pod.uid] = pod

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def expire(self, now: int) -> None:
        """Let time-outs strike."""
        for pod in self._pods.values():
            pod.expire(now)

    def next_deadline(self) -> int | None:
        deadlines = [deadline for pod in self._pods.values() if (deadline := pod.deadline()) is not None]
        return min(deadlines, default=None)
