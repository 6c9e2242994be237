"""Nodes, as far as scheduling and the simulated cluster read them. Source: core/v1 of Kubernetes 1.34."""

from __future__ import annotations

from typing import ClassVar

from scheduler_core.api.affinity import Taint
from scheduler_core.api.meta import Int64, KubeObject, ResourceList, Time, Value


class NodeSpec(Value, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class ContainerImage(Value, frozen=True):
    names: tuple[str, ...] | None = None
    size_bytes: Int64 = 0


class NodeCondition(Value, frozen=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_heartbeat_time: Time | None = None
    last_transition_time: Time | None = None


class NodeAddress(Value, frozen=True):
    type: str = ""
    address: str = ""


class NodeStatus(Value, frozen=True):
    allocatable: ResourceList | None = None
    capacity: ResourceList | None = None
    images: tuple[ContainerImage, ...] | None = None
    conditions: tuple[NodeCondition, ...] | None = None
    addresses: tuple[NodeAddress, ...] | None = None


class Node(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Node"
    plural: ClassVar[str] = "nodes"
    namespaced: ClassVar[bool] = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def internal_ip(self) -> str:
        """The first address inside the cluster, empty when there is none."""
        return next((one.address for one in self.status.addresses or () if one.type == "InternalIP"), "")

    @property
    def taints(self) -> tuple[Taint, ...]:
        return self.spec.taints or ()
