"""Pods as their creation stores them."""

from __future__ import annotations

from typing import Any

from tests.builders import PodBuilder, make_pod
from tests.core.admission.context import create


def fresh(name: str = "a") -> PodBuilder:
    return make_pod(name, uid="")


def created(pod: PodBuilder, **lookups: Any) -> dict[str, Any]:
    return create(pod.manifest(), **lookups)
