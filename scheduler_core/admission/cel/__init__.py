"""Expressions that select devices (CEL), compiled as far as their syntax and their types; nothing is evaluated.

What is wrong is told in the words of cel-go 0.26 as kube-apiserver prints it. Where a construct is not known here the
expression is taken as it is: a right one is never refused. Of the kept Python libraries none checks types.
"""

from __future__ import annotations

from scheduler_core.admission.cel.checking import Checker
from scheduler_core.admission.cel.parsing import MOST_ERRORS, CelError, UnknownSyntaxError, parse
from scheduler_core.admission.cel.types import BOOL, DYN, shown


def selector_problem(text: str) -> str:
    """Why the text is no condition on a device; empty when it is one, as far as can be told."""
    try:
        node, errors = parse(text)
        left_out = int(len(errors) > MOST_ERRORS)  # reading stops at the first that is too many
        if not errors and node is not None:
            checker = Checker()
            result = checker.type_of(node)
            errors = checker.errors
            left_out = max(0, len(errors) - MOST_ERRORS)
            if not errors:
                is_condition = result in (BOOL, DYN, "any")
                return "" if is_condition else f"must evaluate to bool or the unknown type, not {shown(result, True)}"
    except (UnknownSyntaxError, RecursionError):
        return ""
    told = [_located(text, error) for error in sorted(set(errors[:MOST_ERRORS]))]
    if left_out:
        told.append(f"{left_out} more errors were truncated")
    return "compilation failed: " + "\n".join(told)


def _located(text: str, error: CelError) -> str:
    position, message = error
    if not text:
        return f"ERROR: <input>:1:0: {message}"
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1)
    source = text.split("\n")[line - 1].replace("\t", " ")
    return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {source}\n | {'.' * column}^"
