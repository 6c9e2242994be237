"""The pressure conditions of a node: what they say, and the writes and events by which a kubelet reports them.

Source: kubernetes v1.34.1, pkg/kubelet/nodestatus/setters.go.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from scheduler_core.api.node import Node, NodeCondition
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.event_recorder import NORMAL, EventRecorder
from scheduler_core.controllers.kubelet.admission import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE, PRESSURES
from scheduler_core.controllers.kubelet.configuration import (
    ALLOCATABLE_MEMORY,
    IMAGEFS_AVAILABLE,
    IMAGEFS_INODES,
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    NODEFS_INODES,
    PID_AVAILABLE,
)

CONDITION_OF: Final = {
    MEMORY_AVAILABLE: MEMORY_PRESSURE,
    ALLOCATABLE_MEMORY: MEMORY_PRESSURE,
    NODEFS_AVAILABLE: DISK_PRESSURE,
    IMAGEFS_AVAILABLE: DISK_PRESSURE,
    NODEFS_INODES: DISK_PRESSURE,
    IMAGEFS_INODES: DISK_PRESSURE,
    PID_AVAILABLE: PID_PRESSURE,
}


class Words(msgspec.Struct, frozen=True, gc=False):
    """What a state of a condition says, and the event of becoming so."""

    reason: str
    message: str
    event: str


WORDS: Final = {
    (MEMORY_PRESSURE, True): Words(
        "KubeletHasInsufficientMemory", "kubelet has insufficient memory available", "NodeHasInsufficientMemory"
    ),
    (MEMORY_PRESSURE, False): Words(
        "KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"
    ),
    (DISK_PRESSURE, True): Words("KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
    (DISK_PRESSURE, False): Words("KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"),
    (PID_PRESSURE, True): Words(
        "KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"
    ),
    (PID_PRESSURE, False): Words(
        "KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"
    ),
}


def reported(node: Node) -> list[NodeCondition]:
    """Return the pressure conditions that a kubelet has reported as True."""
    conditions = node.status.conditions or ()
    return [
        one
        for one in conditions
        if one.type in PRESSURES and one.status == "True" and one.reason == WORDS[one.type, True].reason
    ]


def is_unknown(node: Node) -> bool:
    """Return whether somebody has given up hope for a pressure condition."""
    return any(one.status == "Unknown" and one.type in PRESSURES for one in node.status.conditions or ())


def report(node: Node, pressures: Collection[str], now: int, events: EventRecorder) -> Sequence[Request]:
    """Return what makes the conditions of the node tell of exactly these pressures; nothing where they do."""
    told = {one.type: one.status for one in node.status.conditions or ()}
    at = time_text(now)
    changed, requests = [], []
    for kind in PRESSURES:
        status = "True" if kind in pressures else "False"
        if told.get(kind, "False") == status:
            continue
        words = WORDS[kind, status == "True"]
        changed.append(
            {
                "type": kind,
                "status": status,
                "reason": words.reason,
                "message": words.message,
                "lastHeartbeatTime": at,
                "lastTransitionTime": at,
            }
        )
        message = f"Node {node.name} status is now: {words.event}"
        requests += events.record(node, words.event, message, now=now, kind=NORMAL, host=node.name)
    if not changed:
        return ()
    body = {"status": {"conditions": changed}}
    return [Patch(ObjectKey(Node.kind, "", node.name), body, PatchType.STRATEGIC, "status", node.uid), *requests]
