"""Which calls can be answered together: see `calls.answer_together`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.api.custom import DEFINITION
from scheduler_core.apiserver.answering import Call
from scheduler_core.apiserver.kinds import ADMISSION_KINDS
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.routes import route

# Kinds that stay alone, and the subresources that do not.
ALONE: Final = frozenset({*ADMISSION_KINDS, "Namespace", "ResourceQuota", "Event", "Service", DEFINITION})
_TOGETHER: Final = ("", "status", "binding", "scale")


def object_of(call: Call) -> ObjectKey | None:
    """The object that a call writes, when it may be answered together with others; a new one has no name yet.

    Calls stay alone that later ones look at by more than a key (namespaces, classes, events, definitions), that write
    many objects, or that commit nothing; and those about objects of kinds that a cluster defines.
    """
    found = route(call.path)
    if found is None or call.method not in ("POST", "PUT", "PATCH", "DELETE") or call.method not in found.methods():
        return None
    is_alone = found.kind.name in ALONE or found.subresource not in _TOGETHER or "dryRun" in call.query
    if is_alone or (not found.name and call.method != "POST"):
        return None
    value = call.body.value
    if isinstance(value, Mapping) and "dryRun" in value:
        return None
    if found.is_bindings:  # the older way to bind: the body names the pod
        return None
    return ObjectKey(found.kind.name, found.namespace if found.kind.namespaced else "", found.name)
