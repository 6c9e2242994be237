"""Whether an applied object has the shape of its kind, in the words of the API server.

Source: structured-merge-diff v6.3.0, typed/validate.go; how Go prints values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from scheduler_core.apiserver.ownership import sets
from scheduler_core.apiserver.ownership.shapes import Form, OwnershipError, Shape


def problem_of(value: Any, shape: Shape) -> str:
    """What is wrong, one problem or a list of them; empty when nothing is."""
    problems = [problem.removeprefix(": ") for problem in _problems(value, shape)]
    if len(problems) < 2:
        return problems[0] if problems else ""
    return "\n".join(("errors:", *(f"  {each}" for each in problems)))


def _problems(value: Any, shape: Shape) -> list[str]:
    shape = shape.of_values(value)
    if value is None or shape.form == Form.ANY:
        return []
    if shape.form == Form.SCALAR:
        return _of_scalar(value, shape.scalar)
    if shape.form == Form.LIST:
        return _of_list(value, shape) if isinstance(value, list) else [f": expected list, got &{{{go_text(value)}}}"]
    if not isinstance(value, Mapping):
        return [f": expected map, got &{{{go_text(value)}}}"]
    found: list[str] = []
    for name, each in value.items():
        below = shape.below(name)
        if below is None:
            return [*found, f".{name}: field not declared in schema"]
        found += _placed(f".{name}", _problems(each, below))
    return found


def _placed(prefix: str, problems: list[str]) -> list[str]:
    return [prefix + problem for problem in problems]


def _of_list(value: list[Any], shape: Shape) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        place = f"[{index}]"
        if not shape.is_atomic:
            try:
                element = shape.element(item)
            except OwnershipError as error:
                return [*found, f": element {index}: {error}"]
            place = sets.element_text(element)
            if element in seen:
                found.append(f": duplicate entries for key {place}")
            seen.add(element)
        found += _placed(place, _problems(item, shape.item))
    return found


def _of_scalar(value: Any, scalar: str) -> list[str]:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if scalar == "numeric":
        return [] if is_number else [f": expected numeric (int or float), got {_go_type(value)}"]
    if scalar == "string":
        shown = "" if isinstance(value, str) else f"&value.valueUnstructured{{Value:{_go_syntax(value)}}}"
        return [f": expected string, got {shown}"] if shown else []
    if scalar == "boolean":
        return [] if isinstance(value, bool) else [f": expected boolean, got &{{{go_text(value)}}}"]
    return [f": expected any scalar, got &{{{go_text(value)}}}"] if isinstance(value, (Mapping, list)) else []


def _go_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "[]interface {}" if isinstance(value, list) else "map[string]interface {}"


def go_text(value: Any) -> str:
    """A value as Go prints it by default."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    return str(value)


def _go_syntax(value: Any) -> str:
    """A value as Go would write it in a program."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{json.dumps(key, ensure_ascii=False)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inside}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    return "interface {}(nil)" if value is None else go_text(value)


def _number(value: float) -> str:
    """A number as Go prints it: one with a fraction gets an exponent from a million on."""
    if isinstance(value, int):
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1
    if -4 <= power < 6:
        return str(int(value)) if value.is_integer() else repr(value)
    text = "".join(map(str, digits))
    return f"{'-' * sign}{text[0]}{'.' * (len(text) > 1)}{text[1:]}e{'-' if power < 0 else '+'}{abs(power):02d}"
