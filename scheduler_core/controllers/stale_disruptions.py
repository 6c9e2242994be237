"""Takes back the condition DisruptionTarget of pods that were to be deleted two minutes ago and are not.

What kubelets wrote stays, and so do the conditions of pods that are being deleted or have ended.
Source: kubernetes v1.34.1, pkg/controller/disruption (syncStalePodDisruption). Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.api.pod import Pod, PodCondition
from scheduler_core.api.times import microseconds, time_text
from scheduler_core.apiserver.requests import ObjectKey, ReportStatus, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.pod_status import BY_KUBELET, DISRUPTION_TARGET
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

STALE_US: Final = 120 * 1_000_000


class StaleDisruptions:
    """The pods of one cluster that somebody has announced to delete."""

    name, actor, group = "stale-disruptions", "disruption", "disruption"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._pods: dict[str, Pod] = {}  # by key
        self._deadlines = Deadlines()  # by key

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what takes conditions back."""
        for change in changes:
            if isinstance(change, ObjectPut):
                if isinstance(change.obj, Pod):
                    self._put(change.obj)
            elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                self._drop(f"{change.namespace}/{change.name}")
        return [_taken_back(self._pods.pop(key), now) for key in self._deadlines.pop_due(now)]

    def next_due(self) -> int | None:
        """Return when the next condition is taken back."""
        return self._deadlines.first()

    def _put(self, pod: Pod) -> None:
        condition = None if pod.is_terminating or pod.is_terminal else _announced(pod)
        since = condition.last_transition_time if condition is not None else None
        if since is None:
            self._drop(pod.key)
            return
        self._pods[pod.key] = pod
        self._deadlines.set(pod.key, microseconds(since) + STALE_US)

    def _drop(self, key: str) -> None:
        if self._pods.pop(key, None) is not None:
            self._deadlines.drop(key)


def _announced(pod: Pod) -> PodCondition | None:
    for one in pod.status.conditions or ():
        if one.type == DISRUPTION_TARGET:
            return one if one.status == "True" and one.reason != BY_KUBELET else None
    return None


def _taken_back(pod: Pod, now: int) -> ReportStatus:
    condition = {
        "type": DISRUPTION_TARGET, "status": "False", "lastTransitionTime": time_text(now),
        "reason": None, "message": None,
    }  # fmt: skip
    return ReportStatus(ObjectKey(Pod.kind, pod.namespace, pod.name), {"conditions": [condition]}, pod.uid)
