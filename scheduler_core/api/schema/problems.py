"""What is noticed while a manifest is read: unknown fields by path, and the first problem in Go's words."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.schema.types import Type


class MapKey(str):  # a key of a map, which places of wrong values leave out
    __slots__ = ()


class DecodeError(Exception):
    """The manifest does not fit its type; the message is the JSON decoder's."""


class Reading:
    """What is noticed on the way: unknown fields by path, and the first problem."""

    __slots__ = ("_is_over", "path", "problem", "unknown")

    def __init__(self) -> None:
        self.path: list[str | int] = []
        self.unknown: list[str] = []
        self.problem = ""
        self._is_over = False

    def refuse(self, owner: Type | None, value: Any, go_name: str) -> None:
        """Note that the value does not fit the type, unless something was noted before."""
        if not self.problem:
            names = ".".join(step for step in self.path if type(step) is str)
            place = f"Go struct field {owner.go_name}.{names}" if owner is not None else "Go value"
            self.problem = f"json: cannot unmarshal {json_kind(value, go_name)} into {place} of type {go_name}"

    def refuse_and_end(self, owner: Type, value: Any, go_name: str) -> None:
        """The same for a type that reads itself, see `fail`."""
        names = ".".join(step for step in self.path if type(step) is str)
        place = f"Go struct field {owner.go_name}.{names}"
        self.fail(f"json: cannot unmarshal {json_kind(value, go_name)} into {place} of type {go_name}")

    def fail(self, message: str) -> None:
        """Note what a type that reads itself says of its value: reading ends there, whatever was noted before."""
        if not self._is_over:
            self.problem, self._is_over = message, True

    def note(self, message: str) -> None:
        if not self.problem:
            self.problem = message

    def path_text(self, name: str) -> str:
        text = ""
        for step in (*self.path, name):
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text


def json_kind(value: Any, go_name: str) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return f"number {value!r}" if go_name.startswith("int") else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
