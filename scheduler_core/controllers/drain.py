"""Drains nodes whose annotation asks for it: cordons them, and evicts their pods as far as disruption budgets allow.

    requested ──▶ draining: cordoned, pods evicted, those refused again every 5 s ──empty──▶ drained
    draining, and somebody has uncordoned the node ──▶ nothing: the annotation goes
    drained, and the node is uncordoned ──▶ the same

Left where they are: pods of DaemonSets, which come back at once, and mirror pods, which the API server does not
control. How many pods are left is written into an annotation at every try.
Source: kubernetes v1.34.1, staging/src/k8s.io/kubectl/pkg/drain, by default settings with --ignore-daemonsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from scheduler_core.api.derived import controller_of
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.pods import EVICTED
from scheduler_core.apiserver.requests import Evict, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import EventRecorder
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

DRAIN: Final = "kschedweb.io/drain"
DRAIN_LEFT: Final = "kschedweb.io/drain-left"  # what is left to do, for people
REQUESTED, DRAINING, DRAINED = "requested", "draining", "drained"
RETRY_US: Final = 5_000_000
MIRROR: Final = "kubernetes.io/config.mirror"


class Drain(PodReader):
    """The nodes of one cluster that are being drained."""

    name, actor, group = "drain", "drain", "nodes"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._nodes: dict[str, Node] = {}  # being drained
        self._asked: dict[str, set[str]] = {}  # uids of the pods whose eviction was asked for, by node
        self._tries = Deadlines()  # by node
        self._events = EventRecorder("drain")

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return evictions that are due, and what is written of drains that begin and end."""
        requests: list[Request] = []
        touched: dict[str, None] = {}
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                if change.is_gone and change.obj.spec.node_name in self._nodes:
                    touched[change.obj.spec.node_name] = None
            elif isinstance(change, ObjectPut):
                if isinstance(change.obj, Node):
                    requests += self._put(change.obj, now)
            elif isinstance(change, ObjectDeleted) and change.kind == Node.kind:
                self._forget(change.name)
        due = dict.fromkeys(self._tries.pop_due(now))
        for name in {**touched, **due}:
            if name in self._nodes:
                requests += self._go_on(name, now, is_try=name in due)
        return requests

    def next_due(self) -> int | None:
        """Return when evictions are tried again, in microseconds."""
        return self._tries.first()

    def _forget(self, name: str) -> None:
        self._nodes.pop(name, None)
        self._asked.pop(name, None)
        self._tries.drop(name)

    def _put(self, node: Node, now: int) -> Iterator[Request]:
        state, is_closed = node.annotations.get(DRAIN), node.spec.unschedulable
        if state == DRAINING and is_closed:
            if node.name not in self._nodes:
                self._tries.set(node.name, now)
            self._nodes[node.name] = node
            return
        self._forget(node.name)
        if state == REQUESTED:
            body = {"metadata": {"annotations": {DRAIN: DRAINING}}, "spec": {"unschedulable": True}}
            yield Patch(ObjectKey(Node.kind, "", node.name), body, uid=node.uid)
            yield from self._events.record(node, "Draining", f"Draining node {node.name}", now=now)
        elif state in (DRAINING, DRAINED) and not is_closed:
            yield _annotated(node, {DRAIN: None, DRAIN_LEFT: None})
        elif DRAIN_LEFT in node.annotations:
            yield _annotated(node, {DRAIN_LEFT: None})

    def _go_on(self, name: str, now: int, *, is_try: bool) -> Iterator[Request]:
        node = self._nodes[name]
        left = [pod for pod in self.pods.on(name) if _goes(pod)]
        if not left:
            self._forget(name)
            yield _annotated(node, {DRAIN: DRAINED, DRAIN_LEFT: None})
            yield from self._events.record(node, "Drained", f"Drained node {name}", now=now)
            return
        if not is_try:
            return
        self._tries.set(name, now + RETRY_US)
        staying = [pod for pod in left if not pod.is_terminating]
        asked = self._asked.get(name, set())
        refused = sum(pod.uid in asked for pod in staying)
        self._asked[name] = {pod.uid for pod in staying}
        for pod in staying:
            key = ObjectKey(Pod.kind, pod.namespace, pod.name)
            yield Evict(key, *EVICTED, uid=pod.uid, asks_budgets=True)
        text = f"{len(left)} {'pods' if len(left) > 1 else 'pod'} left"
        if refused:
            text += f", {refused} kept by disruption budgets"
        if text != node.annotations.get(DRAIN_LEFT):
            yield _annotated(node, {DRAIN_LEFT: text})


def _goes(pod: Pod) -> bool:
    owner = controller_of(pod)
    return MIRROR not in pod.annotations and (owner is None or owner.kind != "DaemonSet")


def _annotated(node: Node, annotations: dict[str, Any]) -> Patch:
    return Patch(ObjectKey(Node.kind, "", node.name), {"metadata": {"annotations": annotations}}, uid=node.uid)
