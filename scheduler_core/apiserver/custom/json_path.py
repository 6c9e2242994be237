"""Paths into objects, as columns of definitions have them: `.status.conditions[?(@.type=="Ready")].status`.

Source: kubernetes v1.34.1, staging/src/k8s.io/client-go/util/jsonpath, as far as one path goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

_FIELD: Final = re.compile(r"\.((?:\\.|[^.\[\]\\])++)")
_QUOTED: Final = re.compile(r"""\[\s*+(?:'((?:\\.|[^'\\])*+)'|"((?:\\.|[^"\\])*+)")\s*+\]""")
_SLICE: Final = re.compile(r"\[\s*+(-?\d*+)\s*+(?:(:)\s*+(-?\d*+)\s*+(?::\s*+(-?\d*+)\s*+)?)?\]")
_FILTER: Final = re.compile(r"\[\?\(\s*+@([^()]*+)\)\]")
_OPERATOR: Final = re.compile(r"[=!]=|[<>]=?")
_ESCAPED: Final = re.compile(r"\\(.)")
_MOST: Final = 5_000  # values on the way along one path: each `..` may come by all of them again


class PathError(ValueError):
    """The text is no path, or one that leads by too many values."""


class _Budget:
    """How many values may still be come by."""

    def __init__(self) -> None:
        self._left = _MOST

    def spent(self, value: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise PathError("too many values")
        return value


Step = Callable[[Any, _Budget], Iterator[Any]]


def found(value: Any, path: str) -> list[Any]:
    """The values at the path, nothing where there are none. PathError."""
    return _found(value, path, _Budget())


def _found(value: Any, path: str, budget: _Budget) -> list[Any]:
    values = [value]
    for step in _steps(path):
        values = [budget.spent(each) for held in values for each in step(held, budget)]
    return values


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    at = 0
    while at < len(path):
        if path.startswith("..", at):
            steps.append(lambda value, budget: _everything_below(value))
            at += 1
            continue
        if path == ".":
            break
        for pattern, made in _READERS:
            match = pattern.match(path, at)
            if match is not None:
                steps.append(made(match))
                at = match.end()
                break
        else:
            raise PathError(f"unrecognized path {path!r}")
    return tuple(steps)


def _of_field(match: re.Match[str]) -> Step:
    return _field(_ESCAPED.sub(r"\1", match[1]))


def _of_quoted(match: re.Match[str]) -> Step:
    return _field(_ESCAPED.sub(r"\1", match[1] if match[1] is not None else match[2]))


def _field(name: str) -> Step:
    def step(value: Any, budget: _Budget) -> Iterator[Any]:
        if name == "*":
            yield from _items(value)
        elif isinstance(value, Mapping) and name in value:
            yield value[name]

    return step


def _of_items(match: re.Match[str]) -> Step:
    return lambda value, budget: _items(value)


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _of_slice(match: re.Match[str]) -> Step:
    begin, is_range, end, step_text = match.groups()
    if not is_range and not begin:
        raise PathError("an index is missing")
    try:
        first, last, width = (int(text) if text else None for text in (begin, end, step_text))
    except ValueError:  # of too many digits
        raise PathError("an index is too long") from None

    def step(value: Any, budget: _Budget) -> Iterator[Any]:
        if not isinstance(value, list):
            return
        if not is_range:
            if first is not None and -len(value) <= first < len(value):
                yield value[first]
        elif width is None or width > 0:
            yield from value[first:last:width]

    return step


def _of_filter(match: re.Match[str]) -> Step:
    middle = _OPERATOR.search(match[1])
    left = match[1][: middle.start()].strip() if middle is not None else match[1].strip()
    operator, right = (middle[0], match[1][middle.end() :].strip()) if middle is not None else (None, "")

    def step(value: Any, budget: _Budget) -> Iterator[Any]:
        for each in _items(value) if isinstance(value, list) else ():
            ones = _found(each, left, budget)
            if operator is None:
                if ones:
                    yield each
                continue
            others = _found(each, right[1:], budget) if right.startswith("@") else [_literal(right)]
            if ones and others and _compared(ones[0], operator, others[0]):
                yield each

    return step


def _everything_below(value: Any) -> Iterator[Any]:
    yield value
    for each in _items(value):
        yield from _everything_below(each)


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return _ESCAPED.sub(r"\1", text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _compared(one: Any, operator: str, other: Any) -> bool:
    if operator in ("==", "!="):
        return bool((one == other and isinstance(one, bool) == isinstance(other, bool)) is (operator == "=="))
    are_texts = isinstance(one, str) and isinstance(other, str)
    are_numbers = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (one, other))
    if not are_texts and not are_numbers:
        return False
    order = (one > other) - (one < other)
    return bool({"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator])


_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]], ...]] = (
    (re.compile(r"\[\s*+\*\s*+\]"), _of_items), (_FILTER, _of_filter), (_QUOTED, _of_quoted), (_SLICE, _of_slice),
    (_FIELD, _of_field),
)  # fmt: skip
