"""Expressions that select devices (CEL): compiled with syntax and types checked, and evaluated.

What is wrong is told in the words of cel-go 0.26 as kube-apiserver prints it. Where a construct is not known here the
expression is taken as it is: a right one is never refused. Why this is not a library: docs/decisions.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scheduler_core.cel.checking import Checked, Checker, is_condition
from scheduler_core.cel.constants import problem_of
from scheduler_core.cel.costs import most_of
from scheduler_core.cel.declarations import NEW, STORED, Functions
from scheduler_core.cel.literal_checks import wrong_literals
from scheduler_core.cel.nodes import CelError, Node
from scheduler_core.cel.parsing import MOST_ERRORS, NOWHERE, UnknownSyntaxError, parse
from scheduler_core.cel.runs import COST_LIMIT
from scheduler_core.cel.types import Type, shown

_FRAMES: Final = 10_000
FAILED: Final = "compilation failed: "
NOT_MADE: Final = "program instantiation failed: "
INVALID, INTERNAL, FORBIDDEN = "Invalid value", "Internal error", "Forbidden"


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression: its tree, what is known of that, and what is wrong; the first two None where nothing is read."""

    node: Node | None
    checked: Checked | None
    problem: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an expression is no selector. `kind`: how an error about its field begins."""

    kind: str
    problem: str


def selector_problem(text: str) -> Refusal | None:
    """Why the text is no condition on a device that may be created; None when it is one, as far as can be told."""
    try:
        found = compiled(text, NEW)
        if found.problem or found.node is None or found.checked is None:
            return Refusal(INTERNAL if found.problem.startswith(NOT_MADE) else INVALID, found.problem)
        is_cheap = most_of(found.node, found.checked) <= COST_LIMIT
        return None if is_cheap else Refusal(FORBIDDEN, "too complex, exceeds cost limit")
    except (UnknownSyntaxError, RecursionError):
        return None


def compiled(text: str, functions: Functions) -> Compiled:
    """The condition on a device with what it may use. UnknownSyntaxError for what is not read here."""
    found = analysed(text, functions)
    if found.problem or found.node is None or found.checked is None:
        return found
    result = found.checked.type_of(found.node)
    if not is_condition(result):
        unfit = f"must evaluate to bool or the unknown type, not {shown(result, True)}"
        return Compiled(found.node, found.checked, unfit)
    problem = problem_of(found.node, found.checked)
    return Compiled(found.node, found.checked, problem and f"{NOT_MADE}{problem}")


def analysed(text: str, functions: Functions, names: Mapping[str, Type] | None = None) -> Compiled:
    """The expression, whatever it comes to, over a device or other `names`. UnknownSyntaxError."""
    if sys.getrecursionlimit() < _FRAMES:
        sys.setrecursionlimit(_FRAMES)  # expressions may be 250 deep
    node, errors = parse(text, is_stored=functions is STORED)
    left_out = int(len(errors) > MOST_ERRORS)  # reading stops at the first that is too many
    checked: Checked | None = None
    if not errors and node is not None:
        checker = Checker(functions, names)
        checked = checker.check(node)
        errors = checker.errors or list(wrong_literals(node, checked))
        left_out = max(0, len(errors) - MOST_ERRORS)
        if not errors:
            return Compiled(node, checked, "")
    told = [_located(text, error) for error in sorted(set(errors[:MOST_ERRORS]))]
    if left_out:
        told.append(f"{left_out} more errors were truncated")
    return Compiled(node, checked, FAILED + "\n".join(told))


def _located(text: str, error: CelError) -> str:
    position, message = error
    if position == NOWHERE:
        return f"ERROR: <input>:-1:0: {message}"
    if not text:
        return f"ERROR: <input>:1:0: {message}"
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1)
    source = text.split("\n")[line - 1].replace("\t", " ")
    # Signs of more than one byte are wide.
    dots = "".join("." if sign.isascii() else "\uff0e" for sign in source[:column])
    mark = "^" if source[column : column + 1].isascii() else "\uff3e"
    return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {source}\n | {dots}{mark}"
