"""A checked expression as a function of its variables: nodes become closures once, each run counts its costs.

Errors of one side of `||` and `&&` do not count when the other side decides. Source: cel-go 0.26, interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_core.cel import operators
from scheduler_core.cel.checking import Checked
from scheduler_core.cel.functions import Overload, no_overload, overloads_of
from scheduler_core.cel.library.collections import sorted_by
from scheduler_core.cel.nodes import Node
from scheduler_core.cel.parsing import UnknownSyntaxError
from scheduler_core.cel.runs import FOLDS, LIST_COST, MAP_COST, Names, Run, Step, first_decided, rounds_of
from scheduler_core.cel.values import NO_OVERLOAD, EvaluationError, Map, Optional, TypeValue


class Compiler:
    """Makes steps of nodes."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    def step(self, node: Node) -> Step:
        """UnknownSyntaxError for a construct or function that is not evaluated here."""
        match node.kind:
            case "literal":
                value = node.value
                return lambda run: value
            case "name":
                return self._name(node)
            case "select":
                return self._select(node)
            case "index":
                return self._index(node)
            case "list":
                return self._list(node)
            case "map":
                return self._map(node)
            case "choice":
                return self._choice(node)
            case "call":
                return self._call(node)
            case "macro":
                return self._macro(node)
        if node.name in ("_||_", "_&&_"):
            return self._logical(node)
        return self._operator(node)

    def _name(self, node: Node) -> Step:
        name = node.name
        if id(node) in self._checked.constants:
            return self._constant(node)

        def read(run: Run) -> Any:
            run.spend(1)
            return run.variables[name]

        return read

    def _constant(self, node: Node) -> Step:
        constant = TypeValue(self._checked.constants[id(node)])
        return lambda run: constant

    def _select(self, node: Node) -> Step:
        if id(node) in self._checked.constants:
            return self._constant(node)
        holder, name, is_optional = self.step(node.parts[0]), node.name, node.is_optional

        def select(run: Run) -> Any:
            held = holder(run)
            run.spend(1)
            if is_optional or isinstance(held, Optional):
                return operators.optional_item(held, name)
            return operators.item(held, name)

        return select

    def _index(self, node: Node) -> Step:
        holder, index, is_optional = self.step(node.parts[0]), self.step(node.parts[1]), node.is_optional

        def read(run: Run) -> Any:
            held, key = holder(run), index(run)
            run.spend(1)
            if is_optional or isinstance(held, Optional):
                return operators.optional_item(held, key)
            return operators.item(held, key)

        return read

    def _list(self, node: Node) -> Step:
        parts = [self.step(part) for part in node.parts]
        optional = frozenset(node.value or ())

        def make(run: Run) -> Any:
            made = tuple(part(run) for part in parts)
            run.spend(LIST_COST)
            return tuple(_present(made, optional)) if optional else made

        return make

    def _map(self, node: Node) -> Step:
        parts = [self.step(part) for part in node.parts]
        optional = frozenset(node.value or ())

        def make(run: Run) -> Any:
            made = [part(run) for part in parts]
            run.spend(MAP_COST)
            pairs = list(zip(made[::2], made[1::2], strict=True))
            if optional:
                wanted = [place for place, (_, value) in enumerate(pairs) if place not in optional or value.has_value]
                pairs = [(pairs[place][0], _held(pairs[place][1], place in optional)) for place in wanted]
            return Map(pairs)

        return make

    def _choice(self, node: Node) -> Step:
        condition, then, other = (self.step(part) for part in node.parts)

        def choose(run: Run) -> Any:
            chosen = condition(run)
            if type(chosen) is not bool:
                raise EvaluationError(NO_OVERLOAD)
            return then(run) if chosen else other(run)

        return choose

    def _logical(self, node: Node) -> Step:
        one, other = (self.step(part) for part in node.parts)
        decides = node.name == "_||_"

        def decide(run: Run) -> bool:
            return first_decided(run, (one, other), decides)

        return decide

    def _operator(self, node: Node) -> Step:
        name, parts = node.name, [self.step(part) for part in node.parts]
        operator = operators.OPERATORS[name]
        if len(parts) == 1:
            (only,) = parts

            def unary(run: Run) -> Any:
                value = only(run)
                run.spend(1)
                return operator(value)

            return unary
        left, right = parts

        def binary(run: Run) -> Any:
            one, other = left(run), right(run)
            run.spend(operators.cost_of(name, one, other))
            return operator(one, other)

        return binary

    def _call(self, node: Node) -> Step:
        reference = self._checked.references[id(node)]
        arguments = node.parts[1:] if node.has_target and not reference.is_member else node.parts
        steps = [self.step(argument) for argument in arguments]
        types = [self._checked.type_of(argument) for argument in arguments]
        name = reference.name
        found = overloads_of(name, types, is_member=reference.is_member)
        if not found:
            raise UnknownSyntaxError(name)

        def call(run: Run) -> Any:
            values = [step(run) for step in steps]
            overload = _chosen(name, found, values)
            result = overload.run(*values)
            run.spend(overload.cost(values, result))
            return result

        return call

    def _macro(self, node: Node) -> Step:
        if not node.has_target:
            return self._has(node.parts[0])
        target, *given = node.parts
        match node.name:
            case "bind":
                return self._bind(given[0].name, given[1], given[2])
            case "optMap" | "optFlatMap":
                return self._of_optional(node)
            case "sortBy":
                return self._sort_by(node)
        return self._over(node)

    def _has(self, field: Node) -> Step:
        holder, name = self.step(field.parts[0]), field.name
        return lambda run: operators.has_item(holder(run), name)

    def _bind(self, name: str, value: Node, result: Node) -> Step:
        given, inner = self.step(value), self.step(result)

        def bind(run: Run) -> Any:
            with Names(run, {name: given(run)}):
                return inner(run)

        return bind

    def _of_optional(self, node: Node) -> Step:
        target, name, result = node.parts
        holder, inner, wraps = self.step(target), self.step(result), node.name == "optMap"

        def apply(run: Run) -> Any:
            held = holder(run)
            if not isinstance(held, Optional):
                raise EvaluationError(NO_OVERLOAD)
            run.spend(1)
            if not held.has_value:
                return held
            with Names(run, {name.name: held.value}):
                value = inner(run)
            return Optional(True, value) if wraps else value

        return apply

    def _sort_by(self, node: Node) -> Step:
        target, name, key = node.parts
        holder, inner = self.step(target), self.step(key)

        def sort(run: Run) -> Any:
            items = [(item, each(inner)) for item, each in rounds_of(run, holder(run), [name.name])]
            return sorted_by(tuple(item for item, _ in items), tuple(each for _, each in items))

        return sort

    def _over(self, node: Node) -> Step:
        """A macro over the items of a list or the keys of a map."""
        target, *given = node.parts
        count = next(n for n in (1, 2) if (node.name, n, len(given)) in FOLDS)
        names = [one.name for one in given[:count]]
        holder, inner = self.step(target), [self.step(one) for one in given[count:]]
        fold = FOLDS[node.name, count, len(given)]

        def run_macro(run: Run) -> Any:
            return fold(run, rounds_of(run, holder(run), names), inner)

        return run_macro


def _held(value: Any, is_optional: bool) -> Any:
    return value.value if is_optional else value


def _present(made: tuple[Any, ...], optional: frozenset[int]) -> Iterable[Any]:
    """The items, without optional ones that have no value."""
    for place, value in enumerate(made):
        if place not in optional:
            yield value
        elif value.has_value:
            yield value.value


def _chosen(name: str, overloads: list[Overload], values: list[Any]) -> Overload:
    for overload in overloads:
        if overload.takes(values):
            return overload
    if len(overloads) == 1:
        raise EvaluationError(NO_OVERLOAD)
    raise no_overload(name, values)
