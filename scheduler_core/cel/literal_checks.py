"""What is wrong with literals of a checked expression: items of different types, and texts that must be read.

Source: cel-go 0.26, cel/validator.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from scheduler_core.cel.checking import Checked
from scheduler_core.cel.library.formatting import places_of, type_problem
from scheduler_core.cel.library.moments import to_duration, to_timestamp
from scheduler_core.cel.nodes import CelError, Node
from scheduler_core.cel.regexes import matches
from scheduler_core.cel.types import STRING, of_optional, shown
from scheduler_core.cel.values import EvaluationError

_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "duration": to_duration,
    "timestamp": to_timestamp,
    "matches": lambda pattern: matches("", pattern) if isinstance(pattern, str) else True,
}


def wrong_literals(whole: Node, checked: Checked) -> Iterator[CelError]:
    """All of them in the expression."""
    seen: set[int] = set()
    left = [whole]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        left += node.parts if node.expansion is None else (node.expansion,)
        if node.kind == "call" and node.name in _READ:
            yield from _unread(node)
        elif node.kind == "call" and node.name == "format":
            yield from _misformatted(node, checked)
        elif node.kind == "list":
            yield from _uneven(node.parts, node.value or (), checked, only_first=True)
        elif node.kind == "map":
            yield from _uneven(node.parts[::2], (), checked, only_first=False)
            yield from _uneven(node.parts[1::2], node.value or (), checked, only_first=False)


def _misformatted(call: Node, checked: Checked) -> Iterator[CelError]:
    """A text with places for values, and a list of these, that do not fit."""
    if not call.has_target or len(call.parts) != 2:
        return
    text, values = call.parts
    if text.kind != "literal" or text.name != STRING or values.kind != "list":
        return
    try:
        places = places_of(text.value, len(values.parts))
    except EvaluationError as error:
        yield call.at, str(error)
        return
    for letter, value in zip(places, values.parts, strict=True):
        for each in _shown_with(value) if letter == "s" else (value,):
            problem = type_problem(letter, checked.type_of(each))
            if problem:
                yield each.at, f"error during formatting: {problem}"
                return


def _shown_with(value: Node) -> Iterator[Node]:
    """The value and, of a literal, what it holds."""
    yield value
    if value.kind in ("list", "map"):
        for part in value.parts:
            yield from _shown_with(part)


def _unread(call: Node) -> Iterator[CelError]:
    arguments = call.parts[1:] if call.has_target else call.parts
    if arguments and arguments[0].kind == "literal":
        try:
            _READ[call.name](arguments[0].value)
        except EvaluationError:
            yield arguments[0].at, f"invalid {call.name} argument"


def _uneven(
    parts: tuple[Node, ...], optional: tuple[int, ...], checked: Checked, *, only_first: bool
) -> Iterator[CelError]:
    types = [checked.type_of(part) for part in parts]
    kinds = [(of_optional(kind) if place in optional else None) or kind for place, kind in enumerate(types)]
    for part, kind in zip(parts[1:], kinds[1:], strict=False):
        if kind != kinds[0]:
            yield part.at, f"expected type '{shown(kinds[0])}' but found '{shown(kind)}'"
            if only_first:
                return
