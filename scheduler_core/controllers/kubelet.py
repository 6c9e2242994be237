"""The simulated kubelets: start bound pods, complete those with a run time, remove deleted ones.

    Pending, bound ──start delay──▶ Running ──run time──▶ Succeeded
    deletion asked for ──min(grace, stop time)──▶ gone

Durations come from the pod's annotations (`annotations.py`) and the cluster's start delay. A pod's clock for starting
begins when it is first seen bound; the others begin at times its object carries, so a new kubelet goes on where
another stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.api.pod import Pod
from scheduler_core.api.records import Lease
from scheduler_core.api.times import microseconds, time_text
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.annotations import (
    DEFAULT_STOP_US,
    RUN_SECONDS,
    START_SECONDS,
    STOP_SECONDS,
    duration_us,
)
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

NODE_LEASES = "kube-node-lease"
RUNNING, SUCCEEDED = "Running", "Succeeded"
COMPLETED = "PodCompleted"


class Kubelet:
    """All simulated kubelets of one cluster."""

    name, actor, group = "kubelet", "kubelet", "kubelet"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._start_delay_us = cluster.start_delay_us
        self._pods: dict[str, Pod] = {}  # bound and not over, by uid
        self._first_seen: dict[str, int] = {}
        self._deadlines = Deadlines()
        self._real: set[str] = set()  # nodes whose kubelet runs somewhere: it renews a lease

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what is due at `now`."""
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Pod):
                self._put(change.obj, now)
            elif isinstance(change, ObjectPut) and isinstance(change.obj, Lease):
                self._leave(change.obj)
            elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                self._forget(change.uid or self._uid_of(change.namespace, change.name))
        return [_request(self._pods[uid], now) for uid in self._deadlines.pop_due(now)]

    def next_due(self) -> int | None:
        """Return when the next pod starts, completes or is gone, in microseconds."""
        return self._deadlines.first()

    def _put(self, pod: Pod, now: int) -> None:
        if not pod.is_assigned or pod.is_terminal or pod.spec.node_name in self._real:
            self._forget(pod.uid)
            return
        first_seen = self._first_seen.setdefault(pod.uid, now)
        before = self._pods.get(pod.uid)
        self._pods[pod.uid] = pod
        due = self._due(pod, first_seen)
        if due is None:
            self._deadlines.drop(pod.uid)
        elif before is None or due != self._due(before, first_seen):
            # A change that moves no deadline must not repeat a request.
            self._deadlines.set(pod.uid, due)

    def _leave(self, lease: Lease) -> None:
        """Leave the pods of a node to the kubelet that renews its lease."""
        if lease.namespace != NODE_LEASES or lease.name in self._real:
            return
        self._real.add(lease.name)
        for pod in [pod for pod in self._pods.values() if pod.spec.node_name == lease.name]:
            self._forget(pod.uid)

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
            return microseconds(asked_to_end) - grace_us + min(grace_us, stop_us)
        if pod.status.phase != RUNNING:
            delay_us = duration_us(pod, START_SECONDS)
            return first_seen + (self._start_delay_us if delay_us is None else delay_us)
        run_us = duration_us(pod, RUN_SECONDS)
        if run_us is None:
            return None
        started = pod.status.start_time
        return (microseconds(started) if started is not None else first_seen) + run_us


def _request(pod: Pod, now: int) -> Request:
    key = ObjectKey(Pod.kind, pod.namespace, pod.name)
    if pod.is_terminating:
        return Delete(key, 0, uid=pod.uid)
    status: dict[str, Any]
    types: tuple[str, ...]
    if pod.status.phase != RUNNING:
        types = ("Initialized", "ContainersReady", "Ready")
        status = {"phase": RUNNING, "startTime": time_text(now), "conditions": _conditions(pod, types, "True", "", now)}
    else:
        types = ("ContainersReady", "Ready")
        status = {"phase": SUCCEEDED, "conditions": _conditions(pod, types, "False", COMPLETED, now)}
    return Patch(key, {"status": status}, PatchType.STRATEGIC, "status", pod.uid)


def _conditions(pod: Pod, types: Sequence[str], status: str, reason: str, now: int) -> list[dict[str, Any]]:
    """The conditions of these types for a strategic merge; their time moves with their status only."""
    there = {condition.type: condition for condition in pod.status.conditions or ()}
    found: list[dict[str, Any]] = []
    for name in types:
        old = there.get(name)
        condition: dict[str, Any] = {"type": name, "status": status}
        if old is None or old.status != status:
            condition["lastTransitionTime"] = time_text(now)
        if reason or (old is not None and old.reason):
            condition["reason"] = reason or None
        if old is not None and old.message:
            condition["message"] = None
        found.append(condition)
    return found
