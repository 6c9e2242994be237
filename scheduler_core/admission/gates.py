"""Scheduling gates: the condition a gated pod is born with, and what may change while gates are shut.

Source: kubernetes v1.34.1, pkg/registry/core/pod/strategy.go and pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, forbidden, invalid
from scheduler_core.api.schema import internal_text

GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ONLY_ADDITIONS: Final = "only additions are allowed (no mutations or deletions)"


def gated_condition() -> Manifest:
    return {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": GATED_MESSAGE}


def gate_problems(old: Manifest, new: Manifest) -> Iterator[Problem]:
    """Gates may only go, in any order."""
    before = {gate["name"] for gate in old.get("schedulingGates", ())}
    for index, gate in enumerate(new.get("schedulingGates", ())):
        if gate["name"] not in before:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", detail)


def gated_problems(old: Manifest, new: Manifest) -> Iterator[Problem]:
    """While the old pod has gates its placement may be narrowed, never widened."""
    selector = new.get("nodeSelector", {})
    if any(selector.get(key) != value for key, value in old.get("nodeSelector", {}).items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", selector, detail)
    before = old.get("affinity", {}).get("nodeAffinity", {}).get(_REQUIRED)
    if before is None or not before.get("nodeSelectorTerms"):
        return
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    old_terms = before["nodeSelectorTerms"]
    new_required = new.get("affinity", {}).get("nodeAffinity", {}).get(_REQUIRED, {})
    new_terms = new_required.get("nodeSelectorTerms") or []
    if len(old_terms) != len(new_terms):
        shown = Shown(internal_text(new_required.get("nodeSelectorTerms"), "[]core.NodeSelectorTerm"))
        yield invalid(path, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for index, (old_term, new_term) in enumerate(zip(old_terms, new_terms, strict=True)):
        if not _only_narrows(old_term, new_term):
            yield invalid(f"{path}[{index}]", Shown(internal_text(new_term, "core.NodeSelectorTerm")), _ONLY_ADDITIONS)


def _only_narrows(old: Manifest, new: Manifest) -> bool:
    """Requirements inside a term are ANDed, so more of them narrow; an empty term matches nothing and stays empty."""
    fields = ("matchExpressions", "matchFields")
    before: list[list[Any]] = [old.get(field, []) for field in fields]
    after: list[list[Any]] = [new.get(field, []) for field in fields]
    if not any(before):
        return not any(after)
    return all(now[: len(then)] == then for then, now in zip(before, after, strict=True))
