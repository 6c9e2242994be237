"""Errors of a configuration's fields: the API server's message, what was found, and what is expected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from scheduler_core.api import field_errors, go_values
from scheduler_core.config.duration import Duration
from scheduler_core.errors import ConfigProblem


def invalid(path: str, value: Any, detail: str, *, also: tuple[str, ...] = ()) -> ConfigProblem:
    return ConfigProblem(path, field_errors.invalid(_plain(value), detail), shown(value), detail, also=also)


def required(path: str, detail: str = "", *, also: tuple[str, ...] = ()) -> ConfigProblem:
    return ConfigProblem(path, field_errors.required(detail), "nothing", "a value", also=also)


def duplicate(path: str, value: Any, *, also: tuple[str, ...] = ()) -> ConfigProblem:
    return ConfigProblem(path, field_errors.duplicate(_plain(value)), shown(value), "each value once", also=also)


def too_many(path: str, count: int, most: int) -> ConfigProblem:
    return ConfigProblem(path, field_errors.too_many(count, most), f"{count} items", f"at most {most} items")


def unsupported(path: str, value: str, supported: Iterable[str]) -> ConfigProblem:
    names = [*supported]
    expected = f"one of {', '.join(map(go_values.quoted, names))}"
    return ConfigProblem(path, field_errors.unsupported(value, names), shown(value), expected)


def forbidden(path: str, detail: str) -> ConfigProblem:
    return ConfigProblem(path, field_errors.forbidden(detail), "a value", "nothing")


def shown(value: Any) -> str:
    """The value as messages show it."""
    return go_values.shown(_plain(value))


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=lambda part: str(part) if isinstance(part, Duration) else repr(part))
