"""Errors of fields in the API server's words, and the reasons its causes have: the one place that makes them.

What is made here has no path; `admission.context` and `config.fields` put one before it.

Source: apimachinery of Kubernetes 1.34, pkg/util/validation/field.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.api.go_values import json_quoted, quoted, shown

_REASONS: Final = (
    ("Required value", "FieldValueRequired"),
    ("Duplicate value", "FieldValueDuplicate"),
    ("Unsupported value", "FieldValueNotSupported"),
    ("Forbidden", "FieldValueForbidden"),
    ("Not found", "FieldValueNotFound"),
    ("Too long", "FieldValueTooLong"),
    ("Too many", "FieldValueTooMany"),
    ("Internal error", "InternalError"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A value that is printed in a way of its own; without a text it is left out."""

    text: str


OMITTED: Final = Shown("")


def reason(text: str) -> str:
    """The machine-readable reason of an error that was made here."""
    return next((found for start, found in _REASONS if text.startswith(start)), "FieldValueInvalid")


def invalid(value: Any, detail: str) -> str:
    return f"Invalid value{_value(value)}: {detail}"


def required(detail: str = "") -> str:
    return "Required value" + _detail(detail)


def duplicate(value: Any, detail: str = "") -> str:
    return f"Duplicate value{_value(value)}{_detail(detail)}"


def not_found(value: Any, detail: str = "") -> str:
    return f"Not found{_value(value)}{_detail(detail)}"


def unsupported(value: Any, supported: Iterable[str], *, is_plain: bool = False) -> str:
    """The supported ones in the order given: upstream sorts most sets, but not all.

    Enumerations have types of their own in Go, which prints their texts as JSON; `is_plain`: it is no enumeration.
    """
    text = f": {json_quoted(value)}" if isinstance(value, str) and not is_plain else _value(value)
    names = ", ".join(map(quoted, supported))
    return f"Unsupported value{text}" + _detail(f"supported values: {names}" if names else "")


def forbidden(detail: str) -> str:
    return f"Forbidden: {detail}"


def internal(detail: str) -> str:
    return f"Internal error: {detail}"


def too_long(most: int) -> str:
    return f"Too long: may not be more than {most} byte{'s' * (most != 1)}"


def too_many(count: int, most: int) -> str:
    return f"Too many: {count}: must have at most {most} item{'s' * (most != 1)}"


def joined(texts: Iterable[str]) -> str:
    """Several errors as one: each once, in brackets where they are more than one."""
    found = list(dict.fromkeys(texts))
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]"


def _value(value: Any) -> str:
    text = value.text if isinstance(value, Shown) else shown(value)
    return f": {text}" if text else ""


def _detail(detail: str) -> str:
    return f": {detail}" if detail else ""
