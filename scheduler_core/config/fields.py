"""Field errors, in the API server's form: `PATH: Invalid value: VALUE: DETAIL`.

Source: apimachinery of Kubernetes 1.34, pkg/util/validation/field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from scheduler_core.config.duration import Duration
from scheduler_core.errors import ConfigProblem


def invalid(path: str, value: Any, detail: str, *, also: tuple[str, ...] = ()) -> ConfigProblem:
    return ConfigProblem(path, f"Invalid value: {shown(value)}: {detail}", shown(value), detail, also=also)


def required(path: str, detail: str = "", *, also: tuple[str, ...] = ()) -> ConfigProblem:
    return ConfigProblem(path, "Required value" + (f": {detail}" if detail else ""), "nothing", "a value", also=also)


def duplicate(path: str, value: Any, *, also: tuple[str, ...] = ()) -> ConfigProblem:
    return ConfigProblem(path, f"Duplicate value: {shown(value)}", shown(value), "each value once", also=also)


def too_many(path: str, count: int, most: int) -> ConfigProblem:
    detail = f"must have at most {most} items"
    return ConfigProblem(path, f"Too many: {count}: {detail}", f"{count} items", f"at most {most} items")


def unsupported(path: str, value: str, supported: Iterable[str]) -> ConfigProblem:
    names = ", ".join(f'"{name}"' for name in supported)
    message = f"Unsupported value: {shown(value)}: supported values: {names}"
    return ConfigProblem(path, message, shown(value), f"one of {names}")


def forbidden(path: str, detail: str) -> ConfigProblem:
    return ConfigProblem(path, f"Forbidden: {detail}", "a value", "nothing")


def shown(value: Any) -> str:
    """Texts quoted, numbers and booleans bare, all else as compact JSON."""
    built = msgspec.to_builtins(value, enc_hook=lambda part: str(part) if isinstance(part, Duration) else repr(part))
    return json.dumps(built, separators=(",", ":"), ensure_ascii=False)
