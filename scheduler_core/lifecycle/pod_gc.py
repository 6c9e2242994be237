"""Pods that are over do not stay for ever: the oldest go when there are too many, all of them after a while.

Age counts from when this controller first saw the pod over. Only for simulated clusters: a frozen one keeps what it was
given. Source of the idea: kubernetes v1.34.1, pkg/controller/podgc (there by number alone, 12,500).
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.pod import Pod
from scheduler_core.lifecycle.effects import LifecycleEffect, PodRemoval
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

KEEP = 500
KEEP_US = 600 * 1_000_000


class PodGC:
    """Removes terminal pods of one cluster: those beyond `keep`, and those older than `keep_us`."""

    def __init__(self, *, keep: int = KEEP, keep_us: int = KEEP_US) -> None:
        self._keep, self._keep_us = keep, keep_us
        self._over: dict[str, tuple[int, PodRemoval]] = {}  # by key, in the order they were seen to be over

    def step(self, now: int, changes: Sequence[Change]) -> list[LifecycleEffect]:
        """Take over the changes; removals due at `now`, oldest first."""
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Pod):
                pod = change.obj
                if not pod.is_terminal:
                    self._over.pop(pod.key, None)
                elif pod.key not in self._over or self._over[pod.key][1].pod_uid != pod.uid:
                    self._over.pop(pod.key, None)
                    self._over[pod.key] = now, PodRemoval(pod.uid, pod.namespace, pod.name)
            elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                self._over.pop(f"{change.namespace}/{change.name}", None)
        removals: list[LifecycleEffect] = []
        while self._over:
            key, (since, removal) = next(iter(self._over.items()))
            if len(self._over) <= self._keep and since + self._keep_us > now:
                break
            del self._over[key]
            removals.append(removal)
        return removals

    def next_due(self) -> int | None:
        """When the oldest has been kept long enough."""
        return next((since + self._keep_us for since, _ in self._over.values()), None)
