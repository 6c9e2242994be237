"""What is worked out of an expression before it is evaluated: conversions of constants, and what goes wrong in them.

Source: cel-go 0.26, interpreter (decorators.go, planner.go, attributes.go).
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel import library, regexes
from scheduler_core.cel.checking import Checked
from scheduler_core.cel.functions import FUNCTIONS
from scheduler_core.cel.nodes import Node
from scheduler_core.cel.values import EvaluationError, type_name

__all__ = ["library", "problem_of"]

_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_NO_KEYS: Final = {
    "bytes": "types.Bytes", "null_type": "types.Null", "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
}  # fmt: skip
_OPEN: Final = object()  # what is no constant


def problem_of(node: Node, checked: Checked) -> str:
    """What goes wrong before any evaluation; empty where nothing does."""
    try:
        _Folding(checked).value(node)
    except EvaluationError as error:
        return str(error)
    return ""


class _Folding:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._values: dict[int, Any] = {}

    def value(self, node: Node) -> Any:
        """The value of a constant, `_OPEN` of anything else. EvaluationError when there is none."""
        if id(node) not in self._values:
            self._values[id(node)] = self._worked_out(node)
        return self._values[id(node)]

    def _worked_out(self, node: Node) -> Any:
        if node.kind == "literal":
            return node.value
        values = [self.value(part) for part in (node.parts if node.expansion is None else (node.expansion,))]
        is_constant = all(value is not _OPEN for value in values)
        if node.kind == "list" and is_constant and not node.value:
            return tuple(values)
        if node.kind == "index" and values[1] is not _OPEN and type_name(values[1]) in _NO_KEYS:
            raise EvaluationError(f"invalid qualifier type: {_NO_KEYS[type_name(values[1])]}")
        if node.kind == "call":
            return self._called(node, values, is_constant=is_constant)
        return _OPEN

    def _called(self, node: Node, values: list[Any], *, is_constant: bool) -> Any:
        name = self._checked.references[id(node)].name
        if node.has_target and name in ("find", "findAll") and isinstance(values[1], str):
            regexes.matches("", values[1])
        if name not in _CONVERSIONS or len(values) != 1 or not is_constant:
            return _OPEN
        found = next((each for each in FUNCTIONS[name, False, 1] if each.takes(values)), None)
        return _OPEN if found is None else found.run(*values)
