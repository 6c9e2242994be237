"""A context whose uids count up, and short ways to admit."""

from __future__ import annotations

import itertools
from typing import Any

from scheduler_core.admission import AdmissionContext, admit_create, admit_update
from scheduler_core.admission.context import refuse
from scheduler_core.admission.defaults import default
from scheduler_core.admission.validation import create_problems
from scheduler_core.api.manifests import KINDS
from scheduler_core.api.schema import read

NOW = 1_893_456_000_000_000  # 2030-01-01T00:00:00Z


def make_context(**lookups: Any) -> AdmissionContext:
    numbers = itertools.count(1)
    return AdmissionContext(new_uid=lambda: f"00000000-0000-0000-0000-{next(numbers):012x}", **lookups)


def create(manifest: dict[str, Any], **lookups: Any) -> dict[str, Any]:
    return admit_create(manifest, manifest["kind"], make_context(**lookups), now=NOW)


def update(old: dict[str, Any], new: dict[str, Any], *, subresource: str = "", **lookups: Any) -> dict[str, Any]:
    return admit_update(old, new, old["kind"], make_context(**lookups), now=NOW, subresource=subresource)


def validate(manifest: dict[str, Any], kind: str) -> None:
    """Raise AdmissionError for what the API server refuses in a new object; defaults are filled in before."""
    filled, _ = read(manifest, manifest["apiVersion"], kind)
    default(filled, kind)
    refuse(create_problems(filled, kind, make_context()))


def problems_of(manifest: dict[str, Any]) -> list[str]:
    """Everything that is wrong with a new object in a cluster where things run, in the server's order."""
    given = {**manifest, "metadata": {"uid": "u", "namespace": "default", **manifest["metadata"]}}
    kind = given["kind"]
    if not KINDS[kind].namespaced:
        del given["metadata"]["namespace"]
    filled, _ = read(given, given["apiVersion"], kind)
    default(filled, kind)
    return [f"{one.path}: {one.detail}" for one in create_problems(filled, kind, make_context(is_simulated=False))]
