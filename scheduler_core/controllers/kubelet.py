"""The simulated kubelets: start bound pods, complete those with a run time, remove deleted ones.

    Pending, bound ──start delay──▶ Running ──run time──▶ Succeeded
    deletion asked for ──min(grace, longest preStop sleep + stop time)──▶ gone
    Running, resized or readiness changed ──at once──▶ Running, status written anew
    extended resource of a node's capacity set or taken away ──at once──▶ the same of what is allocatable

Durations come from the pod's annotations (`annotations.py`) and the cluster's start delay. A pod's clock for starting
begins when it is first seen bound; the others begin at times its object carries, so a new kubelet goes on where
another stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from zlib import crc32

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.records import Lease
from scheduler_core.api.times import microseconds
from scheduler_core.apiserver.addresses import draw
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, PatchType, ReportStatus, Request
from scheduler_core.controllers.annotations import (
    DEFAULT_STOP_US,
    RUN_SECONDS,
    START_SECONDS,
    STOP_SECONDS,
    duration_us,
)
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.node_status import changed_allocatable
from scheduler_core.controllers.pod_status import (
    KILLED,
    RUNNING,
    Addresses,
    current_status,
    ended_status,
    lacking,
    running_status,
)
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

NODE_LEASES = "kube-node-lease"
POD_NUMBERS: Final = range(1, 64 * 65_536)  # 10.0.0.1 and on, below the addresses of services


class Kubelet:
    """All simulated kubelets of one cluster."""

    name, actor, group = "kubelet", "kubelet", "kubelet"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._start_delay_us = cluster.start_delay_us
        self._pods: dict[str, Pod] = {}  # bound and not over, by uid
        self._first_seen: dict[str, int] = {}
        self._deadlines = Deadlines()
        self._real: set[str] = set()  # nodes whose kubelet runs somewhere: it renews a lease
        self._nodes: dict[str, Node] = {}
        self._pod_ips: dict[str, str] = {}  # by uid, and whose they are
        self._taken: set[str] = set()

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what is due at `now`."""
        requests: list[Request] = []
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Pod):
                self._put(change.obj, now)
            elif isinstance(change, ObjectPut) and isinstance(change.obj, Node):
                requests += self._put_node(change.obj)
            elif isinstance(change, ObjectPut) and isinstance(change.obj, Lease):
                self._leave(change.obj)
            elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                self._forget(change.uid or self._uid_of(change.namespace, change.name))
            elif isinstance(change, ObjectDeleted) and change.kind == Node.kind:
                self._nodes.pop(change.name, None)
        return requests + [
            request for uid in self._deadlines.pop_due(now) for request in self._requests(self._pods[uid], now)
        ]

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
        if pod.status.pod_ip:
            self._hold(pod.uid, pod.status.pod_ip)
        due = self._due(pod, first_seen)
        if due is None:
            self._deadlines.drop(pod.uid)
        elif before is None or due != self._due(before, first_seen) or lacking(pod) != lacking(before):
            # A change that moves no deadline must not repeat a request.
            self._deadlines.set(pod.uid, due)

    def _put_node(self, node: Node) -> list[Request]:
        before = self._nodes.get(node.name)
        self._nodes[node.name] = node
        changed = {} if node.name in self._real else changed_allocatable(before, node)
        if not changed:
            return []
        body = {"status": {"allocatable": changed}}
        return [Patch(ObjectKey(Node.kind, "", node.name), body, PatchType.MERGE, "status", node.uid)]

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
        self._taken.discard(self._pod_ips.pop(uid, ""))

    def _hold(self, uid: str, address: str) -> None:
        self._pod_ips[uid] = address
        self._taken.add(address)

    def _uid_of(self, namespace: str, name: str) -> str:
        key = f"{namespace}/{name}"
        return next((uid for uid, pod in self._pods.items() if pod.key == key), "")

    def _due(self, pod: Pod, first_seen: int) -> int | None:
        asked_to_end = pod.metadata.deletion_timestamp
        if asked_to_end is not None:
            grace_us = (pod.metadata.deletion_grace_period_seconds or 0) * 1_000_000
            return microseconds(asked_to_end) - grace_us + min(grace_us, _stop_us(pod))
        if pod.status.phase != RUNNING:
            delay_us = duration_us(pod, START_SECONDS)
            return first_seen + (self._start_delay_us if delay_us is None else delay_us)
        if lacking(pod):
            return first_seen
        run_us = duration_us(pod, RUN_SECONDS)
        if run_us is None:
            return None
        started = pod.status.start_time
        return (microseconds(started) if started is not None else first_seen) + run_us

    def _requests(self, pod: Pod, now: int) -> list[Request]:
        key = ObjectKey(Pod.kind, pod.namespace, pod.name)
        if pod.is_terminating:
            gone = Delete(key, 0, uid=pod.uid)
            # Only somebody who holds on to the pod will see how it ended.
            return (
                [ReportStatus(key, ended_status(pod, KILLED, now), pod.uid), gone]
                if pod.metadata.finalizers
                else [gone]
            )
        if pod.status.phase != RUNNING:
            return [ReportStatus(key, running_status(pod, self._addresses(pod), now), pod.uid)]
        return [ReportStatus(key, current_status(pod, now) if lacking(pod) else ended_status(pod, 0, now), pod.uid)]

    def _addresses(self, pod: Pod) -> Addresses:
        node = self._nodes.get(pod.spec.node_name)
        host = node.internal_ip if node is not None else ""
        if pod.spec.host_network:
            return Addresses(host, host)
        address = self._pod_ips.get(pod.uid, "")
        if not address:
            start = crc32(pod.uid.encode())
            address = _address(draw(start, POD_NUMBERS, lambda number: _address(number) in self._taken))
            self._hold(pod.uid, address)
        return Addresses(address, host)


def _address(number: int) -> str:
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def _stop_us(pod: Pod) -> int:
    """How long the pod takes to stop when its grace period allows it: hooks of all containers run at the same time."""
    stop_us = duration_us(pod, STOP_SECONDS)
    hooks = (one.lifecycle.pre_stop for one in pod.spec.containers if one.lifecycle is not None)
    slept = max((hook.sleep.seconds for hook in hooks if hook is not None and hook.sleep is not None), default=0)
    return slept * 1_000_000 + (DEFAULT_STOP_US if stop_us is None else stop_us)
