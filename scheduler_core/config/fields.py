"""Texts of field errors, in the API server's form: `PATH: Invalid value: VALUE: DETAIL`.

Source: apimachinery of Kubernetes 1.34, pkg/util/validation/field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from scheduler_core.config.duration import Duration


def invalid(path: str, value: Any, detail: str) -> str:
    return f"{path}: Invalid value: {shown(value)}: {detail}"


def required(path: str, detail: str = "") -> str:
    return f"{path}: Required value" + (f": {detail}" if detail else "")


def duplicate(path: str, value: Any) -> str:
    return f"{path}: Duplicate value: {shown(value)}"


def too_many(path: str, count: int, most: int) -> str:
    return f"{path}: Too many: {count}: must have at most {most} items"


def unsupported(path: str, value: str, supported: Iterable[str]) -> str:
    names = ", ".join(f'"{name}"' for name in supported)
    return f"{path}: Unsupported value: {shown(value)}: supported values: {names}"


def forbidden(path: str, detail: str) -> str:
    return f"{path}: Forbidden: {detail}"


def shown(value: Any) -> str:
    """Texts quoted, numbers and booleans bare, all else as compact JSON."""
    built = msgspec.to_builtins(value, enc_hook=lambda part: str(part) if isinstance(part, Duration) else repr(part))
    return json.dumps(built, separators=(",", ":"), ensure_ascii=False)
