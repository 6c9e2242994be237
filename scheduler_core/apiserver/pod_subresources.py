"""Bodies of what is asked of a pod: a Binding and an Eviction, checked before the rules see them.

Source: kubernetes v1.34.1, pkg/registry/core/pod/storage (`storage.go`, `eviction.go`) and pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from scheduler_core.api import field_errors
from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.bodies import Body

_OLD_EVICTION: Final = "policy/v1beta1"


def unfit_binding(binding: Mapping[str, Any], pod: str) -> Refused | None:
    """Why a Binding is refused whose address names this pod, or none where it is the body that does."""
    name, target = binding["metadata"].get("name", ""), binding["target"]
    if pod and name != pod:
        return answers.bad_request("name in URL does not match name in Binding object")
    if not name:
        return answers.bad_request("Name parameter required.")
    problems = []
    if target.get("kind") not in (None, "", "Node"):
        told = field_errors.unsupported(target["kind"], ("Node", "<empty>"), is_plain=True)
        problems.append(f"target.kind: {told}")
    if not target.get("name"):
        problems.append(f"target.name: {field_errors.required()}")
    return answers.internal_error(field_errors.joined(problems)) if problems else None


def eviction_body(body: Body) -> Body:
    """The body as an Eviction of today; how to delete may say what it is, as bodies of deletions do."""
    value = body.value
    if not isinstance(value, Mapping):
        return body
    if value.get("apiVersion") == _OLD_EVICTION:
        value = {**value, "apiVersion": "policy/v1"}
    asked = value.get("deleteOptions")
    if isinstance(asked, Mapping):
        bare = {name: part for name, part in asked.items() if name not in ("kind", "apiVersion")}
        value = {**value, "deleteOptions": bare}
    return msgspec.structs.replace(body, value=value)
