"""Expressions that select devices (CEL): compiled with syntax and types checked, and evaluated.

What is wrong is told in the words of cel-go 0.26 as kube-apiserver prints it. Where a construct is not known here the
expression is taken as it is: a right one is never refused. Why this is not a library: docs/decisions.
"""

from __future__ import annotations

from scheduler_core.cel.checking import Checker
from scheduler_core.cel.parsing import MOST_ERRORS, CelError, Node, UnknownSyntaxError, parse
from scheduler_core.cel.types import BOOL, DYN, shown

FAILED = "compilation failed: "


def selector_problem(text: str) -> str:
    """Why the text is no condition on a device; empty when it is one, as far as can be told."""
    try:
        return checked(text)[2]
    except (UnknownSyntaxError, RecursionError):
        return ""


def checked(text: str) -> tuple[Node | None, Checker, str]:
    """(the tree, what is known of its types, what is wrong). UnknownSyntaxError for what is not read here."""
    node, errors = parse(text)
    left_out = int(len(errors) > MOST_ERRORS)  # reading stops at the first that is too many
    checker = Checker()
    if not errors and node is not None:
        result = checker.type_of(node)
        errors = list(checker.errors)
        left_out = max(0, len(errors) - MOST_ERRORS)
        if not errors:
            is_condition = result in (BOOL, DYN, "any")
            problem = f"must evaluate to bool or the unknown type, not {shown(result, True)}"
            return node, checker, "" if is_condition else problem
    told = [_located(text, error) for error in sorted(set(errors[:MOST_ERRORS]))]
    if left_out:
        told.append(f"{left_out} more errors were truncated")
    return node, checker, FAILED + "\n".join(told)


def _located(text: str, error: CelError) -> str:
    position, message = error
    if not text:
        return f"ERROR: <input>:1:0: {message}"
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1)
    source = text.split("\n")[line - 1].replace("\t", " ")
    return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {source}\n | {'.' * column}^"
