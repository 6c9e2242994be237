"""The nodes' agent, as far as phases go: start what is bound, complete what has a run time, end what is deleted.

    Pending, bound ──start delay──▶ Running ──run time──▶ Succeeded
    deletion asked for ──min(grace, stop time)──▶ gone

Durations come from the pod's annotations (`annotations.py`) and the cluster's start delay. A pod's clock for starting
begins when it is first seen bound; the others begin at times its object carries, so a new kubelet goes on where
another stopped. Each effect is given once: whoever fails to carry one out starts a new kubelet from the objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from scheduler_core.api.pod import Pod
from scheduler_core.lifecycle.annotations import DEFAULT_STOP_US, RUN_SECONDS, START_SECONDS, STOP_SECONDS, duration_us
from scheduler_core.lifecycle.deadlines import Deadlines
from scheduler_core.lifecycle.effects import LifecycleEffect, PodRemoval, PodStatusWrite
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

RUNNING, SUCCEEDED = "Running", "Succeeded"
COMPLETED = ("False", "PodCompleted", "")
HOLDS = ("True", "", "")


class Kubelet:
    """All simulated kubelets of one cluster. `start_delay_us` is for pods that name none."""

    def __init__(self, *, start_delay_us: int) -> None:
        self._start_delay_us = start_delay_us
        self._pods: dict[str, Pod] = {}  # bound and not over, by uid
        self._first_seen: dict[str, int] = {}
        self._deadlines = Deadlines()

    def step(self, now: int, changes: Sequence[Change]) -> list[LifecycleEffect]:
        """Take over the changes; what is due at `now`."""
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Pod):
                self._put(change.obj, now)
            elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                self._forget(change.uid or self._uid_of(change.namespace, change.name))
        return [self._effect(self._pods[uid], now) for uid in self._deadlines.pop_due(now)]

    def next_due(self) -> int | None:
        """When something is due without any change, in microseconds."""
        return self._deadlines.first()

    def _put(self, pod: Pod, now: int) -> None:
        if not pod.is_assigned or pod.is_terminal:
            self._forget(pod.uid)
            return
        first_seen = self._first_seen.setdefault(pod.uid, now)
        before = self._pods.get(pod.uid)
        self._pods[pod.uid] = pod
        due = self._due(pod, first_seen)
        if due is None:
            self._deadlines.drop(pod.uid)
        elif before is None or due != self._due(before, first_seen):
            # A change that moves no deadline must not bring back an effect that was given already.
            self._deadlines.set(pod.uid, due)

    def _forget(self, uid: str) -> None:
        self._pods.pop(uid, None)
        self._first_seen.pop(uid, None)
        self._deadlines.drop(uid)

    def _uid_of(self, namespace: str, name: str) -> str:
        key = f"{namespace}/{name}"
        return next((uid for uid, pod in self._pods.items() if pod.key == key), "")

    def _due(self, pod: Pod, first_seen: int) -> int | None:
        asked_to_end = pod.metadata.deletion_timestamp
        if asked_to_end is not None:
            grace_us = (pod.metadata.deletion_grace_period_seconds or 0) * 1_000_000
            stop_us = duration_us(pod, STOP_SECONDS)
            stop_us = DEFAULT_STOP_US if stop_us is None else stop_us
            return _microseconds(asked_to_end) - grace_us + min(grace_us, stop_us)
        if pod.status.phase != RUNNING:
            delay_us = duration_us(pod, START_SECONDS)
            return first_seen + (self._start_delay_us if delay_us is None else delay_us)
        run_us = duration_us(pod, RUN_SECONDS)
        if run_us is None:
            return None
        started = pod.status.start_time
        return (_microseconds(started) if started is not None else first_seen) + run_us

    def _effect(self, pod: Pod, now: int) -> LifecycleEffect:
        if pod.is_terminating:
            return PodRemoval(pod.uid, pod.namespace, pod.name)
        if pod.status.phase != RUNNING:
            conditions = {"Initialized": HOLDS, "ContainersReady": HOLDS, "Ready": HOLDS}
            return PodStatusWrite(pod.uid, pod.namespace, pod.name, RUNNING, now, conditions)
        conditions = {"ContainersReady": COMPLETED, "Ready": COMPLETED}
        return PodStatusWrite(pod.uid, pod.namespace, pod.name, SUCCEEDED, None, conditions)


def _microseconds(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)
