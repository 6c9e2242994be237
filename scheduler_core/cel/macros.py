"""Macros: calls that stand for something longer, most of them for a fold over the items of a list or a map.

Source: cel-go 0.26 (parser/macro.go, ext/bindings.go, ext/comprehensions.go, ext/lists.go, cel/library.go).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from scheduler_core.cel.nodes import CelError, Node

RESULT: Final = "@result"
_RESERVED: Final = (RESULT, "__result__")
_UNUSED: Final = "#unused"
_SORTED: Final = "@__sortBy_input__"


class MacroError(Exception):
    """The arguments are none that the macro takes."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.error: CelError = (position, message)


def expanded(call: Node, *, is_stored: bool) -> Node:
    """The call with what it stands for, where it is a macro. MacroError for wrong arguments.

    `is_stored`: whether macros count that new expressions may not use yet.
    """
    if not call.has_target:
        if call.name == "has" and len(call.parts) == 1:
            if call.parts[0].kind != "select" or call.parts[0].is_optional:
                raise MacroError(call.parts[0].at, "invalid argument to has() macro")
            return _macro(call, Node("test", call.at, call.parts[0].name, call.parts[0].parts))
        return call
    target, *arguments = call.parts
    expand = _MACROS.get((call.name, len(arguments)))
    if expand is None or (call.name == "sortBy" and not is_stored):
        return call
    if call.name == "bind" and (target.kind, target.name) != ("name", "cel"):
        return call
    return _macro(call, expand(call, target, arguments))


def _macro(call: Node, expansion: Node) -> Node:
    return Node("macro", call.at, call.name, call.parts, call.has_target, expansion=expansion)


def _call(at: int, name: str, *parts: Node, has_target: bool = False) -> Node:
    return Node("call", at, name, parts, has_target)


def _literal(at: int, value: bool | int) -> Node:
    return Node("literal", at, "bool" if isinstance(value, bool) else "int", value=value)


def _accumulated(at: int) -> Node:
    return Node("name", at, RESULT)


def _fold(at: int, names: Sequence[str], held: Node, parts: tuple[Node, Node, Node, Node]) -> Node:
    """`parts`: what it begins with, the condition to go on, the step, and the result."""
    first, second = (*names, "")[:2]
    return Node("fold", at, parts=(held, *parts), value=(first, second, RESULT))


def bound(at: int, name: str, value: Node, result: Node) -> Node:
    """A fold over nothing, which has a variable."""
    parts = (Node("list", at), value, _literal(at, False), Node("name", at, name), result)
    return Node("fold", at, parts=parts, value=(_UNUSED, "", name))


def _names(arguments: Sequence[Node], count: int, wrong: str) -> list[str]:
    """Those of the variables."""
    for argument in arguments[:count]:
        if argument.kind != "name":
            raise MacroError(argument.at, wrong)
    names = [argument.name for argument in arguments[:count]]
    if count == 2 and names[0] == names[1]:
        raise MacroError(arguments[1].at, f"duplicate variable name: {names[0]}")
    for argument in arguments[:count]:
        if argument.name in _RESERVED:
            raise MacroError(argument.at, "iteration variable overwrites accumulator variable")
    return names


Expand = Callable[[Node, Node, list[Node]], Node]


def _quantifier(call: Node, target: Node, arguments: list[Node]) -> Node:
    at, condition = call.at, arguments[-1]
    names = _names(arguments, len(arguments) - 1, "argument must be a simple name")
    accumulated = _accumulated(at)
    if call.name == "all":
        again = _call(at, "@not_strictly_false", accumulated)
        step = Node("binary", at, "_&&_", (_accumulated(at), condition))
        return _fold(at, names, target, (_literal(at, True), again, step, _accumulated(at)))
    if call.name == "exists":
        again = _call(at, "@not_strictly_false", Node("unary", at, "!_", (accumulated,)))
        step = Node("binary", at, "_||_", (_accumulated(at), condition))
        return _fold(at, names, target, (_literal(at, False), again, step, _accumulated(at)))
    one_more = Node("binary", at, "_+_", (accumulated, _literal(at, 1)))
    step = Node("choice", at, "_?_:_", (condition, one_more, _accumulated(at)))
    is_one = Node("binary", at, "_==_", (_accumulated(at), _literal(at, 1)))
    return _fold(at, names, target, (_literal(at, 0), _literal(at, True), step, is_one))


def _listed(at: int, names: list[str], target: Node, conditions: Sequence[Node], item: Node) -> Node:
    step = Node("binary", at, "_+_", (_accumulated(at), Node("list", at, parts=(item,))))
    for condition in conditions:
        step = Node("choice", at, "_?_:_", (condition, step, _accumulated(at)))
    return _fold(at, names, target, (Node("list", at), _literal(at, True), step, _accumulated(at)))


def _map(call: Node, target: Node, arguments: list[Node]) -> Node:
    names = _names(arguments, 1, "argument is not an identifier")
    return _listed(call.at, names, target, arguments[1:-1], arguments[-1])


def _filter(call: Node, target: Node, arguments: list[Node]) -> Node:
    names = _names(arguments, 1, "argument is not an identifier")
    return _listed(call.at, names, target, arguments[1:], arguments[0])


def _transform_list(call: Node, target: Node, arguments: list[Node]) -> Node:
    names = _names(arguments, 2, "argument must be a simple name")
    return _listed(call.at, names, target, arguments[2:-1], arguments[-1])


def _transform_map(call: Node, target: Node, arguments: list[Node]) -> Node:
    at = call.at
    names = _names(arguments, 2, "argument must be a simple name")
    key = (Node("name", at, names[0]),) if call.name == "transformMap" else ()
    step = _call(at, "cel.@mapInsert", _accumulated(at), *key, arguments[-1])
    for condition in arguments[2:-1]:
        step = Node("choice", at, "_?_:_", (condition, step, _accumulated(at)))
    return _fold(at, names, target, (Node("map", at), _literal(at, True), step, _accumulated(at)))


def _bind(call: Node, target: Node, arguments: list[Node]) -> Node:
    name, value, result = arguments
    if name.kind != "name":
        raise MacroError(name.at, "cel.bind() variable names must be simple identifiers")
    return bound(call.at, name.name, value, result)


def _of_optional(call: Node, target: Node, arguments: list[Node]) -> Node:
    at, (name, result) = call.at, arguments
    if name.kind != "name":
        raise MacroError(name.at, f"{call.name}() variable name must be a simple identifier")
    then = bound(at, name.name, _call(at, "value", target, has_target=True), result)
    if call.name == "optMap":
        then = _call(at, "optional.of", then)
    has_value = _call(at, "hasValue", target, has_target=True)
    return Node("choice", at, "_?_:_", (has_value, then, _call(at, "optional.none")))


def _sort_by(call: Node, target: Node, arguments: list[Node]) -> Node:
    at, sorted_list = call.at, Node("name", call.at, _SORTED)
    keys = _map(call, sorted_list, arguments)
    return bound(at, _SORTED, target, _call(at, "@sortByAssociatedKeys", sorted_list, keys, has_target=True))


_MACROS: Final[dict[tuple[str, int], Expand]] = {
    **{(name, count): _quantifier for name in ("all", "exists", "exists_one") for count in (2, 3)},
    ("existsOne", 3): _quantifier,
    ("map", 2): _map, ("map", 3): _map, ("filter", 2): _filter,
    ("transformList", 3): _transform_list, ("transformList", 4): _transform_list,
    **{(name, count): _transform_map for name in ("transformMap", "transformMapEntry") for count in (3, 4)},
    ("bind", 3): _bind, ("optMap", 2): _of_optional, ("optFlatMap", 2): _of_optional, ("sortBy", 2): _sort_by,
}  # fmt: skip
