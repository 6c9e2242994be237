"""Nodes and other objects of the whole cluster; leases."""

from __future__ import annotations

from typing import Final

from scheduler_core.apiserver.printing.texts import NONE, UNKNOWN, Cells, Manifest, Printed, age_of, name_of, part

_ROLE_LABEL: Final = "node-role.kubernetes.io/"
_ROLE: Final = "kubernetes.io/role"


def _node(node: Manifest, now: int) -> Cells:
    status = part(node, "status")
    info = part(status, "nodeInfo")
    ready = next((one["status"] for one in status.get("conditions") or () if one["type"] == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if part(node, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    labels = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_LABEL) for key in labels if key.startswith(_ROLE_LABEL)} - {""}
    roles |= {labels[_ROLE]} if labels.get(_ROLE) else set()
    addresses = {one["type"]: one["address"] for one in reversed(status.get("addresses") or ())}
    return [
        name_of(node), ",".join(words), ",".join(sorted(roles)) or NONE, age_of(node, now),
        info.get("kubeletVersion", ""), addresses.get("InternalIP", NONE), addresses.get("ExternalIP", NONE),
        info.get("osImage") or UNKNOWN, info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]  # fmt: skip


def _namespace(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), part(manifest, "status").get("phase", ""), age_of(manifest, now)]


def _priority_class(manifest: Manifest, now: int) -> Cells:
    return [
        name_of(manifest), manifest.get("value", 0), manifest.get("globalDefault", False), age_of(manifest, now),
        manifest.get("preemptionPolicy", ""),
    ]  # fmt: skip


def _runtime_class(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), manifest.get("handler", ""), age_of(manifest, now)]


def _lease(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), part(manifest, "spec").get("holderIdentity", ""), age_of(manifest, now)]


PRINTED: Final[dict[str, Printed]] = {
    "Node": (
        "Name|Status|Roles|Age|Version|!Internal-IP|!External-IP|!OS-Image|!Kernel-Version|!Container-Runtime",
        _node,
    ),
    "Namespace": ("Name|Status|Age", _namespace),
    "PriorityClass": ("Name|Value:integer|Global-Default:boolean|Age|PreemptionPolicy", _priority_class),
    "RuntimeClass": ("Name|Handler|Age", _runtime_class),
    "Lease": ("Name|Holder|Age", _lease),
}
