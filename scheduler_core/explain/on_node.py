"""What a pod asks of one node and what there is of it, for reasons of a plugin that looks at nothing but that node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.points import PreFilterPlugin
from scheduler_core.model.amounts import Amounts, merged
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.node_affinity import REASON_POD, NodeAffinity
from scheduler_core.plugins.node_ports import NodePorts
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_core.plugins.taint_toleration import TaintToleration

# With the defaults: what a profile adds to them (an affinity for all pods, say) is not known here.
_PLUGINS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    names.NODE_AFFINITY: NodeAffinity,
    names.NODE_PORTS: NodePorts,
    names.NODE_RESOURCES_FIT: NodeResourcesFit,
    names.NODE_UNSCHEDULABLE: NodeUnschedulable,
    names.TAINT_TOLERATION: TaintToleration,
}


def node_with(node: Node, pods: Iterable[Pod]) -> NodeInfo:
    """The node with these pods on it."""
    info = NodeInfo(lambda: 0)
    info.set_node(node)
    for pod in pods:
        info.add_pod(PodInfo.of(pod))
    return info


def amounts_on_node(pod: Pod, node_info: NodeInfo, plugin: str, reasons: Iterable[str]) -> tuple[Amounts, ...] | None:
    """None where a node alone does not tell; nothing where these reasons do not hold of it."""
    made, given = _PLUGINS.get(plugin), tuple(reasons)
    if made is None or (plugin == names.NODE_AFFINITY and given != (REASON_POD,)):
        return None
    teller, state = made(None, None), CycleState()
    if isinstance(teller, PreFilterPlugin):
        teller.pre_filter(state, pod, (node_info,))
    return merged(
        each for reason in given for each in teller.amounts_on(state, pod, node_info, reason, len(given) == 1)
    )
