"""A node with its pods added up.

Totals are updated by addition and subtraction of each pod's cached numbers, never recounted.
`generation` is drawn from the cache's counter at every change and only grows.
Source: kubernetes v1.34.1, pkg/scheduler/framework/types.go (NodeInfo).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import HostPort
from scheduler_core.model.types import PodInfo, Resource

ANY_IP = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class ImageStateSummary:
    """Size in bytes as the first reporter gave it; number of nodes having the image when this was copied."""

    size: int
    num_nodes: int


@dataclass(slots=True)
class NodeInfo:
    """One node: the object (None for a ghost), its pods in upstream's order, and the totals."""

    next_generation: Callable[[], int]
    node: Node | None = None
    pods: list[PodInfo] = field(default_factory=list)
    pods_with_affinity: list[PodInfo] = field(default_factory=list)
    pods_with_required_anti_affinity: list[PodInfo] = field(default_factory=list)
    used_ports: set[HostPort] = field(default_factory=set)  # no counts: removing one of two holders frees it
    requested: Resource = field(default_factory=Resource)
    non_zero_milli_cpu: int = 0
    non_zero_memory: int = 0
    allocatable: Resource = field(default_factory=Resource)
    image_states: dict[str, ImageStateSummary] = field(default_factory=dict)
    pvc_ref_counts: dict[str, int] = field(default_factory=dict)
    generation: int = 0

    @property
    def name(self) -> str:
        """The node's name, empty for a ghost."""
        return self.node.name if self.node is not None else ""

    def set_node(self, node: Node) -> None:
        self.node = node
        self.allocatable = Resource.of(node.status.allocatable or {})  # never changed: copies share it
        self.generation = self.next_generation()

    def remove_node(self) -> None:
        self.node = None
        self.generation = self.next_generation()

    def add_pod(self, pod_info: PodInfo) -> None:
        self.pods.append(pod_info)
        if pod_info.has_affinity:
            self.pods_with_affinity.append(pod_info)
        if pod_info.has_required_anti_affinity:
            self.pods_with_required_anti_affinity.append(pod_info)
        self.requested.add(pod_info.request)
        self.non_zero_milli_cpu += pod_info.non_zero_milli_cpu
        self.non_zero_memory += pod_info.non_zero_memory
        if pod_info.host_ports:
            self.used_ports.update(pod_info.host_ports)
        for claim in pod_info.claim_keys:
            self.pvc_ref_counts[claim] = self.pvc_ref_counts.get(claim, 0) + 1
        self.generation = self.next_generation()

    def remove_pod(self, pod: Pod) -> bool:
        """Take the pod off by uid; False when it is not here. The last pod moves into the hole, as upstream."""
        index = _index_of(self.pods, pod.uid)
        if index is None:
            return False
        pod_info = self.pods[index]
        _swap_out(self.pods, index)
        for subset in (self.pods_with_affinity, self.pods_with_required_anti_affinity):
            position = _index_of(subset, pod.uid) if subset else None
            if position is not None:
                _swap_out(subset, position)
        self.requested.subtract(pod_info.request)
        self.non_zero_milli_cpu -= pod_info.non_zero_milli_cpu
        self.non_zero_memory -= pod_info.non_zero_memory
        if pod_info.host_ports:
            self.used_ports.difference_update(pod_info.host_ports)
        for claim in pod_info.claim_keys:
            left = self.pvc_ref_counts.get(claim, 0) - 1
            if left > 0:
                self.pvc_ref_counts[claim] = left
            else:
                self.pvc_ref_counts.pop(claim, None)
        self.generation = self.next_generation()
        return True

    def replace_pod(self, pod: Pod, pod_info: PodInfo) -> bool:
        """Take the pod off and add another version of it, to the same end as doing one after the other.

        False when it is not here. Where both add up to the same, totals are left as they are.
        """
        index = _index_of(self.pods, pod.uid)
        if index is None:
            return False
        old = self.pods[index]
        if old.request is not pod_info.request or old.claim_keys:
            self.remove_pod(pod)
            self.add_pod(pod_info)
            return True
        # Shared by pods of one signature: whatever else is added up is the same as well.
        _swap_out(self.pods, index)
        self.pods.append(pod_info)
        for has, subset in (
            (old.has_affinity, self.pods_with_affinity),
            (old.has_required_anti_affinity, self.pods_with_required_anti_affinity),
        ):
            position = _index_of(subset, pod.uid) if has else None
            if position is not None:
                _swap_out(subset, position)
                subset.append(pod_info)
        if pod_info.host_ports:
            self.used_ports.update(pod_info.host_ports)  # one that another pod's end had freed is taken again
        self.next_generation()
        self.generation = self.next_generation()
        return True

    def conflicts_with_ports(self, wanted: tuple[HostPort, ...]) -> bool:
        """Whether any wanted (ip, protocol, port) is taken; 0.0.0.0 takes and wants every address."""
        if not self.used_ports:
            return False
        for ip, protocol, port in wanted:
            for used_ip, used_protocol, used_port in self.used_ports:
                if (protocol, port) == (used_protocol, used_port) and (
                    ip == used_ip or ip == ANY_IP or used_ip == ANY_IP
                ):
                    return True
        return False

    def copy(self) -> NodeInfo:
        """A copy whose totals and lists are its own; PodInfos and the node object are shared."""
        return NodeInfo(
            self.next_generation,
            self.node,
            self.pods.copy(),
            self.pods_with_affinity.copy(),
            self.pods_with_required_anti_affinity.copy(),
            self.used_ports.copy(),
            self.requested.copy(),
            self.non_zero_milli_cpu,
            self.non_zero_memory,
            self.allocatable,
            self.image_states,
            self.pvc_ref_counts.copy(),
            self.generation,
        )

    def assign(self, other: NodeInfo) -> None:
        """Become what `other.copy()` would give, writing only what may differ. Lists are replaced, never changed."""
        self.node = other.node
        self.pods = other.pods.copy()
        if self.pods_with_affinity or other.pods_with_affinity:
            self.pods_with_affinity = other.pods_with_affinity.copy()
        if self.pods_with_required_anti_affinity or other.pods_with_required_anti_affinity:
            self.pods_with_required_anti_affinity = other.pods_with_required_anti_affinity.copy()
        if self.used_ports or other.used_ports:
            self.used_ports = other.used_ports.copy()
        self.requested.assign(other.requested)
        self.non_zero_milli_cpu = other.non_zero_milli_cpu
        self.non_zero_memory = other.non_zero_memory
        self.allocatable = other.allocatable
        self.image_states = other.image_states
        if self.pvc_ref_counts or other.pvc_ref_counts:
            self.pvc_ref_counts = other.pvc_ref_counts.copy()
        self.generation = other.generation


def _index_of(pods: list[PodInfo], uid: str) -> int | None:
    for index, info in enumerate(pods):
        if info.pod.metadata.uid == uid:
            return index
    return None


def _swap_out(pods: list[PodInfo], index: int) -> None:
    pods[index] = pods[-1]
    pods.pop()
