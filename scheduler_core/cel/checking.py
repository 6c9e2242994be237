"""Types of expressions over a device, and what does not fit.

Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/cel, and cel-go 0.26, checker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from scheduler_core.cel.declarations import Declared, Functions
from scheduler_core.cel.nodes import CelError, Node
from scheduler_core.cel.types import (
    ANY,
    BOOL,
    CIDR,
    DEVICE,
    DEVICE_FIELDS,
    DURATION,
    DYN,
    ERROR,
    INT,
    IP,
    OPTIONAL,
    TIMESTAMP,
    Bindings,
    Type,
    assigned,
    head,
    is_open,
    is_parameter,
    is_struct,
    most_general,
    of_optional,
    shown,
    substituted,
)

TYPE_NAMES: Final[Mapping[str, Type]] = {
    **{name: name for name in ("int", "uint", "double", "bool", "string", "bytes", "null_type", "type")},
    "list": ("list", DYN), "map": ("map", DYN, DYN), "optional_type": (OPTIONAL, DYN),
    "google.protobuf.Timestamp": TIMESTAMP, "google.protobuf.Duration": DURATION, IP: IP, CIDR: CIDR,
}  # fmt: skip
"""Names of types, which are values too."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a call comes to: the full name of its function, and the overloads that its arguments may find."""

    name: str
    is_member: bool
    overloads: tuple[Declared, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What is known of nodes, by their identity; the tree keeps them alive. `constants`: names of types."""

    types: Mapping[int, Type]
    references: Mapping[int, Reference]
    constants: Mapping[int, str]

    def type_of(self, node: Node) -> Type:
        return self.types[id(node if node.expansion is None else node.expansion)]


class Checker:
    """Collects `errors` of one expression, over a device unless other `names` with their types are given."""

    def __init__(self, functions: Functions, names: Mapping[str, Type] | None = None) -> None:
        self.errors: list[CelError] = []
        self._functions = functions
        self._names: dict[str, Type] = {"device": DEVICE} if names is None else dict(names)
        self._types: dict[int, Type] = {}
        self._references: dict[int, Reference] = {}
        self._constants: dict[int, str] = {}
        self._bindings: Bindings = {}
        self._num_parameters = 0

    def check(self, node: Node) -> Checked:
        """What is known of the node and of all in it."""
        self._check(node)
        types = {key: substituted(self._bindings, kind, open_left=True) for key, kind in self._types.items()}
        return Checked(types, self._references, self._constants)

    def _check(self, node: Node) -> Type:
        # What optMap is called on stands twice in what it stands for; it is checked once.
        kind = self._types.get(id(node))
        if kind is None:
            kind = self._types[id(node)] = self._type_of(node)
        return kind

    def _type_of(self, node: Node) -> Type:
        match node.kind:
            case "literal":
                return node.name
            case "name":
                return self._name(node)
            case "select":
                return self._select(node)
            case "test":
                self._field(node)
                return BOOL
            case "list":
                return ("list", self._joined(node.parts, node.value or ()))
            case "map":
                return ("map", self._joined(node.parts[::2]), self._joined(node.parts[1::2], node.value or ()))
            case "fold":
                return self._fold(node)
            case "macro":
                assert node.expansion is not None
                return self._check(node.expansion)
            case "call":
                return self._call(node)
        return self._applied(node, node.name, None, node.parts)

    def _wrong(self, at: int, message: str) -> Type:
        self.errors.append((at, message))
        return ERROR

    def _unknown(self, at: int, name: str) -> Type:
        return self._wrong(at, f"undeclared reference to '{name}' (in container '')")

    def _mismatch(self, at: int, wanted: Type, found: Type) -> Type:
        wanted, found = substituted(self._bindings, wanted), substituted(self._bindings, found)
        return self._wrong(at, f"expected type '{shown(wanted)}' but found '{shown(found)}'")

    def _new_parameter(self) -> str:
        self._num_parameters += 1
        return f"_var{self._num_parameters - 1}"

    def _fits(self, one: Type, other: Type) -> bool:
        """Whether the first can stand for the second; what parameters stand for is settled by that."""
        return self._all_fit((one,), (other,))

    def _all_fit(self, ones: Sequence[Type], others: Sequence[Type]) -> bool:
        bindings = assigned(self._bindings, ones, others)
        if bindings is not None:
            self._bindings = bindings
        return bindings is not None

    # Names and fields

    def _name(self, node: Node) -> Type:
        known = self._names.get(node.name)
        return known if known is not None else self._constant(node, node.name) or self._unknown(node.at, node.name)

    def _constant(self, node: Node, name: str) -> Type | None:
        kind = TYPE_NAMES.get(name)
        if kind is None:
            return None
        self._constants[id(node)] = name
        return ("type", kind)

    def _select(self, node: Node) -> Type:
        if not node.is_optional:
            name = _qualified(node)
            constant = self._constant(node, name) if name else None
            if constant is not None:
                return constant
        return substituted(self._bindings, self._field(node))

    def _field(self, node: Node) -> Type:
        holder = substituted(self._bindings, self._check(node.parts[0]))
        held = of_optional(holder)
        is_optional = held is not None or node.is_optional
        kind = self._field_of(node, holder if held is None else held)
        return (OPTIONAL, kind) if is_optional else kind

    def _field_of(self, node: Node, holder: Type) -> Type:
        if isinstance(holder, tuple) and holder[0] == "map":
            return holder[2]
        if holder == DEVICE:
            known = DEVICE_FIELDS.get(node.name)
            return known if known is not None else self._wrong(node.at, f"undefined field '{node.name}'")
        if is_struct(holder):
            return self._wrong(node.at, f"unexpected failed resolution of '{shown(holder)}'")
        if is_parameter(holder):
            self._fits(DYN, holder)
        elif not is_open(holder) and holder != ERROR:
            self._wrong(node.at, f"type '{shown(holder)}' does not support field selection")
        return DYN

    # Lists, maps, folds

    def _joined(self, parts: Sequence[Node], optional: Sequence[int] = ()) -> Type:
        """The type of all of them; a new parameter where there are none."""
        joined: Type | None = None
        for place, part in enumerate(parts):
            kind = self._check(part)
            if place in optional:
                held = of_optional(kind)
                if held is None and not is_open(kind):
                    self._mismatch(part.at, (OPTIONAL, kind), kind)
                kind = kind if held is None else held
            if joined is None:
                joined = kind
            elif self._fits(joined, kind):
                joined = most_general(joined, kind)
            else:
                joined = self._mismatch(part.at, joined, kind)
        return self._new_parameter() if joined is None else joined

    def _fold(self, node: Node) -> Type:
        held, begin, again, step, result = node.parts
        first, second, accumulated = node.value
        self._check(held)
        kind = self._check(begin)
        with self._scope({accumulated: kind}):
            items = self._items(held, substituted(self._bindings, self._types[id(held)]), has_two=bool(second))
            with self._scope(dict(zip((first, second) if second else (first,), items, strict=False))):
                for part, wanted in ((again, BOOL), (step, kind)):
                    found = self._check(part)
                    if not self._fits(wanted, found):
                        self._mismatch(part.at, wanted, found)
            return substituted(self._bindings, self._check(result))

    def _items(self, node: Node, held: Type, *, has_two: bool) -> tuple[Type, Type]:
        """Types of the one or two variables of a fold."""
        if isinstance(held, tuple) and held[0] == "list":
            return (INT, held[1]) if has_two else (held[1], ERROR)
        if isinstance(held, tuple) and held[0] == "map":
            return held[1], held[2]
        if held in (DYN, ERROR) or is_parameter(held):  # not `any`, kept from upstream on purpose
            self._fits(DYN, held)
            return DYN, DYN
        text = f"expression of type '{shown(held)}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self._wrong(node.at, text)
        return ERROR, ERROR

    @contextmanager
    def _scope(self, types: Mapping[str, Type]) -> Iterator[None]:
        before, self._names = self._names, {**self._names, **types}
        yield
        self._names = before

    # Calls

    def _call(self, node: Node) -> Type:
        if not node.has_target:
            return self._applied(node, node.name, None, node.parts)
        target, arguments = node.parts[0], node.parts[1:]
        name = _qualified(target)
        if name and f"{name}.{node.name}" in self._functions:
            return self._applied(node, f"{name}.{node.name}", None, arguments)
        return self._applied(node, node.name, target, arguments)

    def _applied(self, node: Node, name: str, target: Node | None, arguments: Sequence[Node]) -> Type:
        types = [self._check(argument) for argument in arguments]
        if target is not None:
            types.insert(0, self._check(target))
        if name not in self._functions:
            return self._unknown(node.at, name)
        if name in ("_&&_", "_||_"):
            return self._logical(node, name, types)
        found: list[Declared] = []
        result: Type | None = None
        for declared in self._functions[name]:
            if declared.is_member is not (target is not None):
                continue
            fresh: Bindings = {each: self._new_parameter() for each in declared.parameters}
            if not self._all_fit(types, [_renamed(kind, fresh) for kind in declared.arguments]):
                continue
            found.append(declared)
            kind = substituted(self._bindings, _renamed(declared.result, fresh))
            if result is None:
                result = kind
            elif not is_open(result) and kind != result:
                result = DYN
        if result is None:
            types = [substituted(self._bindings, kind, open_left=True) for kind in types]
            before = "" if target is None else f"{shown(types.pop(0))}."
            told = f"{before}({', '.join(map(shown, types))})"
            return self._wrong(node.at, f"found no matching overload for '{name}' applied to '{told}'")
        self._references[id(node)] = Reference(name, target is not None, tuple(found))
        return result

    def _logical(self, node: Node, name: str, types: Sequence[Type]) -> Type:
        fit = True
        for part, kind in zip(node.parts, types, strict=True):
            if not self._fits(kind, BOOL):
                self._mismatch(part.at, BOOL, kind)
                fit = False
        self._references[id(node)] = Reference(name, False, tuple(self._functions[name]))
        return BOOL if fit else ERROR


def _qualified(node: Node) -> str:
    """The names with points between them that a node is; empty when it is something else."""
    if node.kind == "name":
        return node.name
    if node.kind == "select" and not node.is_optional:
        before = _qualified(node.parts[0])
        return f"{before}.{node.name}" if before else ""
    return ""


def _renamed(kind: Type, names: Bindings) -> Type:
    if isinstance(kind, tuple):
        return (kind[0], *(_renamed(part, names) for part in kind[1:]))
    return names.get(kind, kind)


def is_condition(kind: Type) -> bool:
    """Whether an expression of this type may be a selector."""
    return head(kind) in (BOOL, ANY)
