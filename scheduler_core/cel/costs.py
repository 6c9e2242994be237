"""What a checked expression over a device may cost at most, before it is evaluated.

Sizes are ranges, (fewest, most). A node's path says which part of the device it is: then its largest size is declared.
Source: cel-go 0.26, checker/cost.go; kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/cel (sizes) and
apiserver/pkg/cel/library/cost.go, which `call_costs.py` has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.cel.call_costs import AddedCost, Argument, cost_of_call
from scheduler_core.cel.checking import Checked
from scheduler_core.cel.declarations import Declared
from scheduler_core.cel.nodes import Node
from scheduler_core.cel.ranges import NOTHING, ONE, UNKNOWN, Range, plus, times, union
from scheduler_core.cel.types import STRING, Type, head, is_parameter, is_scalar, is_struct

Path = tuple[str, ...]

_LIST, _MAP = (10, 10), (30, 30)
_VARIABLE: Final = "device"


@dataclass(frozen=True, slots=True)
class _Declared:
    """How large a part of the device may be, and the parts it has: by field, or all of its keys and its values."""

    most: int
    fields: dict[str, _Declared] = field(default_factory=dict)
    keys: _Declared | None = None
    values: _Declared | None = None


_ATTRIBUTE: Final = _Declared(64)
_DEVICE: Final = _Declared(
    0,
    {
        "driver": _Declared(63),
        "attributes": _Declared(32, keys=_Declared(63), values=_Declared(32, keys=_Declared(32), values=_ATTRIBUTE)),
        "capacity": _Declared(32, keys=_Declared(63), values=_Declared(32, keys=_Declared(32), values=_Declared(0))),
    },
)


def most_of(node: Node, checked: Checked) -> int:
    """The highest cost of an evaluation."""
    return _Coster(checked).cost(node)[1]


def _declared_size(path: Path) -> Range | None:
    """That of a part of the device."""
    if not path or path[0] != _VARIABLE:
        return None
    part: _Declared | None = _DEVICE
    for name in path[1:]:
        if part is None:
            return None
        if name in ("@items", "@values"):
            part = part.values
        elif name == "@keys":
            part = part.keys
        elif name in part.fields:
            part = part.fields[name]
        else:  # all attributes have one size, whatever their names
            part = part.values if part.values is _ATTRIBUTE else None
    return None if part is None else (0, part.most)


@dataclass(frozen=True, slots=True)
class _Entries:
    """Sizes of what a list (`key` is that of an index) or a map holds."""

    container: str
    key: Range
    value: Range


@dataclass(frozen=True, slots=True)
class _Variable:
    path: Path
    size: Range | None = None
    entries: _Entries | None = None


class _Coster:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._costs: dict[int, Range] = {}
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}
        self._variables: dict[str, list[_Variable]] = {}

    def cost(self, node: Node) -> Range:
        known = self._costs.get(id(node))
        if known is None:
            known = self._costs[id(node)] = self._cost(node)
        return known

    def _cost(self, node: Node) -> Range:
        match node.kind:
            case "literal":
                return NOTHING
            case "name":
                known = self._variable(node.name)
                self._paths[id(node)] = known.path if known is not None else (node.name,)
                return ONE
            case "select":
                return self._select(node)
            case "test":
                return self.cost(node.parts[0])
            case "list":
                return self._list(node)
            case "map":
                return self._map(node)
            case "fold":
                return self._fold(node)
            case "macro":
                assert node.expansion is not None
                return self.cost(node.expansion)
        return self._call(node)

    def _select(self, node: Node) -> Range:
        if id(node) in self._checked.constants:
            self._paths[id(node)] = (self._checked.constants[id(node)],)
            return ONE
        (operand,) = node.parts
        before = self.cost(operand)
        if node.is_optional:
            return plus(before, ONE)
        kind = self._type(operand)
        costs = head(kind) == "map" or is_struct(kind) or is_parameter(kind)
        self._paths[id(node)] = (*self._path(operand), node.name)
        return plus(before, ONE) if costs else before

    def _list(self, node: Node) -> Range:
        total, item = NOTHING, (0 if not node.parts else UNKNOWN[1], 0)
        for part in node.parts:
            total = plus(total, self.cost(part))
            item = union(item, self._size_or_unknown(part))
        self._entries[id(node)] = _Entries("list", ONE, item)
        return plus(total, _LIST)

    def _map(self, node: Node) -> Range:
        least = 0 if not node.parts else UNKNOWN[1]
        total, sizes = NOTHING, [(least, 0), (least, 0)]
        for place, part in enumerate(node.parts):
            total = plus(total, self.cost(part))
            sizes[place % 2] = union(sizes[place % 2], self._size_or_unknown(part))
        self._entries[id(node)] = _Entries("map", *sizes)
        return plus(total, _MAP)

    def _fold(self, node: Node) -> Range:
        held, begin, again, step, result = node.parts
        first, second, accumulated = node.value
        total = plus(self.cost(held), self.cost(begin))
        is_binding = held.kind == "list" and not held.parts and again.kind == "literal" and again.value is False
        self._push(accumulated, _Variable(self._path(begin), self._size(begin), self._entries_of(begin)))
        if is_binding:
            total = plus(total, self.cost(result))
            self._pop(accumulated)
            self._copy_sizes(node, result)
            return total
        if second:
            self._push(first, self._item(held, is_key=True))
            self._push(second, self._item(held, is_key=False))
        else:
            self._push(first, self._item(held, is_key=self._container(held) != "list"))
        loop, each = self.cost(again), self.cost(step)
        self._pop(first)
        if second:
            self._pop(second)
        total = plus(total, self.cost(result))
        self._pop(accumulated)
        count = self._size_or_unknown(held)
        total = plus(total, times(count, plus(each, loop)))
        if begin.kind == "literal":
            self._set_size(node, self._size(begin))
        elif begin.kind in ("list", "map"):
            self._set_size(node, count)
            self._set_entries(node, self._entries_of(step))
        return total

    def _call(self, node: Node) -> Range:
        reference = self._checked.references[id(node)]
        arguments = node.parts[1:] if node.has_target else node.parts
        if reference.name == "dyn":
            (only,) = arguments
            total = plus(ONE, self.cost(only))
            self._copy_sizes(node, only)
            return total
        costs = [self.cost(argument) for argument in arguments]
        given = [self._argument(argument) for argument in arguments]
        total, target = NOTHING, None
        if reference.is_member:
            total = self.cost(node.parts[0])
            target = self._argument(node.parts[0])
        found: Range = (UNKNOWN[1], 0)
        size: Range | None = None
        for overload in reference.overloads:
            cost, result = self._overload_cost(node, overload, target, (given, costs))
            found = union(found, cost)
            if result is not None:
                size = result if size is None else union(size, result)
            if reference.name == "_[_]" and isinstance(overload.arguments[0], tuple):
                kind = overload.arguments[0][0]
                if kind in ("list", "map"):
                    entries = self._entries_of(arguments[0])
                    size = entries.value if entries is not None else None
                    last = "@items" if kind == "list" else "@values"
                    self._paths[id(node)] = (*self._path(arguments[0]), last)
            if size is None:
                size = self._size(node)
        self._set_size(node, size)
        return plus(total, found)

    def _overload_cost(
        self, node: Node, overload: Declared, target: Argument | None, given: tuple[list[Argument], list[Range]]
    ) -> AddedCost:
        """The cost with that of the arguments, and the size of the result."""
        arguments, costs = given
        if overload.name in ("_&&_", "_||_"):
            return (costs[0][0], plus(*costs)[1]), None
        if overload.name == "_?_:_":
            one, other = node.parts[1:]
            self._set_entries(node, self._joined_entries(one, other))
            size = union(self._size_or_unknown(one), self._size_or_unknown(other))
            return plus(costs[0], union(costs[1], costs[2])), size
        if overload.name == "_+_" and overload.arguments[0] in (STRING, "bytes", ("list", "A")):
            self._set_entries(node, self._joined_entries(*node.parts))
        all_arguments = NOTHING
        for cost in costs:
            all_arguments = plus(all_arguments, cost)
        own, result = cost_of_call(overload, target, arguments)
        return plus(own, all_arguments), result

    # What is known of nodes

    def _argument(self, node: Node) -> Argument:
        kind, path = self._type(node), self._path(node)
        items: Range | None = None
        if isinstance(kind, tuple) and len(kind) > 1:
            items = _declared_size((*path, "@items")) if path and not path[0].startswith("@") else None
        literal: Any = node.value if node.kind == "literal" else None
        return Argument(self._size_or_unknown(node), kind, items or UNKNOWN, literal)

    def _type(self, node: Node) -> Type:
        return self._checked.type_of(node)

    def _path(self, node: Node) -> Path:
        node = _itself(node)
        if node.kind == "name":
            known = self._variable(node.name)
            if known is not None:
                return known.path
        return self._paths.get(id(node), ())

    def _size(self, node: Node) -> Range | None:
        node = _itself(node)
        if id(node) in self._sizes:
            return self._sizes[id(node)]
        if node.kind == "literal":
            size = len(node.value) if isinstance(node.value, (str, bytes)) else 1
            return (size, size)
        if node.kind in ("list", "map"):
            size = len(node.parts) // (1 if node.kind == "list" else 2)
            return (size, size)
        declared = _declared_size(self._path(node))
        if declared is not None:
            self._sizes[id(node)] = declared
            return declared
        if is_scalar(self._type(node)):
            return ONE
        known = self._variable(node.name) if node.kind == "name" else None
        return known.size if known is not None else None

    def _size_or_unknown(self, node: Node) -> Range:
        size = self._size(node)
        return UNKNOWN if size is None else size

    def _set_size(self, node: Node, size: Range | None) -> None:
        if size is not None:
            self._sizes[id(node)] = size

    def _entries_of(self, node: Node) -> _Entries | None:
        node = _itself(node)
        if id(node) in self._entries:
            return self._entries[id(node)]
        known = self._variable(node.name) if node.kind == "name" else None
        return known.entries if known is not None else None

    def _set_entries(self, node: Node, entries: _Entries | None) -> None:
        if entries is not None:
            self._entries[id(node)] = entries

    def _joined_entries(self, one: Node, other: Node) -> _Entries | None:
        first, second = self._entries_of(one), self._entries_of(other)
        if first is None or second is None:
            return None
        return _Entries(first.container, union(first.key, second.key), union(first.value, second.value))

    def _copy_sizes(self, node: Node, source: Node) -> None:
        self._set_size(node, self._size(source))
        self._set_entries(node, self._entries_of(source))

    def _container(self, node: Node) -> Type:
        entries = self._entries_of(node)
        return entries.container if entries is not None else head(self._type(node))

    def _item(self, held: Node, *, is_key: bool) -> _Variable:
        """A variable that stands for what a list or a map holds, one after the other."""
        entries = self._entries_of(held)
        is_list = self._container(held) == "list"
        part = ("@indices" if is_list else "@keys") if is_key else ("@items" if is_list else "@values")
        size = None if entries is None else entries.key if is_key else entries.value
        return _Variable((*self._path(held), part), size)

    def _variable(self, name: str) -> _Variable | None:
        stack = self._variables.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, variable: _Variable) -> None:
        self._variables.setdefault(name, []).append(variable)

    def _pop(self, name: str) -> None:
        self._variables[name].pop()


def _itself(node: Node) -> Node:
    return node if node.expansion is None else node.expansion
