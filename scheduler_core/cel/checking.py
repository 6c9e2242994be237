"""Types of expressions over a device, and what does not fit.

Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/cel, and cel-go 0.26, checker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from scheduler_core.cel.parsing import CelError, Node
from scheduler_core.cel.types import (
    BOOL,
    DEVICE,
    DEVICE_FIELDS,
    DYN,
    INT,
    NUMBERS,
    QUANTITY,
    STRING,
    Type,
    fits,
    is_open,
    shown,
)

# Functions and the types of their values, where these do not depend on their arguments.
_FUNCTIONS: Final[dict[str, Type]] = {
    "size": INT, "int": INT, "uint": "uint", "double": "double", "string": STRING, "bool": BOOL, "bytes": "bytes",
    "matches": BOOL, "sign": INT, "quantity": QUANTITY, "isQuantity": BOOL, "isSemver": BOOL, "isURL": BOOL,
    "isIP": BOOL, "isCIDR": BOOL,
    "dyn": DYN, "type": DYN, "duration": DYN, "timestamp": DYN, "semver": DYN, "url": DYN, "ip": DYN,
    "cidr": DYN, "startsWith": BOOL, "endsWith": BOOL, "contains": BOOL,
}  # fmt: skip
_METHODS: Final[dict[str, Type]] = {
    **dict.fromkeys(
        ("startsWith", "endsWith", "contains", "matches", "isGreaterThan", "isLessThan", "isInteger", "isSorted",
         "hasValue", "containsIP", "containsCIDR", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
         "isLinkLocalUnicast", "isGlobalUnicast"), BOOL),
    **dict.fromkeys(("size", "compareTo", "sign", "asInteger", "indexOf", "lastIndexOf", "major", "minor", "patch"),
                    INT),
    **dict.fromkeys(("lowerAscii", "upperAscii", "replace", "substring", "trim", "charAt", "join", "find"), STRING),
    **dict.fromkeys(
        ("split", "findAll", "format", "sum", "min", "max", "orValue", "or", "value", "add", "sub", "reverse", "sort",
         "flatten", "distinct", "slice", "family", "prefixLength", "masked", "ip", "getScheme", "getHost",
         "getHostname", "getPort", "getEscapedPath", "getQuery", "getDate", "getDayOfMonth", "getDayOfWeek",
         "getDayOfYear",
         "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds",
         "asApproximateFloat", "optMap", "optFlatMap", "validate", "first", "last", "sortBy"), DYN),
}  # fmt: skip
_NAMESPACES: Final = frozenset(
    {"optional", "cel", "math", "sets", "lists", "strings", "base64", "format", "net", "regex"}
)
_OF_TEXTS: Final = frozenset({"startsWith", "endsWith", "contains", "matches"})
_TYPE_NAMES: Final = frozenset({"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"})
_CONDITIONS: Final = frozenset({"all", "exists", "exists_one", "existsOne"})
_MACROS: Final = _CONDITIONS | {"map", "filter", "transformList", "transformMap", "transformMapEntry"}
_ADDED: Final = NUMBERS | {STRING, "bytes"}


class Checker:
    """Collects `errors` of one expression."""

    def __init__(self) -> None:
        self.errors: list[CelError] = []
        self._names: dict[str, Type] = {"device": DEVICE}

    def knows(self, name: str) -> bool:
        """Whether it is a variable."""
        return name in self._names

    @contextmanager
    def names(self, types: Mapping[str, Type]) -> Iterator[None]:
        """Variables that hold only inside, with what is known of their types."""
        before, self._names = self._names, {**self._names, **types}
        yield
        self._names = before

    def type_of(self, node: Node) -> Type:
        """The type of the node's values; of a wrong one nothing is known."""
        match node.kind:
            case "literal":
                return node.name
            case "name":
                return self._name(node)
            case "select":
                return self._select(node)
            case "list":
                return ("list", self._joined(node.parts))
            case "map":
                return ("map", self._joined(node.parts[::2]), self._joined(node.parts[1::2]))
            case "call":
                return self._call(node)
        return self._operator(node)

    def _wrong(self, at: int, message: str) -> Type:
        self.errors.append((at, message))
        return DYN

    def _unknown(self, at: int, name: str) -> Type:
        return self._wrong(at, f"undeclared reference to '{name}' (in container '')")

    def _no_overload(self, node: Node, types: list[Type], name: str = "", target: str = "") -> Type:
        if any(is_open(kind) for kind in types):
            return DYN
        told = f"{target}({', '.join(map(shown, types))})"
        return self._wrong(node.at, f"found no matching overload for '{name or node.name}' applied to '{told}'")

    def _joined(self, parts: tuple[Node, ...]) -> Type:
        """The type of the items of a list, which is that of the first."""
        types = [self.type_of(part) for part in parts]
        for part, kind in zip(parts[1:], types[1:], strict=True):
            if not fits(types[0], kind):
                return self._wrong(part.at, f"expected type '{shown(types[0])}' but found '{shown(kind)}'")
        return types[0] if types and all(kind == types[0] for kind in types) else DYN

    def _name(self, node: Node) -> Type:
        if node.name in self._names:
            return self._names[node.name]
        return ("type", node.name) if node.name in _TYPE_NAMES else self._unknown(node.at, node.name)

    def _select(self, node: Node) -> Type:
        holder = self.type_of(node.parts[0])
        if node.is_optional:
            return DYN
        if holder == DEVICE:
            known = DEVICE_FIELDS.get(node.name)
            return known if known is not None else self._wrong(node.at, f"undefined field '{node.name}'")
        if isinstance(holder, tuple) and holder[0] == "map":
            return holder[2]
        if is_open(holder):
            return DYN
        if str(holder).startswith("kubernetes."):
            return self._wrong(node.at, f"unexpected failed resolution of '{holder}'")
        return self._wrong(node.at, f"type '{shown(holder)}' does not support field selection")

    def _operator(self, node: Node) -> Type:
        if node.name in ("_&&_", "_||_"):
            for part in node.parts:
                self._condition(part)
            return BOOL
        if node.name == "_?_:_":
            self._condition(node.parts[0])
            one, other = (self.type_of(part) for part in node.parts[1:])
            if not fits(one, other):
                return self._no_overload(node, [BOOL, one, other])
            return other if is_open(one) else one
        types = [self.type_of(part) for part in node.parts]
        if node.name == "!_":
            return BOOL if types[0] == BOOL or is_open(types[0]) else self._no_overload(node, types)
        if node.name == "-_":
            return types[0] if types[0] in ("int", "double") else self._no_overload(node, types)
        one, other = types
        if node.name in ("_==_", "_!=_"):
            return BOOL if fits(one, other) else self._no_overload(node, types)
        if node.name == "_[?_]":
            return DYN
        if node.name == "_[_]":
            return self._item(node, one, other)
        if node.name == "@in":
            is_held = isinstance(other, tuple) and other[0] in ("list", "map") and fits(one, other[1])
            return BOOL if is_held or is_open(other) else self._no_overload(node, types)
        if node.name in ("_<_", "_<=_", "_>_", "_>=_"):
            is_ordered = (one in NUMBERS and other in NUMBERS) or (one == other and one in (STRING, "bytes", BOOL))
            return BOOL if is_ordered or is_open(one) or is_open(other) else self._no_overload(node, types)
        return self._sum(node, one, other)

    def _sum(self, node: Node, one: Type, other: Type) -> Type:
        if is_open(one) or is_open(other):
            return DYN
        if node.name == "_+_" and isinstance(one, tuple) and one[0] == "list" and fits(one, other):
            return one
        allowed = _ADDED if node.name == "_+_" else {"int", "uint"} if node.name == "_%_" else NUMBERS
        return one if one == other and one in allowed else self._no_overload(node, [one, other])

    def _item(self, node: Node, holder: Type, index: Type) -> Type:
        if isinstance(holder, tuple) and holder[0] == "map" and fits(holder[1], index):
            return holder[2]
        if isinstance(holder, tuple) and holder[0] == "list" and (index in NUMBERS or is_open(index)):
            return holder[1]
        return DYN if is_open(holder) else self._no_overload(node, [holder, index])

    def _condition(self, node: Node) -> None:
        kind = self.type_of(node)
        if kind != BOOL and not is_open(kind):
            self._wrong(node.at, f"expected type 'bool' but found '{shown(kind)}'")

    def _call(self, node: Node) -> Type:
        if node.has_target:
            return self._method(node, node.parts[0], node.parts[1:])
        if node.name == "has" and len(node.parts) == 1:
            if node.parts[0].kind != "select":
                return self._wrong(node.parts[0].at, "invalid argument to has() macro")
            self.type_of(node.parts[0])
            return BOOL
        types = [self.type_of(part) for part in node.parts]
        if node.name not in _FUNCTIONS:
            return self._unknown(node.at, node.name)
        if node.name == "type" and len(types) == 1 and not is_open(types[0]):
            return ("type", types[0])
        return _FUNCTIONS[node.name]

    def _method(self, node: Node, target: Node, arguments: tuple[Node, ...]) -> Type:
        if target.kind == "name" and target.name in _NAMESPACES and target.name not in self._names:
            return DYN
        if node.name in _MACROS and len(arguments) >= 2:
            return self._macro(node, target, arguments)
        holder = self.type_of(target)
        types = [self.type_of(argument) for argument in arguments]
        if node.name not in _METHODS:
            return self._unknown(node.at, node.name)
        if node.name in _OF_TEXTS and holder == STRING and types != [STRING]:
            return self._no_overload(node, types, target="string.")
        return _METHODS[node.name]

    def _macro(self, node: Node, target: Node, arguments: tuple[Node, ...]) -> Type:
        holder = self.type_of(target)
        names = [one.name for one in arguments if one.kind == "name"][: 1 if len(arguments) == 2 else 2]
        before = dict(self._names)
        item: Type = holder[1] if isinstance(holder, tuple) and len(arguments) == 2 else DYN
        self._names |= dict.fromkeys(names, item)
        *_, result = [self.type_of(one) for one in arguments if not (one.kind == "name" and one.name in names)] or [DYN]
        self._names = before
        if node.name in _CONDITIONS:
            return BOOL
        if len(arguments) != 2 or node.name not in ("map", "filter"):
            return DYN
        return ("list", result if node.name == "map" else item)
