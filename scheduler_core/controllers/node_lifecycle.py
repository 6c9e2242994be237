"""Watches over the nodes: silent kubelets, the taints of conditions, and pods of nodes that are not heard of.

    kubelet silent for longer than 50 s      conditions Unknown and pods not ready, at the next pass (every 5 s)
    a condition changes, a node is cordoned  its NoSchedule taint, at once
    Ready is False or Unknown                its NoExecute taint, from the next pass on, as fast as the zone may go
    Ready is True again                      NoExecute taints go at the next pass

Heartbeats are implicit: a simulated kubelet is silent only from the time on that its node's annotations name, and what
a node's conditions say stays as it is meanwhile. The kubelet of a node is a program from outside once it has renewed
the node's Lease, or posted a heartbeat three times, under this controller's eyes; the node then says so in an
annotation, and it is silent when nothing comes any more.
Source: kubernetes v1.34.1, pkg/controller/nodelifecycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.api.derived import zone_key
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.records import Lease
from scheduler_core.api.times import microseconds, time_text
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType, ReportStatus, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.deadlines import Deadlines
from scheduler_core.controllers.event_recorder import WARNING, EventRecorder
from scheduler_core.controllers.node_agent import HEARTBEAT, NODE_LEASES, agent_of, has_outside_agent
from scheduler_core.controllers.node_taints import (
    FALSE,
    TRUE,
    UNKNOWN,
    execute_key,
    no_execute_of,
    ready_of,
    taint_patch,
)
from scheduler_core.controllers.node_zones import Disruption, Zones
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

PERIOD_US: Final = 5_000_000
GRACE_US: Final = 50_000_000
STARTUP_GRACE_US: Final = 60_000_000  # for kubelets that have never said how they are
# So many heartbeats in a status, each within the grace period of the one before, and a program is behind them.
HEARTBEATS_OF_AN_AGENT: Final = 3
NOT_COUNTED: Final = "node.kubernetes.io/exclude-disruption"
NODE_NOT_READY: Final = "NodeNotReady"
_CONDITIONS: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_STOPPED: Final = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
_NEVER_HEARD: Final = ("NodeStatusNeverUpdated", "Kubelet never posted node status.")


@dataclass(slots=True)
class _Health:
    """A node as the controller sees it. `ready` is ahead of the stored condition while its own write is under way."""

    node: Node
    ready: str
    zone: str
    is_counted: bool
    heard_at: int = 0  # the last sign of an agent from outside
    heartbeats: int = 0  # in a row, of one that may be

    @property
    def counts(self) -> dict[str, int]:
        """What the node adds to its zone: one that nobody has said anything of is healthy."""
        if not self.is_counted:
            return {}
        return {"unhealthy": 1} if self.ready in (FALSE, UNKNOWN) else {"healthy": 1}


class NodeLifecycle(PodReader):
    """All nodes of one cluster."""

    name, actor, group = "node-lifecycle", "node-controller", "nodes"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._started_at = cluster.started_at
        self._nodes: dict[str, _Health] = {}
        self._renewed: dict[str, str | None] = {}  # renewTime of leases, by node
        self._zones = Zones()
        self._silent = Deadlines()  # by node: the pass that finds it silent
        self._changed: dict[str, None] = {}  # nodes whose NoExecute taint the next pass looks at
        self._pass_at: int | None = None
        self._execute: dict[str, str] = {}  # what is decided: the key of the taint to have, by node
        self._events = EventRecorder("node-controller")

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return the taints that follow, and what the pass has found if one is due."""
        requests: list[Request] = []
        touched: dict[str, None] = {}
        for change in self.pods.follow(changes):
            if isinstance(change, ObjectPut):
                obj = change.obj
                if isinstance(obj, Node):
                    requests += self._put(obj, now)
                    touched[obj.name] = None
                elif isinstance(obj, Lease):
                    requests += self._put_lease(obj, now)
            elif isinstance(change, ObjectDeleted):
                self._deleted(change, now)
        if any(time is not None and time <= now for time in (self._pass_at, self._silent.first())):
            self._pass_at = None
            requests += self._pass(now, touched)
        for name in self._zones.admit(now):
            if name in self._nodes:
                self._execute[name] = execute_key(self._nodes[name].ready)
                touched[name] = None
        return [*requests, *self._taints(touched, now)]

    def next_due(self) -> int | None:
        """Return when the next pass has something to find, or the next node gets its NoExecute taint."""
        times = (self._pass_at, self._silent.first(), self._zones.next_due())
        return min((time for time in times if time is not None), default=None)

    # What is said of nodes

    def _put(self, node: Node, now: int) -> list[Request]:
        before = self._nodes.get(node.name)
        if before is not None and before.node.uid != node.uid:
            self._forget(node.name)
            before = None
        health = _Health(node, ready_of(node), zone_key(node), NOT_COUNTED not in node.labels)
        requests: list[Request] = []
        if before is not None:
            health.heard_at, health.heartbeats = before.heard_at, before.heartbeats
            requests = self._heartbeat(before.node, health, now)
            if before.zone != health.zone:
                self._zones.leave(before.zone, node.name)
        elif has_outside_agent(node):
            health.heard_at = now
        self._nodes[node.name] = health
        if before is None or before.counts != health.counts or before.zone != health.zone:
            if before is not None:
                self._count(before, -1)
            self._count(health, 1)
            self._pass_soon(now)
        if before is None or before.ready != health.ready or before.zone != health.zone:
            self._execute.pop(node.name, None)  # decided for what it no longer is
            if health.ready in (FALSE, UNKNOWN) or no_execute_of(node):
                self._changed[node.name] = None
                self._pass_soon(now)
        self._listen(health)
        return requests

    def _count(self, health: _Health, times: int) -> None:
        self._zones.count(health.zone, **{kind: number * times for kind, number in health.counts.items()})

    def _heartbeat(self, before: Node, health: _Health, now: int) -> list[Request]:
        """Hear a heartbeat in the node's status; one that comes again and again is a program's."""
        posted = _heartbeat_of(health.node)
        if posted is None or posted == _heartbeat_of(before):
            return []
        is_prompt = now - health.heard_at <= GRACE_US
        health.heard_at, health.heartbeats = now, health.heartbeats + 1 if is_prompt else 1
        if has_outside_agent(health.node) or health.heartbeats < HEARTBEATS_OF_AN_AGENT:
            return []
        return [_heard_by(health.node, "status")]

    def _put_lease(self, lease: Lease, now: int) -> list[Request]:
        if lease.namespace != NODE_LEASES:
            return []
        is_new, before = lease.name not in self._renewed, self._renewed.get(lease.name)
        self._renewed[lease.name] = lease.spec.renew_time
        health = self._nodes.get(lease.name)
        if is_new or before == lease.spec.renew_time or health is None:
            return []
        health.heard_at = now
        return [] if has_outside_agent(health.node) else [_heard_by(health.node, "lease")]

    def _listen(self, health: _Health) -> None:
        """Set the pass that finds the node silent, if it is or may fall silent."""
        name = health.node.name
        last = self._last_heard(health)
        if last is None or (health.ready == UNKNOWN and not _unknown_conditions(health.node)):
            self._silent.drop(name)
        elif not has_outside_agent(health.node) or name not in self._silent:
            at = self._silent_at(health, last)
            if self._is_back_by(health.node, at):
                self._silent.drop(name)
            else:
                self._silent.set(name, at)

    def _is_back_by(self, node: Node, at: int) -> bool:
        """Whether a simulated kubelet is heard again by then: it says that its node is ready then, and only once."""
        until = agent_of(node).until
        return until is not None and until <= at and not has_outside_agent(node)

    def _last_heard(self, health: _Health) -> int | None:
        """When the kubelet was last heard of; None while it is heard."""
        if has_outside_agent(health.node):
            return health.heard_at
        since = agent_of(health.node).since
        return None if since is None else max(since, health.heard_at)

    def _silent_at(self, health: _Health, last: int) -> int:
        return self._pass_after(last + (GRACE_US if health.ready else STARTUP_GRACE_US))

    def _deleted(self, change: ObjectDeleted, now: int) -> None:
        if change.kind == Node.kind:
            self._forget(change.name)
            self._pass_soon(now)
        elif change.kind == Lease.kind and change.namespace == NODE_LEASES:
            self._renewed.pop(change.name, None)

    def _forget(self, name: str) -> None:
        health = self._nodes.pop(name, None)
        if health is not None:
            self._count(health, -1)
            self._zones.leave(health.zone, name)
        self._silent.drop(name)
        self._changed.pop(name, None)
        self._execute.pop(name, None)

    # Passes

    def _pass_after(self, time: int) -> int:
        return time + PERIOD_US - (time - self._started_at) % PERIOD_US

    def _pass_soon(self, now: int) -> None:
        if self._pass_at is None:
            self._pass_at = self._pass_after(now)

    def _pass(self, now: int, touched: dict[str, None]) -> list[Request]:
        """Find silent nodes, decide on NoExecute taints, and look at the zones."""
        requests: list[Request] = []
        for name in list(self._silent.pop_due(now)):
            requests += self._silence(self._nodes[name], now)
        changed, self._changed = self._changed, {}
        for name in changed:
            if name in self._nodes:
                self._decide(self._nodes[name], touched)
        match self._zones.update(now):
            case Disruption.ENTERED:
                self._spare_all(touched)
            case Disruption.LEFT:
                self._start_again(now, touched)
            case _:
                pass
        return requests

    def _silence(self, health: _Health, now: int) -> Iterator[Request]:
        """What is written of a node whose kubelet has not been heard of for too long."""
        last = self._last_heard(health)
        if last is None or self._is_back_by(health.node, now):
            return
        due = self._silent_at(health, last)
        if due > now:  # heard of since this was set
            self._silent.set(health.node.name, due)
            return
        node, was_ready = health.node, health.ready
        conditions = _unknown_conditions(node, now)
        if conditions:
            key, body = ObjectKey(Node.kind, "", node.name), {"status": {"conditions": conditions}}
            yield Patch(key, body, PatchType.STRATEGIC, "status", node.uid)
        self._count(health, -1)
        health.ready = UNKNOWN
        self._count(health, 1)
        self._changed[node.name] = None
        if was_ready == TRUE:
            message = f"Node {node.name} status is now: {NODE_NOT_READY}"
            yield from self._events.record(node, NODE_NOT_READY, message, now=now)
            yield from self._not_ready(node.name, now)

    def _not_ready(self, name: str, now: int) -> Iterator[Request]:
        """The node's pods, of which nobody knows any more whether they are ready."""
        condition = {"type": "Ready", "status": FALSE, "lastTransitionTime": time_text(now)}
        for pod in self.pods.on(name):
            if any(one.type == "Ready" and one.status != FALSE for one in pod.status.conditions or ()):
                key = ObjectKey(Pod.kind, pod.namespace, pod.name)
                yield ReportStatus(key, {"conditions": [condition]}, pod.uid)
                yield from self._events.record(pod, NODE_NOT_READY, "Node is not ready", now=now, kind=WARNING)

    def _decide(self, health: _Health, touched: dict[str, None]) -> None:
        """Let the node wait for its NoExecute taint; it loses or changes one at once."""
        name, key, there = health.node.name, execute_key(health.ready), no_execute_of(health.node)
        self._execute.pop(name, None)
        if key and not there:
            self._zones.wait(health.zone, name)
            return
        self._zones.leave(health.zone, name)
        if there and there != [key] and health.ready:
            self._execute[name] = key
            touched[name] = None

    def _spare_all(self, touched: dict[str, None]) -> None:
        """Nothing is healthy any more: take NoExecute taints away, the fault is hardly that of all nodes."""
        self._execute.clear()
        for name, health in self._nodes.items():
            if no_execute_of(health.node):
                self._execute[name] = ""
                touched[name] = None

    def _start_again(self, now: int, touched: dict[str, None]) -> None:
        """Some nodes are healthy again: those that are not get their taints, silent ones a new grace period."""
        for health in self._nodes.values():
            if health.ready in (FALSE, UNKNOWN):
                self._decide(health, touched)
            else:
                health.heard_at = now

    # Taints

    def _taints(self, touched: dict[str, None], now: int) -> Iterator[Request]:
        for name in touched:
            health = self._nodes.get(name)
            if health is None or health.ready != ready_of(health.node):  # gone, or its condition is being written
                continue
            execute = self._execute.get(name)
            if execute is not None and no_execute_of(health.node) == ([execute] if execute else []):
                del self._execute[name]  # it has been written
                execute = None
            patch = taint_patch(health.node, now, execute=execute)
            if patch is not None:
                yield patch


def _heartbeat_of(node: Node) -> Any:
    return next((one.last_heartbeat_time for one in node.status.conditions or () if one.type == "Ready"), None)


def _heard_by(node: Node, means: str) -> Patch:
    body = {"metadata": {"annotations": {HEARTBEAT: means}}}
    return Patch(ObjectKey(Node.kind, "", node.name), body, uid=node.uid)


def _unknown_conditions(node: Node, now: int = 0) -> list[dict[str, Any]]:
    """What a silent node's conditions lack to be all Unknown."""
    there = {one.type: one.status for one in node.status.conditions or ()}
    at, created = time_text(now), node.metadata.creation_timestamp
    born = time_text(microseconds(created)) if created is not None else at
    found: list[dict[str, Any]] = []
    for name in _CONDITIONS:
        if there.get(name) != UNKNOWN:
            reason, message = _STOPPED if name in there else _NEVER_HEARD
            heartbeat = {} if name in there else {"lastHeartbeatTime": born}
            condition = {"type": name, "status": UNKNOWN, "reason": reason, "message": message}
            found.append(condition | heartbeat | {"lastTransitionTime": at})
    return found
