"""One run of an expression: its variables, what it costs, and how it goes over lists and maps.

Source: cel-go 0.26, interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from scheduler_core.cel.values import NO_OVERLOAD, EvaluationError, Map

COST_LIMIT: Final = 1_000_000
COST_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
LIST_COST, MAP_COST = 10, 30


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


class Names:
    """Variables that hold only inside."""

    def __init__(self, run: Run, values: Mapping[str, Any]) -> None:
        self._run, self._values = run, values

    def __enter__(self) -> None:
        self._before = self._run.variables
        self._run.variables = {**self._before, **self._values}

    def __exit__(self, *_: object) -> None:
        self._run.variables = self._before


Round = Callable[[Step], Any]


def rounds_of(run: Run, held: Any, names: list[str]) -> Iterable[tuple[Any, Round]]:
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
            with Names(run, dict(zip(names, values, strict=True))):
                return step(run)

        yield values[0], evaluate


def first_decided(run: Run, steps: Iterable[Callable[[Run], Any]], decides: bool) -> bool:
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

    return first_decided(run, (asked(each) for _, each in rounds), decides)


def _exactly_one(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> bool:
    return sum(_holds(each(inner[0])) for _, each in rounds) == 1


def _holds(value: Any) -> bool:
    if type(value) is not bool:
        raise EvaluationError(NO_OVERLOAD)
    return value


def _mapped(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> tuple[Any, ...]:
    run.spend(LIST_COST)
    *conditions, result = inner
    return tuple(each(result) for _, each in rounds if all(_holds(each(condition)) for condition in conditions))


def _filtered(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> tuple[Any, ...]:
    run.spend(LIST_COST)
    return tuple(item for item, each in rounds if _holds(each(inner[0])))


def _mapped_map(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> Map:
    run.spend(MAP_COST)
    *conditions, result = inner
    chosen = ((key, each) for key, each in rounds if all(_holds(each(condition)) for condition in conditions))
    return Map((key, each(result)) for key, each in chosen)


def _mapped_entries(run: Run, rounds: Iterable[tuple[Any, Round]], inner: list[Step]) -> Map:
    run.spend(MAP_COST)
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
FOLDS: Final[dict[tuple[str, int, int], Fold]] = {
    ("all", 1, 2): _all, ("all", 2, 3): _all, ("exists", 1, 2): _exists, ("exists", 2, 3): _exists,
    ("exists_one", 1, 2): _exactly_one, ("exists_one", 2, 3): _exactly_one,
    ("existsOne", 2, 3): _exactly_one,
    ("map", 1, 2): _mapped, ("map", 1, 3): _mapped, ("filter", 1, 2): _filtered,
    ("transformList", 2, 3): _mapped, ("transformList", 2, 4): _mapped,
    ("transformMap", 2, 3): _mapped_map, ("transformMap", 2, 4): _mapped_map,
    ("transformMapEntry", 2, 3): _mapped_entries, ("transformMapEntry", 2, 4): _mapped_entries,
}  # fmt: skip
