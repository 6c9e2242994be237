"""New nodes: allocatable from capacity, ready unless said otherwise, conditions mirrored to taints.

The scheduler looks at taints only, so a condition without its taint would have no effect. Nodes of a simulated
cluster are Ready from the start: no kubelet comes to report it.
Source: kubernetes v1.34.1, pkg/controller/nodelifecycle and plugin/pkg/admission/nodetaint.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.context import Manifest
from scheduler_core.admission.defaulting import default_resource_lists
from scheduler_core.admission.tolerations import NOT_READY, UNREACHABLE

UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"

# (condition, status) to the taints it brings.
CONDITION_TAINTS: Final = {
    ("Ready", "False"): ((NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")),
    ("Ready", "Unknown"): ((UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")),
    ("MemoryPressure", "True"): (("node.kubernetes.io/memory-pressure", "NoSchedule"),),
    ("DiskPressure", "True"): (("node.kubernetes.io/disk-pressure", "NoSchedule"),),
    ("PIDPressure", "True"): (("node.kubernetes.io/pid-pressure", "NoSchedule"),),
    ("NetworkUnavailable", "True"): (("node.kubernetes.io/network-unavailable", "NoSchedule"),),
}


def default_node(node: Manifest, created: str) -> None:
    """`created` is the time of creation, as text."""
    status = node.setdefault("status", {})
    default_resource_lists(status, ("capacity", "allocatable"))
    if status.get("allocatable") is None and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])
    conditions = status.setdefault("conditions", [])
    if not any(condition.get("type") == "Ready" for condition in conditions):
        conditions.append(
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
                "lastHeartbeatTime": created,
                "lastTransitionTime": created,
            }
        )
    _mirror_conditions(node)


def _mirror_conditions(node: Manifest) -> None:
    spec = node.setdefault("spec", {})
    wanted = [(UNSCHEDULABLE, "NoSchedule")] if spec.get("unschedulable") else []
    for condition in node["status"]["conditions"]:
        wanted += CONDITION_TAINTS.get((condition.get("type", ""), condition.get("status", "")), ())
    taints = spec.get("taints", [])
    present = {(taint.get("key"), taint.get("effect")) for taint in taints}
    added = [{"key": key, "effect": effect} for key, effect in wanted if (key, effect) not in present]
    if added:
        spec["taints"] = [*taints, *added]
