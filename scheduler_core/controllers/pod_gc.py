"""Removes pods that nobody else will: of missing nodes, never scheduled but deleted, or ended long ago.

    the pod's node is missing                 Failed and gone, at the pass 40 s after the first that misses the node
    deleted while it had no node              the same, at the next pass
    deleted, on a node that is out of service the same, at the next pass
    ended, and too many are                   the oldest go at the next pass, evicted ones first

A pass comes every 20 s when there is something to find. Where the cluster's options say so, ended pods also go when
they have been seen ended for so long.
Source: kubernetes v1.34.1, pkg/controller/podgc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.pods import DISRUPTION_TARGET
from scheduler_core.apiserver.requests import Delete, ObjectKey, ReportStatus, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.node_taints import TRUE, ready_of
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

PERIOD_US: Final = 20_000_000
QUARANTINE_US: Final = 40_000_000  # of a node that is missing
REASON: Final = "DeletionByPodGC"
MESSAGE: Final = "PodGC: node no longer exists"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


class PodGC(PodReader):
    """The pods of one cluster."""

    name, actor, group = "pod-gc", "pod-garbage-collector", "garbage"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._started_at = cluster.started_at
        self._most_ended, self._ended_us = cluster.ended_pods, cluster.ended_pods_us
        self._nodes: set[str] = set()
        self._out_of_service: set[str] = set()
        self._missing = Deadlines()  # by name of the node: when it counts as gone
        self._unassigned: dict[str, Pod] = {}  # deleted before they had a node, by key
        self._ended: dict[str, Pod] = {}  # by key
        self._expiring = Deadlines()  # by key: when an ended pod goes
        self._pass_at: int | None = None

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what removes the pods that are due at `now`."""
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                if change.is_gone:
                    self._forget(change.obj.key)
                else:
                    self._put_pod(change.obj, now)
            elif isinstance(change, ObjectPut):
                if isinstance(change.obj, Node):
                    self._put_node(change.obj, now)
            elif isinstance(change, ObjectDeleted) and change.kind == Node.kind:
                self._lose_node(change.name, now)
        requests: list[Request] = []
        for key in self._expiring.pop_due(now):
            requests += _removed(self._ended.pop(key), now)
        for name in self._missing.pop_due(now):
            for pod in self.pods.on(name):
                requests += _removed(pod, now, is_orphan=True)
        if self._pass_at is not None and self._pass_at <= now:
            self._pass_at = None
            requests += self._pass(now)
        return requests

    def next_due(self) -> int | None:
        """Return when the next pods are removed, in microseconds."""
        times = (self._pass_at, self._missing.first(), self._expiring.first())
        return min((time for time in times if time is not None), default=None)

    def _put_pod(self, pod: Pod, now: int) -> None:
        node = pod.spec.node_name
        if node and node not in self._nodes and node not in self._missing:
            self._missing.set(node, self._pass_after(now) + QUARANTINE_US)
        if pod.is_terminating:
            if not node:
                self._unassigned[pod.key] = pod
            if not node or node in self._out_of_service:
                self._pass_soon(now)
        if pod.is_terminal:
            self._end(pod, now)
        elif self._ended and self._ended.pop(pod.key, None) is not None:
            self._expiring.drop(pod.key)

    def _end(self, pod: Pod, now: int) -> None:
        before = self._ended.get(pod.key)
        self._ended[pod.key] = pod
        if self._ended_us is not None and (before is None or before.uid != pod.uid):
            self._expiring.set(pod.key, now + self._ended_us)
        if len(self._ended) > self._most_ended:
            self._pass_soon(now)

    def _put_node(self, node: Node, now: int) -> None:
        self._nodes.add(node.name)
        self._missing.drop(node.name)
        is_out = ready_of(node) != TRUE and any(one.key == OUT_OF_SERVICE for one in node.taints)
        (self._out_of_service.add if is_out else self._out_of_service.discard)(node.name)
        if is_out and any(pod.is_terminating for pod in self.pods.on(node.name)):
            self._pass_soon(now)

    def _forget(self, key: str) -> None:
        self._unassigned.pop(key, None)
        self._ended.pop(key, None)
        self._expiring.drop(key)

    def _lose_node(self, name: str, now: int) -> None:
        self._nodes.discard(name)
        self._out_of_service.discard(name)
        if self.pods.on(name):
            self._missing.set(name, self._pass_after(now) + QUARANTINE_US)

    def _pass_after(self, time: int) -> int:
        return time + PERIOD_US - (time - self._started_at) % PERIOD_US

    def _pass_soon(self, now: int) -> None:
        if self._pass_at is None:
            self._pass_at = self._pass_after(now)

    def _pass(self, now: int) -> Iterator[Request]:
        for pod in self._oldest_ended():
            yield from _removed(pod, now)
        for name in sorted(self._out_of_service):
            for pod in self.pods.on(name):
                if pod.is_terminating:
                    yield from _removed(pod, now)
        for pod in self._unassigned.values():
            if not pod.is_assigned:
                yield from _removed(pod, now)
        self._unassigned.clear()

    def _oldest_ended(self) -> list[Pod]:
        surplus = len(self._ended) - self._most_ended
        return sorted(self._ended.values(), key=_age)[:surplus] if surplus > 0 else []


def _age(pod: Pod) -> tuple[Any, ...]:
    created = pod.metadata.creation_timestamp
    is_evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    return not is_evicted, created is not None, created, pod.name


def _removed(pod: Pod, now: int, *, is_orphan: bool = False) -> Iterator[Request]:
    """Let the pod fail unless it has ended, and take it away; nothing where somebody else holds on to it."""
    if pod.is_terminal and pod.metadata.deletion_grace_period_seconds == 0:
        return
    key = ObjectKey(Pod.kind, pod.namespace, pod.name)
    if not pod.is_terminal:
        status: dict[str, Any] = {"phase": "Failed"}
        if is_orphan:
            condition = {"type": DISRUPTION_TARGET, "status": "True", "reason": REASON, "message": MESSAGE}
            status["conditions"] = [condition | {"lastTransitionTime": time_text(now)}]
        yield ReportStatus(key, status, pod.uid)
    yield Delete(key, 0, uid=pod.uid)
