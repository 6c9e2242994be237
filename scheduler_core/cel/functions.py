"""The functions of expressions and their overloads: of the language, of texts, lists and sets, optional values.

Source: cel-go 0.26 (common/stdlib, ext), and kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/cel/library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from scheduler_core.cel.types import Type, is_open
from scheduler_core.cel.values import NO_OVERLOAD, EvaluationError, kind_of, type_name

Implementation = Callable[..., Any]
F = TypeVar("F", bound=Implementation)
CostOf = Callable[[Sequence[Any], Any], int]


@dataclass(frozen=True, slots=True)
class Overload:
    """`kinds` of the arguments, that of the target first; "dyn" takes any. `cost` of the arguments and the result."""

    kinds: tuple[str, ...]
    run: Implementation
    cost: CostOf
    is_member: bool = False

    def takes(self, arguments: Sequence[Any]) -> bool:
        return all(kind in ("dyn", kind_of(value)) for kind, value in zip(self.kinds, arguments, strict=True))

    def may_take(self, types: Sequence[Type]) -> bool:
        """Whether arguments of these types, as far as they are known before the evaluation, can be taken."""
        return all(
            kind == "dyn" or is_open(known) or (known[0] if isinstance(known, tuple) else known) == kind
            for kind, known in zip(self.kinds, types, strict=True)
        )


def size_of(value: Any) -> int:
    """What a value counts for in costs."""
    return len(value) if isinstance(value, (str, bytes, tuple)) or hasattr(value, "keys") else 1


def nominal(arguments: Sequence[Any], result: Any) -> int:
    return 1


def traversal(times: int = 1) -> CostOf:
    """The cost of walking over the first argument, a text, so many times."""
    return lambda arguments, result: math.ceil(size_of(arguments[0]) * 0.1 * times)


def of_result(arguments: Sequence[Any], result: Any) -> int:
    return math.ceil(size_of(result) * 0.2)


def both(arguments: Sequence[Any], result: Any) -> int:
    return math.ceil(size_of(arguments[0]) * 0.1) * math.ceil(size_of(arguments[1]) * 0.1)


def searched(arguments: Sequence[Any], result: Any) -> int:
    """The cost of a regular expression, the second argument, over a text."""
    return math.ceil((1 + size_of(arguments[0])) * 0.1) * math.ceil(size_of(arguments[1]) * 0.25)


def crossed(times: int) -> CostOf:
    """The cost of comparing each item of one list with each of another, so many times."""
    return lambda arguments, result: 1 + size_of(arguments[0]) * size_of(arguments[1]) * times


def items(arguments: Sequence[Any], result: Any) -> int:
    return sum(size_of(item) for item in arguments[0]) if isinstance(arguments[0], tuple) else 1


FUNCTIONS: Final[dict[tuple[str, bool, int], list[Overload]]] = {}
"""By name, whether it is a member, and the number of arguments, the target included."""


def function(name: str, *kinds: str, cost: CostOf = nominal, member: bool = False) -> Callable[[F], F]:
    """Declare an overload; the same implementation may have several."""

    def declare(run: F) -> F:
        FUNCTIONS.setdefault((name, member, len(kinds)), []).append(Overload(kinds, run, cost, member))
        return run

    return declare


def method(name: str, *kinds: str, cost: CostOf = nominal) -> Callable[[F], F]:
    return function(name, *kinds, cost=cost, member=True)


def overloads_of(name: str, types: Sequence[Type], *, is_member: bool) -> list[Overload]:
    """Those that arguments of these types may find."""
    return [each for each in FUNCTIONS.get((name, is_member, len(types)), ()) if each.may_take(types)]


def no_overload(name: str, arguments: Sequence[Any]) -> EvaluationError:
    """The words where several overloads were asked."""
    return EvaluationError(f"{NO_OVERLOAD}: {name}({', '.join(map(type_name, arguments))})")
