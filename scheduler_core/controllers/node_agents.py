"""Simulated kubelets that stop and come back: when they were last heard of, and the first status after.

    stopped, partitioned or off, without a time     the time of the last heartbeat is written: now
    stopped, partitioned or off                     that it is so is noted, for whoever is there when it is back
    the time of its return has come                 the annotations go, the node is Ready again
    `running` written, or the state taken away      the same, at once

A node that has never been told anything is left alone, whatever its conditions say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scheduler_core.api.node import Node
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import EventRecorder
from scheduler_core.controllers.node_agent import (
    KUBELET,
    KUBELET_SINCE,
    KUBELET_UNTIL,
    KUBELET_WAS,
    Agent,
    AgentState,
    agent_of,
    has_outside_agent,
    was_away,
)
from scheduler_core.controllers.node_taints import FALSE, TRUE, UNKNOWN, ready_of
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

NODE_READY: Final = "NodeReady"
# What a kubelet says of a node that is well: type, status, reason, message.
_READY: Final = ("Ready", TRUE, "KubeletReady", "kubelet is posting ready status")
_NO_PRESSURE: Final = (
    ("MemoryPressure", FALSE, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", FALSE, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", FALSE, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class NodeAgents:
    """The annotations of all nodes of one cluster that say how their kubelets are."""

    name, actor, group = "node-agents", "kubelet", "nodes"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._nodes: dict[str, Node] = {}  # whose kubelet is to come back at a time
        self._returns = Deadlines()  # by name of the node
        self._away: set[str] = set()  # nodes whose kubelet was said not to be heard
        self._back_again: set[str] = set()  # nodes that are Ready again, but have not caught up
        self._events = EventRecorder("kubelet")

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what kubelets that stop or come back have written."""
        requests: list[Request] = []
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Node):
                requests += self._put(change.obj, now)
            elif isinstance(change, ObjectDeleted) and change.kind == Node.kind:
                self._forget(change.name)
                self._away.discard(change.name)
                self._back_again.discard(change.name)
        for name in self._returns.pop_due(now):
            self._away.discard(name)
            requests += self._back(self._nodes.pop(name), now)
        return requests

    def next_due(self) -> int | None:
        """Return when the next kubelet comes back, in microseconds."""
        return self._returns.first()

    def _forget(self, name: str) -> None:
        self._nodes.pop(name, None)
        self._returns.drop(name)

    def _put(self, node: Node, now: int) -> list[Request]:
        told = node.annotations
        agent = agent_of(node)
        is_behind = was_away(node) is not None
        if not agent.is_heard or not is_behind:
            self._back_again.discard(node.name)
        # Whoever did not know yet that it is back may have found it silent since.
        is_ready_again = node.name in self._back_again and ready_of(node) == TRUE
        is_back = node.name in self._away or (is_behind and not is_ready_again)
        (self._away.discard if agent.is_heard else self._away.add)(node.name)
        if has_outside_agent(node):
            self._forget(node.name)
            return []
        if agent.is_heard:
            self._forget(node.name)
            is_told_so = told.get(KUBELET) == AgentState.RUNNING or KUBELET_SINCE in told
            return self._back(node, now) if is_told_so or is_back else []
        if agent.until is not None:
            self._nodes[node.name] = node
            self._returns.set(node.name, agent.until)
        else:
            self._forget(node.name)
        noted = _note(node, agent, now)
        return [_annotated(node, noted)] if noted else []

    def _back(self, node: Node, now: int) -> list[Request]:
        self._back_again.add(node.name)
        told = [name for name in (KUBELET, KUBELET_SINCE, KUBELET_UNTIL) if name in node.annotations]
        requests: list[Request] = [_annotated(node, dict.fromkeys(told))] if told else []
        if ready_of(node) == TRUE:
            return requests
        # The pressure that a kubelet has reported is its own to take back; what the node controller wrote is not.
        unknown = {one.type for one in node.status.conditions or () if one.status == UNKNOWN}
        conditions = [_condition(one, now) for one in (*_NO_PRESSURE, _READY) if one[0] in unknown or one is _READY]
        key = ObjectKey(Node.kind, "", node.name)
        status = {"status": {"conditions": conditions}}
        requests.append(Patch(key, status, PatchType.STRATEGIC, "status", node.uid))
        message = f"Node {node.name} status is now: {NODE_READY}"
        requests += self._events.record(node, NODE_READY, message, now=now, host=node.name)
        return requests


def _note(node: Node, agent: Agent, now: int) -> dict[str, str | None]:
    """The annotations that the node of a kubelet lacks that is not heard."""
    since = time_text(now if agent.since is None else agent.since)
    noted: dict[str, str | None] = {} if agent.since is not None else {KUBELET_SINCE: since}
    was = was_away(node)
    # What a machine that is off has lost is not there again because somebody says that only its kubelet stands still.
    if was is None or (agent.state == AgentState.OFF and was.state != AgentState.OFF):
        noted[KUBELET_WAS] = f"{agent.state} {since}"
    return noted


def _annotated(node: Node, annotations: dict[str, str | None]) -> Patch:
    return Patch(ObjectKey(Node.kind, "", node.name), {"metadata": {"annotations": annotations}}, uid=node.uid)


def _condition(said: tuple[str, str, str, str], now: int) -> dict[str, Any]:
    name, status, reason, message = said
    at = time_text(now)
    return {
        "type": name, "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": at, "lastTransitionTime": at,
    }  # fmt: skip
