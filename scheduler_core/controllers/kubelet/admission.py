"""Whether a kubelet takes a pod that was bound to its node: pressure first, then room, affinity, ports, taints.

    Admitted      it starts; a critical pod may need `victims` to end before
    Rejected      it fails with this reason and message

The rules are those of the scheduler's plugins. Extended resources that the node does not have are not asked for: a
driver of the whole cluster may provide them.
Source: kubernetes v1.34.1, pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/eviction/eviction_manager.go (Admit).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Final

import msgspec

from scheduler_core.admission.qos import BEST_EFFORT, qos_class
from scheduler_core.api.affinity import Taint
from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import is_extended
from scheduler_core.api.selectors import required_node_affinity
from scheduler_core.config import names
from scheduler_core.controllers.kubelet.critical import is_critical, is_static, victims_for
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins import node_affinity, node_name, node_ports
from scheduler_core.plugins.helpers import is_tolerated
from scheduler_core.plugins.node_resources_fit import Shortage, shortages

MEMORY_PRESSURE: Final = "MemoryPressure"
DISK_PRESSURE: Final = "DiskPressure"
PID_PRESSURE: Final = "PIDPressure"
PRESSURES: Final = (MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE)
EVICTED: Final = "Evicted"
UNTOLERATED: Final = "node(s) had taints that the pod didn't tolerate"
UNEXPECTED: Final = "UnexpectedAdmissionError"
_MEMORY_TAINT: Final = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")
_NO_EXECUTE: Final = "NoExecute"


class Admitted(msgspec.Struct, frozen=True, gc=False):
    """The pod starts when the victims have ended."""

    victims: tuple[Pod, ...] = ()


class Rejected(msgspec.Struct, frozen=True, gc=False):
    """The pod fails."""

    reason: str
    message: str


_ADMITTED: Final = Admitted()


def admit(info: PodInfo, node_info: NodeInfo, pressures: Set[str]) -> Admitted | Rejected:
    """Return what the kubelet of the node says; `pressures` are the conditions of the node that are True.

    A node that does not tell what it offers has room for everything.
    """
    pod, node = info.pod, node_info.node
    assert node is not None
    if pressures and not _is_taken_under(pressures, pod):
        return Rejected(EVICTED, f"The node had condition: [{' '.join(sorted(pressures))}]. ")
    lacking = shortages(_amounts(info, node_info), node_info) if node.status.allocatable else []
    refused = next(_refusals(info, node_info), None)
    if lacking and is_critical(pod) and refused is None:
        victims = victims_for(pod, lacking, [one.pod for one in node_info.pods])
        if victims is not None:
            return Admitted(tuple(victims))
        missing = "".join(f"(res: {one.resource}, q: {one.requested - one.capacity + one.used}), " for one in lacking)
        return Rejected(
            UNEXPECTED,
            "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of"
            f" pods to preempt: no set of running pods found to reclaim resources: [{missing}]",
        )
    if lacking and not is_critical(pod):
        return _out_of(lacking[0])
    return _ADMITTED if refused is None else refused


def _amounts(info: PodInfo, node_info: NodeInfo) -> Iterable[tuple[str, int]]:
    offered = node_info.allocatable.scalar
    return (
        (name, amount) for name, amount in info.request.items() if amount and (name in offered or not is_extended(name))
    )


def _out_of(shortage: Shortage) -> Rejected:
    return Rejected(
        f"OutOf{shortage.resource}",
        f"Node didn't have enough resource: {shortage.resource}, requested: {shortage.requested},"
        f" used: {shortage.used}, capacity: {shortage.capacity}",
    )


def _refusals(info: PodInfo, node_info: NodeInfo) -> Iterator[Rejected]:
    pod, node = info.pod, node_info.node
    assert node is not None
    spec = pod.spec
    if (spec.node_selector or spec.affinity is not None) and not required_node_affinity(pod).matches_node(node):
        yield _predicate(names.NODE_AFFINITY, node_affinity.REASON_POD)
    if spec.node_name != node.name:
        yield _predicate(names.NODE_NAME, node_name.REASON)
    if info.host_ports and node_info.conflicts_with_ports(info.host_ports):
        yield _predicate(names.NODE_PORTS, node_ports.REASON)
    if node.spec.taints and not is_static(pod):
        tolerations = spec.tolerations or ()
        if any(one.effect == _NO_EXECUTE and not is_tolerated(one, tolerations) for one in node.spec.taints):
            yield _predicate(names.TAINT_TOLERATION, UNTOLERATED)


def _predicate(name: str, reason: str) -> Rejected:
    return Rejected(name, f"Predicate {name} failed: {reason}")


def _is_taken_under(pressures: Set[str], pod: Pod) -> bool:
    if is_critical(pod):
        return True
    if pressures != {MEMORY_PRESSURE}:
        return False
    return qos_class(pod.spec) != BEST_EFFORT or is_tolerated(_MEMORY_TAINT, pod.spec.tolerations or ())
