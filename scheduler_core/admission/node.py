"""New nodes: tainted until they are ready, or ready at once with conditions mirrored to taints.

The scheduler looks at taints only, so a condition without its taint would have no effect. Nodes of a simulated
cluster are Ready from the start: no kubelet comes to report it.
Source: kubernetes v1.34.1, pkg/controller/nodelifecycle and plugin/pkg/admission/nodetaint.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.context import Manifest
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


def distrust_node(node: Manifest) -> None:
    """Keep pods off a new node until a kubelet has reported and a controller has taken the taint away."""
    taints = node["spec"].get("taints", [])
    taint = {"key": NOT_READY, "effect": "NoSchedule"}
    if not any((one["key"], one["effect"]) == (NOT_READY, "NoSchedule") for one in taints):
        node["spec"]["taints"] = [*taints, taint]


def settle_node(node: Manifest, created: str) -> None:
    """Make a new node one that a kubelet has reported; `created` is the time of its creation, as text."""
    status = node.setdefault("status", {})
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
