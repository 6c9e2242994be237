"""The tree of an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CelError = tuple[int, str]
"""Position in the text, message."""


@dataclass(frozen=True, slots=True)
class Node:
    """`kind` literal, name, select, index, call, list, map, unary, binary, choice, macro; `at` is where messages point.

    A literal has its type as name, and its `value`. `is_optional`: a select or an index that gives an optional. A list
    or a map has as `value` the places of items that are optional.
    A macro is a call with the `expansion` that it stands for. Only there: `test`, which asks for a field (has), and
    `fold`, whose parts are what it goes over, what it begins with, the condition to go on, the step and the result;
    its `value` has the names of two variables, the second empty where there is one, and of the one that accumulates.
    """

    kind: str
    at: int
    name: str = ""
    parts: tuple[Node, ...] = ()
    has_target: bool = False
    value: Any = None
    is_optional: bool = False
    expansion: Node | None = None
