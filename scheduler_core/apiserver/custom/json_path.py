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
Step = Callable[[Any], Iterator[Any]]


class PathError(ValueError):
    """The text is no path."""


def found(value: Any, path: str) -> list[Any]:
    """The values at the path, nothing where there are none. PathError."""
    values = [value]
    for step in _steps(path):
        values = [each for held in values for each in step(held)]
    return values


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    at = 0
    while at < len(path):
        if path.startswith("..", at):
            steps.append(_everything_below)
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
    def step(value: Any) -> Iterator[Any]:
        if name == "*":
            yield from _items(value)
        elif isinstance(value, Mapping) and name in value:
            yield value[name]

    return step


def _of_items(match: re.Match[str]) -> Step:
    return _items


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _of_slice(match: re.Match[str]) -> Step:
    begin, is_range, end, step_text = match.groups()
    if not is_range and not begin:
        raise PathError("an index is missing")

    def step(value: Any) -> Iterator[Any]:
        if not isinstance(value, list):
            return
        if not is_range:
            index = int(begin)
            if -len(value) <= index < len(value):
                yield value[index]
            return
        width = int(step_text) if step_text else 1
        if width > 0:
            yield from value[int(begin) if begin else None : int(end) if end else None : width]

    return step


def _of_filter(match: re.Match[str]) -> Step:
    middle = _OPERATOR.search(match[1])
    left = match[1][: middle.start()].strip() if middle is not None else match[1].strip()
    operator, right = (middle[0], match[1][middle.end() :].strip()) if middle is not None else (None, "")

    def step(value: Any) -> Iterator[Any]:
        for each in _items(value) if isinstance(value, list) else ():
            ones = found(each, left)
            if operator is None:
                if ones:
                    yield each
                continue
            others = found(each, right[1:]) if right.startswith("@") else [_literal(right)]
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
