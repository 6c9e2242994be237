"""A checked expression as a function of its variables: nodes become closures once, each run counts its costs.

Errors of one side of `||` and `&&` do not count when the other side decides. Source: cel-go 0.26, interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from scheduler_core.cel import operators
from scheduler_core.cel.checking import Checker
from scheduler_core.cel.functions import FUNCTIONS, Overload, no_overload, overloads_of
from scheduler_core.cel.parsing import Node, UnknownSyntaxError
from scheduler_core.cel.values import NO_OVERLOAD, EvaluationError, Map, Optional, TypeValue

COST_LIMIT: Final = 1_000_000
COST_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
_LIST_COST, _MAP_COST = 10, 30
_TYPE_NAMES: Final = frozenset({"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"})


class CostError(Exception):
    """The run was stopped; unlike other errors nothing absorbs this one."""


class Run:
    """One evaluation: its variables by name, and what it cost so far."""

    __slots__ = ("cost", "variables")

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.variables = dict(variables)
        self.cost = 0

    def spend(self, cost: int) -> None:
        self.cost += cost
        if self.cost > COST_LIMIT:
            raise CostError(COST_EXCEEDED)


Step = Callable[[Run], Any]


class Compiler:
    """Makes steps of nodes. `Checker` says what is known of types; names that macros declare are told to it too."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

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
        if node.name in ("_||_", "_&&_"):
            return self._logical(node)
        return self._operator(node)

    def _name(self, node: Node) -> Step:
        name = node.name
        if name in _TYPE_NAMES and not self._checker.knows(name):
            constant = TypeValue(name)
            return lambda run: constant

        def read(run: Run) -> Any:
            run.spend(1)
            return run.variables[name]

        return read

    def _select(self, node: Node) -> Step:
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

        def make(run: Run) -> Any:
            made = tuple(part(run) for part in parts)
            run.spend(_LIST_COST)
            return made

        return make

    def _map(self, node: Node) -> Step:
        parts = [self.step(part) for part in node.parts]

        def make(run: Run) -> Any:
            made = [part(run) for part in parts]
            run.spend(_MAP_COST)
            return Map(zip(made[::2], made[1::2], strict=True))

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
            return _first_decided(run, (one, other), decides)

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
        name, arguments = node.name, node.parts
        if not node.has_target:
            if name == "has" and len(arguments) == 1 and arguments[0].kind == "select":
                return self._has(arguments[0])
            return self._function(name, arguments, is_member=False)
        target, given = arguments[0], arguments[1:]
        if target.kind == "name" and not self._checker.knows(target.name):
            if (target.name, name, len(given)) == ("cel", "bind", 3) and given[0].kind == "name":
                return self._bind(given[0].name, given[1], given[2])
            full = f"{target.name}.{name}"
            if (full, False, len(given)) in FUNCTIONS:
                return self._function(full, given, is_member=False)
        macro = self._macro(node, target, given)
        return macro if macro is not None else self._function(name, arguments, is_member=True)

    def _function(self, name: str, arguments: tuple[Node, ...], *, is_member: bool) -> Step:
        steps = [self.step(argument) for argument in arguments]
        types = [self._checker.type_of(argument) for argument in arguments]
        found = overloads_of(name, types, is_member=is_member)
        if not found:
            raise UnknownSyntaxError(name)

        def call(run: Run) -> Any:
            values = [step(run) for step in steps]
            overload = _chosen(name, found, values)
            result = overload.run(*values)
            run.spend(overload.cost(values, result))
            return result

        return call

    def _has(self, field: Node) -> Step:
        holder, name = self.step(field.parts[0]), field.name
        return lambda run: operators.has_item(holder(run), name)

    def _bind(self, name: str, value: Node, result: Node) -> Step:
        given = self.step(value)
        with self._checker.names({name: self._checker.type_of(value)}):
            inner = self.step(result)

        def bind(run: Run) -> Any:
            with _Names(run, {name: given(run)}):
                return inner(run)

        return bind

    def _macro(self, node: Node, target: Node, given: tuple[Node, ...]) -> Step | None:
        """A macro over the items of a list or the keys of a map; None when it is none."""
        names = [one.name for one in given if one.kind == "name"]
        count = next((n for n in (2, 1) if (node.name, n, len(given)) in _MACROS), 0)
        if not count or any(one.kind != "name" for one in given[:count]):
            return None
        kind = self._checker.type_of(target)
        held = kind[1] if isinstance(kind, tuple) and count == 1 else "dyn"
        holder = self.step(target)
        with self._checker.names(dict.fromkeys(names[:count], held)):
            inner = [self.step(one) for one in given[count:]]
        fold = _MACROS[node.name, count, len(given)]

        def run_macro(run: Run) -> Any:
            return fold(run, _rounds(run, holder(run), names[:count]), inner)

        return run_macro


class _Names:
    """Variables that hold only inside."""

    def __init__(self, run: Run, values: Mapping[str, Any]) -> None:
        self._run, self._values = run, values

    def __enter__(self) -> None:
        self._before = self._run.variables
        self._run.variables = {**self._before, **self._values}

    def __exit__(self, *_: object) -> None:
        self._run.variables = self._before


Round = Callable[[Step], Any]


def _rounds(run: Run, held: Any, names: list[str]) -> Iterable[tuple[Any, Round]]:
    """(item, what evaluates a step with the names set) for every item, key, or pair of both."""
    if isinstance(held, Map):
        pairs = list(held.items())
        rounds = [(key,) if len(names) == 1 else (key, value) for key, value in pairs]
    elif isinstance(held, tuple):
        rounds = [(item,) if len(names) == 1 else (index, item) for index, item in enumerate(held)]
    else:
        raise EvaluationError(NO_OVERLOAD)
    for values in rounds:

        def evaluate(step: Step, values: tuple[Any, ...] = values) -> Any:
            run.spend(1)
            with _Names(run, dict(zip(names, values, strict=True))):
                return step(run)

        yield values[0], evaluate


def _first_decided(run: Run, steps: Iterable[Callable[[Run], Any]], decides: bool) -> bool:
    """Whether one of the steps is what decides; the first error counts only when none does."""
    error: EvaluationError | None = None
    for step in steps:
        try:
            value = step(run)
        except EvaluationError as found:
            error = error or found
            continue
        if type(value) is not bool:
            error = error or EvaluationError(NO_OVERLOAD)
        elif value is decides:
            return decides
    if error is not None:
        raise error
    return not decides


def _any(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step], *, decides: bool) -> bool:
    (condition,) = inner

    def asked(each: Round) -> Step:
        return lambda run: each(condition)

    return _first_decided(run, (asked(each) for _, each in rounds), decides)


def _exactly_one(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> bool:
    return sum(_holds(each(inner[0])) for _, each in rounds) == 1


def _holds(value: Any) -> bool:
    if type(value) is not bool:
        raise EvaluationError(NO_OVERLOAD)
    return value


def _mapped(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> tuple[Any, ...]:
    run.spend(_LIST_COST)
    *conditions, result = inner
    return tuple(each(result) for _, each in rounds if all(_holds(each(condition)) for condition in conditions))


def _filtered(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> tuple[Any, ...]:
    run.spend(_LIST_COST)
    return tuple(item for item, each in rounds if _holds(each(inner[0])))


def _mapped_map(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> Map:
    run.spend(_MAP_COST)
    *conditions, result = inner
    chosen = ((key, each) for key, each in rounds if all(_holds(each(condition)) for condition in conditions))
    return Map((key, each(result)) for key, each in chosen)


def _mapped_entries(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> Map:
    run.spend(_MAP_COST)
    *conditions, result = inner
    made: list[tuple[Any, Any]] = []
    for _, each in rounds:
        if all(_holds(each(condition)) for condition in conditions):
            entry = each(result)
            if not isinstance(entry, Map):
                raise EvaluationError(NO_OVERLOAD)
            made += entry.items()
    return Map(made)


Fold = Callable[[Run, Iterable[tuple[Any, Round]], list[Step]], Any]


def _exists(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> bool:
    return _any(run, rounds, inner, decides=True)


def _all(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> bool:
    return _any(run, rounds, inner, decides=False)


# By name, number of names, number of arguments.
_MACROS: Final[dict[tuple[str, int, int], Fold]] = {
    ("all", 1, 2): _all, ("all", 2, 3): _all, ("exists", 1, 2): _exists, ("exists", 2, 3): _exists,
    ("exists_one", 1, 2): _exactly_one, ("existsOne", 1, 2): _exactly_one, ("existsOne", 2, 3): _exactly_one,
    ("map", 1, 2): _mapped, ("map", 1, 3): _mapped, ("filter", 1, 2): _filtered,
    ("transformList", 2, 3): _mapped, ("transformList", 2, 4): _mapped,
    ("transformMap", 2, 3): _mapped_map, ("transformMap", 2, 4): _mapped_map,
    ("transformMapEntry", 2, 3): _mapped_entries, ("transformMapEntry", 2, 4): _mapped_entries,
}  # fmt: skip


def _chosen(name: str, overloads: list[Overload], values: list[Any]) -> Overload:
    for overload in overloads:
        if overload.takes(values):
            return overload
    if len(overloads) == 1:
        raise EvaluationError(NO_OVERLOAD)
    raise no_overload(name, values)
