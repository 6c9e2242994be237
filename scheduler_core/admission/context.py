"""What admission looks up and how it refuses: the classes and ranges of a cluster, and problems with their paths."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.policy import LimitRange, PriorityClass, RuntimeClass
from scheduler_core.api.quantity import Quantity
from scheduler_core.api.storage import StorageClass
from scheduler_core.errors import AdmissionError

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AdmissionContext:
    """The cluster as admission sees it, by name; limit ranges by namespace. `new_uid` names what is created."""

    new_uid: Callable[[], str]
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    runtime_classes: Mapping[str, RuntimeClass] = field(default_factory=dict)
    limit_ranges: Mapping[str, Sequence[LimitRange]] = field(default_factory=dict)
    storage_classes: Mapping[str, StorageClass] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """Which field, and what the API server says about it."""

    path: str
    detail: str

    def error(self) -> AdmissionError:
        return AdmissionError(self.path, self.detail)


def invalid(path: str, value: Any, detail: str) -> Problem:
    shown = str(value) if isinstance(value, Quantity) else value
    return Problem(path, f"Invalid value: {json.dumps(shown, separators=(',', ':'), default=str)}: {detail}")


def required(path: str, detail: str = "") -> Problem:
    return Problem(path, "Required value" + (f": {detail}" if detail else ""))


def duplicate(path: str, value: Any) -> Problem:
    return Problem(path, f"Duplicate value: {json.dumps(value)}")


def unsupported(path: str, value: str, supported: Iterable[str]) -> Problem:
    names = ", ".join(f'"{name}"' for name in supported)
    return Problem(path, f"Unsupported value: {json.dumps(value)}: supported values: {names}")


def forbidden(path: str, detail: str) -> Problem:
    return Problem(path, f"Forbidden: {detail}")
