"""Deletes pods from nodes with NoExecute taints, as soon as they do not tolerate one any longer.

    a taint the pod does not tolerate      at once
    all tolerated, some for so long        after the shortest of these times, counted from the first plan for the pod
    all tolerated without end, or gone     never; a planned deletion is cancelled

Of each taint only the first matching toleration counts. A plan once made keeps its time: later taints and tolerations
cancel it or make it immediate. It counts from when the taint was added, as the taint says; where it says nothing, from
when it was seen first, which the node's annotation keeps. So a new controller makes the same plans.
Source: kubernetes v1.34.1, pkg/controller/tainteviction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.api.affinity import Taint, Toleration
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds, time_text
from scheduler_core.apiserver.pods import DISRUPTION_TARGET
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, ReportStatus, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import EventRecorder
from scheduler_core.controllers.node_agent import time_of
from scheduler_core.controllers.node_taints import NO_EXECUTE
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

# When NoExecute taints without timeAdded were seen first: a JSON object, `key=value` to RFC 3339.
TAINTED_SINCE: Final = "kschedweb.io/no-execute-since"
REASON: Final = "DeletionByTaintManager"
MESSAGE: Final = "Taint manager: deleting due to NoExecute taint"
EVENT: Final = "TaintManagerEviction"
_SECOND: Final = 1_000_000


class TaintEviction(PodReader):
    """The pods of all nodes of one cluster that have NoExecute taints."""

    name, actor, group = "taint-eviction", "taint-eviction-controller", "nodes"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._tainted: dict[str, Node] = {}  # nodes that have such taints
        self._added: dict[str, dict[str, int]] = {}  # when each taint was, by node and `key=value`
        self._planned: dict[str, str] = {}  # pods that go later, by key, with their uid
        self._deadlines = Deadlines()  # by key of the pod
        self._asked: dict[str, str] = {}  # uids of the pods that were deleted, by key
        self._events = EventRecorder("taint-eviction-controller")
        self._is_new = True  # what it is told first was there before it

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return the deletions that are due, and events of those cancelled."""
        requests: list[Request] = []
        nodes: dict[str, Node] = {}
        pods: dict[str, bool] = {}  # by key, whether it has come to its node just now
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                if change.is_gone:
                    requests += self._forget(change.obj, now)
                else:
                    self._put_pod(change.obj, change.old, pods)
            elif isinstance(change, ObjectPut):
                if isinstance(change.obj, Node):
                    self._put_node(change.obj, now, nodes)
            elif isinstance(change, ObjectDeleted) and change.kind == Node.kind:
                self._tainted.pop(change.name, None)
                self._added.pop(change.name, None)
        for name in nodes:
            for pod in self.pods.on(name):
                pods.setdefault(pod.key, False)
        for key, has_come in pods.items():
            found = self.pods.get(key)
            if found is not None and found.is_assigned:
                there = _assigned_at(found) if self._is_new else now if has_come else 0
                requests += self._plan_anew(found, there, now)
        self._is_new = False
        requests += [patch for node in nodes.values() for patch in self._remember(node)]
        for key in self._deadlines.pop_due(now):
            requests += self._delete(key, now)
        return requests

    def next_due(self) -> int | None:
        """Return when the next pod is deleted, in microseconds."""
        return self._deadlines.first()

    def _put_pod(self, pod: Pod, before: Pod | None, pods: dict[str, bool]) -> None:
        node_name = pod.spec.node_name
        if node_name not in self._tainted and (not self._planned or pod.key not in self._planned):
            return
        has_come = before is None or before.spec.node_name != node_name
        if before is None or has_come or before.spec.tolerations != pod.spec.tolerations or pod.is_terminating:
            pods[pod.key] = has_come

    def _put_node(self, node: Node, now: int, nodes: dict[str, Node]) -> None:
        taints, before = _no_execute(node), self._tainted.pop(node.name, None)
        if taints:
            self._tainted[node.name] = node
        if taints == (() if before is None else _no_execute(before)):
            return
        known = _told(node) if self._is_new else self._added.get(node.name, {})
        added = {_identity(one): known.get(_identity(one)) or _added_at(one, now) for one in taints}
        self._added.pop(node.name, None)
        if added:
            self._added[node.name] = added
        nodes[node.name] = node

    def _forget(self, pod: Pod, now: int) -> Iterator[Request]:
        self._asked.pop(pod.key, None)
        yield from self._cancel(pod, now)

    def _plan_anew(self, pod: Pod, there: int, now: int) -> Iterator[Request]:
        """Plan for the pod, on its node since `there`, after the node's taints or its tolerations have changed."""
        node = self._tainted.get(pod.spec.node_name)
        if pod.is_terminating or self._asked.get(pod.key) == pod.uid:
            self._deadlines.drop(pod.key)
            self._planned.pop(pod.key, None)
        elif node is None:
            yield from self._cancel(pod, now)
        elif pod.key in self._planned:
            yield from self._plan(pod, _no_execute(node), now)
        else:
            # Taints that came one after the other are planned for one after the other.
            since = {one: max(self._added[node.name][_identity(one)], there) for one in _no_execute(node)}
            for time in sorted({*since.values()}):
                yield from self._plan(pod, [one for one in since if since[one] <= time], time)

    def _plan(self, pod: Pod, taints: Sequence[Taint], at: int) -> Iterator[Request]:
        """Plan the pod's deletion as of that time, or cancel the plan."""
        used = [_first_match(pod, taint) for taint in taints]
        if None in used:
            yield from self._cancel(pod, at)
            self._deadlines.set(pod.key, at)
            return
        times = [one.toleration_seconds for one in used if one is not None and one.toleration_seconds is not None]
        if not times:
            yield from self._cancel(pod, at)
        elif pod.key not in self._planned:
            self._planned[pod.key] = pod.uid
            self._deadlines.set(pod.key, at + max(0, min(times)) * _SECOND)

    def _cancel(self, pod: Pod, now: int) -> Iterator[Request]:
        """Forget the plan for the pod; say so if there was one."""
        self._deadlines.drop(pod.key)
        if self._planned.pop(pod.key, None) is not None:
            yield from self._events.record(pod, EVENT, f"Cancelling deletion of Pod {pod.key}", now=now)

    def _delete(self, key: str, now: int) -> Iterator[Request]:
        self._planned.pop(key, None)
        pod = self.pods.get(key)
        if pod is None or not pod.is_assigned:
            return
        self._asked[key] = pod.uid
        target = ObjectKey(Pod.kind, pod.namespace, pod.name)
        condition = {
            "type": DISRUPTION_TARGET, "status": "True", "reason": REASON, "message": MESSAGE,
            "lastTransitionTime": time_text(now),
        }  # fmt: skip
        yield from self._events.record(pod, EVENT, f"Marking for deletion Pod {key}", now=now)
        yield ReportStatus(target, {"conditions": [condition]}, pod.uid)
        yield Delete(target, uid=pod.uid)

    def _remember(self, node: Node) -> Iterator[Request]:
        """Write down since when taints without a time are there, if a plan counts from it."""
        added = self._added.get(node.name, {})
        untimed = {_identity(one): time_text(added[_identity(one)]) for one in _no_execute(node) if not one.time_added}
        is_counted = any(pod.key in self._planned for pod in self.pods.on(node.name))
        text = json.dumps(untimed, sort_keys=True) if untimed and is_counted else None
        if text != node.annotations.get(TAINTED_SINCE):
            body = {"metadata": {"annotations": {TAINTED_SINCE: text}}}
            yield Patch(ObjectKey(Node.kind, "", node.name), body, uid=node.uid)


def ousting(pod: Pod, node: Node) -> tuple[Taint, int | None] | None:
    """The taint for which the pod has to leave the node, and for how many seconds it tolerates it; None: not at all.

    Of several the first that it does not tolerate, else the one it tolerates for the shortest time. None: it may stay.
    """
    timed: list[tuple[int, Taint]] = []
    for taint in _no_execute(node):
        used = _first_match(pod, taint)
        if used is None:
            return taint, None
        if used.toleration_seconds is not None:
            timed.append((max(0, used.toleration_seconds), taint))
    return min(((taint, seconds) for seconds, taint in timed), key=lambda each: each[1], default=None)


def _no_execute(node: Node) -> tuple[Taint, ...]:
    return tuple(one for one in node.taints if one.effect == NO_EXECUTE)


def _identity(taint: Taint) -> str:
    return f"{taint.key}={taint.value}"


def _first_match(pod: Pod, taint: Taint) -> Toleration | None:
    return next((one for one in pod.spec.tolerations or () if one.tolerates(taint)), None)


def _added_at(taint: Taint, now: int) -> int:
    """When the taint was added: its time has no fraction, so that of one just added is now."""
    added = time_of(taint.time_added or "")
    return now if added is None or added > now - _SECOND else added


def _told(node: Node) -> dict[str, int]:
    """What the node's annotation says of its taints; nothing where it cannot be read."""
    try:
        told = json.loads(node.annotations.get(TAINTED_SINCE, "{}"))
    except ValueError:
        return {}
    if not isinstance(told, dict):
        return {}
    times = {taint: time_of(text) for taint, text in told.items() if isinstance(text, str)}
    return {taint: time for taint, time in times.items() if time is not None}


def _assigned_at(pod: Pod) -> int:
    """When the pod got its node, as far as it says."""
    scheduled = next((one for one in pod.status.conditions or () if one.type == "PodScheduled"), None)
    told = scheduled.last_transition_time if scheduled is not None and scheduled.status == "True" else None
    time = told or pod.metadata.creation_timestamp
    return microseconds(time) if time is not None else 0
