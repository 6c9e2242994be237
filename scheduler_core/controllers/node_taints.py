"""The taints that follow from a node's conditions, and what a node is patched with to have them.

    NoSchedule   one for each condition that calls for one, and for `spec.unschedulable`; exactly these of their keys
    NoExecute    not-ready or unreachable, given and taken by the node controller's pass

A node whose kubelet has never said whether it is Ready keeps the taints of conditions it has.
Source: kubernetes v1.34.1, pkg/controller/nodelifecycle and pkg/controller/util/node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from scheduler_core.admission.node import CONDITION_TAINTS, UNSCHEDULABLE
from scheduler_core.admission.tolerations import NOT_READY, UNREACHABLE
from scheduler_core.api.affinity import Taint
from scheduler_core.api.node import Node
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import ObjectKey, Patch

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"

_KEY_OF: Final = {
    condition: key for condition, taints in CONDITION_TAINTS.items() for key, effect in taints if effect == NO_SCHEDULE
}
_CONDITION_KEYS: Final = frozenset(_KEY_OF.values())
_EXECUTE_KEYS: Final = {FALSE: NOT_READY, UNKNOWN: UNREACHABLE}


def ready_of(node: Node) -> str:
    """Return the status of the condition Ready; empty when nobody has said."""
    return next((one.status for one in node.status.conditions or () if one.type == "Ready"), "")


def no_execute_of(node: Node) -> list[str]:
    """Return the keys of the NoExecute taints that the node controller has given the node."""
    return [one.key for one in node.taints if one.effect == NO_EXECUTE and one.key in (NOT_READY, UNREACHABLE)]


def execute_key(ready: str) -> str:
    """Return the key of the NoExecute taint that a node of that Ready status gets; empty when it gets none."""
    return _EXECUTE_KEYS.get(ready, "")


def taint_patch(node: Node, now: int, *, execute: str | None = None) -> Patch | None:
    """Return the patch that brings the taints in line; None when they are.

    `execute` is the key of the one NoExecute taint of the node controller that the node is to have, empty for none;
    None leaves these as they are.
    """
    taints = node.taints
    wanted = _wanted_keys(node)
    kept = [one for one in taints if not _is_out_of_line(one, wanted, execute, has_ready=bool(ready_of(node)))]
    there = {(one.key, one.effect) for one in kept}
    missing = [(key, NO_SCHEDULE) for key in wanted if (key, NO_SCHEDULE) not in there]
    if execute and (execute, NO_EXECUTE) not in there:
        missing.append((execute, NO_EXECUTE))
    if not missing and len(kept) == len(taints):
        return None
    added = [Taint(key, effect, time_added=time_text(now)) for key, effect in missing]
    body = {"spec": {"taints": _encoded([*kept, *added]) or None}}
    # Taints are replaced as a whole: of a version that somebody has changed since nothing is written.
    return Patch(
        ObjectKey(Node.kind, "", node.name), body, uid=node.uid, resource_version=node.metadata.resource_version
    )


def _wanted_keys(node: Node) -> list[str]:
    conditions = ((one.type, one.status) for one in node.status.conditions or ())
    keys = [_KEY_OF[condition] for condition in conditions if condition in _KEY_OF] if ready_of(node) else []
    return [*dict.fromkeys(keys), *([UNSCHEDULABLE] if node.spec.unschedulable else [])]


def _is_out_of_line(taint: Taint, wanted: Sequence[str], execute: str | None, *, has_ready: bool) -> bool:
    if taint.effect == NO_EXECUTE:
        return execute is not None and taint.key in _EXECUTE_KEYS.values() and taint.key != execute
    if taint.effect != NO_SCHEDULE or taint.key in wanted:
        return False
    return taint.key == UNSCHEDULABLE or (has_ready and taint.key in _CONDITION_KEYS)


def _encoded(taints: Sequence[Taint]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(taint) for taint in taints]
