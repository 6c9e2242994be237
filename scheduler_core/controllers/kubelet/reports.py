"""What kubelets tell the API server of pods: that they run, how they end, why they were refused.

A pod goes its own way when its containers do more than run and end together: each of them has a state then.
"""

from __future__ import annotations

from typing import Final

import msgspec

from scheduler_core.api.pod import Pod
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import Delete, ObjectKey, ReportStatus, Request
from scheduler_core.controllers.annotations import is_detailed
from scheduler_core.controllers.event_recorder import NORMAL, WARNING, EventRecorder
from scheduler_core.controllers.kubelet.addresses import PodAddresses
from scheduler_core.controllers.kubelet.admission import Rejected
from scheduler_core.controllers.kubelet.containers import DEADLINE_EXCEEDED, Containers, Exit, Run
from scheduler_core.controllers.kubelet.detailed_status import DEADLINE_MESSAGE, detailed_status
from scheduler_core.controllers.kubelet.node_state import NodeState
from scheduler_core.controllers.kubelet.restarts import back_off_event_text
from scheduler_core.controllers.kubelet.stopping import stop_us
from scheduler_core.controllers.pod_status import (
    KILLED,
    RUNNING,
    Map,
    Parts,
    current_status,
    disrupted_status,
    ended_status,
    lacking,
    running_status,
)

SIGKILLED: Final = 137
LOST_EXIT: Final = 255  # what a container runtime tells of a container that was there when the machine went off


class Ending(msgspec.Struct, frozen=True, gc=False):
    """A pod that its kubelet ends at that time, in microseconds; `condition` is the message of DisruptionTarget."""

    at: int
    reason: str
    message: str
    condition: str


class Reports:
    """Makes the requests that tell of the pods of a cluster."""

    def __init__(self) -> None:
        self.addresses = PodAddresses()
        self.own_way: set[str] = set()  # uids of pods that go their own way
        self.parts: dict[str, Parts] = {}  # of pods that are about to start, by uid
        self.running_since: dict[str, int] = {}  # of mirrors whose containers run already, by uid
        self.events = EventRecorder("kubelet")

    def note_way(self, pod: Pod) -> None:
        """Look at the pod as it is now: does it go its own way?"""
        if _goes_own_way(pod):
            self.own_way.add(pod.uid)
        else:
            self.own_way.discard(pod.uid)

    def forget(self, uid: str) -> None:
        """Forget a pod."""
        self.own_way.discard(uid)
        self.parts.pop(uid, None)
        self.running_since.pop(uid, None)
        self.addresses.release(uid)

    def next_of(self, pod: Pod, state: NodeState, now: int) -> list[Request]:
        """Return what is due of a pod that nobody ends."""
        key = key_of(pod)
        if pod.uid in self.own_way:
            return self._next_of_own_way(pod, state, now)
        if pod.status.phase != RUNNING:
            addresses = self.addresses.of(pod, state.node)
            return [ReportStatus(key, running_status(pod, addresses, now, self.parts.pop(pod.uid, None)), pod.uid)]
        return [ReportStatus(key, current_status(pod, now) if lacking(pod) else ended_status(pod, 0, now), pod.uid)]

    def deleted(self, pod: Pod, now: int) -> list[Request]:
        """Return what removes a pod whose containers have stopped; only who holds on to it will see how it ended.

        An end that somebody else has written stays as it is.
        """
        key = key_of(pod)
        gone = Delete(key, 0, uid=pod.uid)
        if pod.is_terminal or not pod.metadata.finalizers:
            return [gone]
        grace_us = (pod.metadata.deletion_grace_period_seconds or 0) * 1_000_000
        code = KILLED if stop_us(pod) <= grace_us else SIGKILLED
        return [ReportStatus(key, self._ended(pod, code, now), pod.uid), gone]

    def disrupted(self, pod: Pod, ending: Ending, now: int) -> Request:
        """Return what tells that the kubelet ended the pod."""
        why = ending.reason, ending.message, ending.condition
        return ReportStatus(key_of(pod), disrupted_status(pod, self._ended(pod, KILLED, now), why, now), pod.uid)

    def rejected(self, pod: Pod, verdict: Rejected, now: int) -> list[Request]:
        """Return what tells that the kubelet did not take the pod."""
        status = {
            "phase": "Failed",
            "reason": verdict.reason,
            "message": f"Pod was rejected: {verdict.message}",
            "startTime": time_text(now),
        }
        events = self.warning(pod, verdict.reason, verdict.message, now)
        return [ReportStatus(key_of(pod), status, pod.uid), *events]

    def rebooted(self, pod: Pod, state: NodeState, now: int) -> Request:
        """Return the pod after its machine was off: its containers have ended with it, and start anew."""
        since = state.off_since

        def lost(run: Run) -> Exit:
            started = run.started if run.started is not None else now
            return Exit(LOST_EXIT, "Unknown", started, max(started, since if since is not None else now))

        self.own_way.add(pod.uid)
        containers = Containers(pod)
        containers.restart(now, lost)
        return ReportStatus(key_of(pod), detailed_status(containers, None, now), pod.uid)

    def warning(self, pod: Pod, reason: str, message: str, now: int) -> list[Request]:
        """Return the event of type Warning that the kubelet writes about the pod."""
        return self.events.record(pod, reason, message, now=now, kind=WARNING, host=pod.spec.node_name)

    def _next_of_own_way(self, pod: Pod, state: NodeState, now: int) -> list[Request]:
        containers = Containers(pod, state.heard_since)
        addresses, at = None, now
        if not has_started(pod):
            addresses, at = self.addresses.of(pod, state.node), self.running_since.pop(pod.uid, now)
            containers.start(at)
        containers.advance(now)
        requests: list[Request] = [ReportStatus(key_of(pod), detailed_status(containers, addresses, at), pod.uid)]
        for container in containers.backs_off:
            requests += self.warning(pod, "BackOff", back_off_event_text(pod, container), now)
        if containers.reason == DEADLINE_EXCEEDED:
            host = pod.spec.node_name
            requests += self.events.record(pod, DEADLINE_EXCEEDED, DEADLINE_MESSAGE, now=now, kind=NORMAL, host=host)
        return requests

    def _ended(self, pod: Pod, code: int, now: int) -> Map:
        """The status of a pod all of whose containers are made to end."""
        if pod.uid not in self.own_way or not has_started(pod):
            return ended_status(pod, code, now)
        containers = Containers(pod)
        containers.end_all(now, code)
        containers.reason = "ended"
        return detailed_status(containers, None, now)


def has_started(pod: Pod) -> bool:
    """Return whether a kubelet has begun to run the pod."""
    return pod.status.phase == RUNNING or bool(pod.status.container_statuses)


def key_of(pod: Pod) -> ObjectKey:
    """Return what requests name the pod by."""
    return ObjectKey(Pod.kind, pod.namespace, pod.name)


def _goes_own_way(pod: Pod) -> bool:
    if pod.spec.active_deadline_seconds is not None or (pod.metadata.annotations and is_detailed(pod)):
        return True
    return any(
        one.restart_count
        for one in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ()))
    )
