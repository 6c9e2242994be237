"""What the kubelet of one node knows: its node, the pods it took, and whether it is heard. Times are microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Final
from uuid import UUID

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds
from scheduler_core.apiserver.requests import Manifest, ObjectKey, Patch, PatchType
from scheduler_core.controllers.kubelet.admission import PRESSURES
from scheduler_core.controllers.node_agent import KUBELET_WAS, Agent, AgentState, agent_of, was_away
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo

_NOT_COUNTED: Final = 0
_AGAIN_US: Final = 1_000_000  # pods that come one after the other are rejected at this pace
_AT_WORK: Final = Agent(AgentState.RUNNING)


class NodeState:
    """One node; `info` adds up the pods that were admitted."""

    __slots__ = (
        "agent",
        "heard_since",
        "info",
        "is_heard",
        "may_refuse",
        "off_since",
        "pressures",
        "rebooted",
        "rejected",
        "waiting",
    )

    def __init__(self) -> None:
        self.info = NodeInfo(lambda: _NOT_COUNTED)
        self.agent = _AT_WORK
        self.heard_since = 0  # when it was last heard again; 0 when it was never away
        self.off_since: int | None = None  # when its machine went off, before it was heard again
        self.rebooted = False  # its machine was off before it was heard again
        self.pressures: frozenset[str] = frozenset()
        self.is_heard = False  # the node exists and its kubelet reports
        self.may_refuse = True  # room is not all that counts: pressure, taints, or nobody knows the room
        self.rejected = 0, -_AGAIN_US  # the step in which a pod was rejected last, and its time
        self.waiting: dict[str, None] = {}  # uids of pods bound to it that it has not judged yet

    @property
    def node(self) -> Node | None:
        return self.info.node

    def put(self, node: Node, now: int) -> bool:
        """Take over the node as it is now; return whether its kubelet has just come to be heard."""
        before = self.info.node
        was_heard, was = self.is_heard, self.agent
        if before is None or before.status.allocatable != node.status.allocatable:
            self.info.set_node(node)
        else:
            self.info.node = node
        conditions = node.status.conditions or ()
        self.pressures = frozenset(one.type for one in conditions if one.status == "True" and one.type in PRESSURES)
        self.agent = agent_of(node)
        self.is_heard = self.agent.is_heard
        self.may_refuse = bool(self.pressures or node.spec.taints or not node.status.allocatable)
        if self.is_heard and not was_heard:
            noted = was_away(node)
            if before is None and noted is not None:
                was = noted
            if before is not None or noted is not None:
                self.heard_since, self.rebooted = now, was.state == AgentState.OFF
                self.off_since = was.since
        return self.is_heard and not was_heard

    def rejects_again(self, step: int, now: int) -> int | None:
        """Note that a pod is rejected in this step; None, or the time until which that has to wait.

        Whoever makes another pod as soon as one is rejected would else do nothing but that, at one and the same time.
        """
        last_step, last = self.rejected
        if step != last_step and now < last + _AGAIN_US:
            return last + _AGAIN_US
        self.rejected = step, now
        return None

    def has_lost(self, pod: Pod) -> bool:
        """Whether containers of the pod ran when its machine went off, and did not start anew since."""
        if not self.rebooted or pod.is_terminating:
            return False
        statuses = (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
        running = [one.state.running for one in statuses if one.state is not None and one.state.running is not None]
        times = [one.started_at for one in running] if statuses else [pod.status.start_time]
        off_since = self.heard_since if self.off_since is None else self.off_since
        return any(time is not None and microseconds(time) <= off_since for time in times)

    def lose(self) -> None:
        """Note that the node is gone."""
        self.info.remove_node()
        self.is_heard = False

    def uids(self) -> Iterator[str]:
        """The pods it took."""
        return (info.pod.metadata.uid for info in self.info.pods)

    def add(self, info: PodInfo) -> None:
        """Count a pod; one that is counted already is counted as it is now."""
        if not self.info.replace_pod(info.pod, info):
            self.info.add_pod(info)

    def remove(self, pod: Pod) -> None:
        """Count the pod no more."""
        self.waiting.pop(pod.metadata.uid, None)
        self.info.remove_pod(pod)


def status_patch(node: Node, status: Manifest) -> Patch:
    """Return what changes the status of the node."""
    return Patch(ObjectKey(Node.kind, "", node.name), {"status": status}, PatchType.MERGE, "status", node.uid)


def booted(node: Node, now: int) -> Patch:
    """Return what tells that the node was booted at that time: each boot has a name."""
    boot_id = str(UUID(bytes=sha256(f"{node.uid}/{node.name}/{now}".encode()).digest()[:16]))
    return status_patch(node, {"nodeInfo": {"bootID": boot_id}})


def caught_up(node: Node) -> Patch:
    """Return what tells that all is done that followed from the kubelet's return."""
    body = {"metadata": {"annotations": {KUBELET_WAS: None}}}
    return Patch(ObjectKey(Node.kind, "", node.name), body, uid=node.uid)
