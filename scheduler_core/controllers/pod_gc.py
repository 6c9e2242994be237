"""Removes pods that have ended: the oldest when there are too many, all of them after a while.

Age counts from when this controller first saw the pod ended.
Source of the idea: kubernetes v1.34.1, pkg/controller/podgc (there by number alone, 12,500).
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.requests import Delete, ObjectKey, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

KEEP = 500
KEEP_US = 600 * 1_000_000


class PodGC:
    """Removes ended pods beyond the newest `keep`, and those older than `keep_us`."""

    name, actor, group = "pod-gc", "kubelet", "garbage"

    def __init__(self, cluster: ClusterOptions, *, keep: int = KEEP, keep_us: int = KEEP_US) -> None:
        self._keep, self._keep_us = keep, keep_us
        self._ended: dict[str, tuple[int, Delete]] = {}  # by key, in the order they were seen to have ended

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return the deletions due at `now`, oldest first."""
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Pod):
                pod = change.obj
                if not pod.is_terminal:
                    self._ended.pop(pod.key, None)
                elif pod.key not in self._ended or self._ended[pod.key][1].uid != pod.uid:
                    self._ended.pop(pod.key, None)
                    self._ended[pod.key] = now, Delete(ObjectKey(Pod.kind, pod.namespace, pod.name), 0, uid=pod.uid)
            elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                self._ended.pop(f"{change.namespace}/{change.name}", None)
        deletions: list[Request] = []
        while self._ended:
            key, (since, deletion) = next(iter(self._ended.items()))
            if len(self._ended) <= self._keep and since + self._keep_us > now:
                break
            del self._ended[key]
            deletions.append(deletion)
        return deletions

    def next_due(self) -> int | None:
        """Return when the oldest has been kept long enough."""
        return next((since + self._keep_us for since, _ in self._ended.values()), None)
