"""Expressions over values whose types are told when they are evaluated: rules of definitions, and their messages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from scheduler_core.cel import FAILED, NOT_MADE, analysed
from scheduler_core.cel.constants import problem_of
from scheduler_core.cel.declarations import STORED
from scheduler_core.cel.evaluation import Compiler
from scheduler_core.cel.nodes import Node
from scheduler_core.cel.parsing import UnknownSyntaxError
from scheduler_core.cel.runs import CostError, Run, Step
from scheduler_core.cel.types import DYN, head
from scheduler_core.cel.values import EvaluationError

__all__ = ["CostError", "EvaluationError", "Expression", "ExpressionError", "UnknownSyntaxError", "compile_expression"]


class ExpressionError(ValueError):
    """The text is no expression of the kind that is wanted; the words are the API server's, but for their beginning."""


class Expression:
    """A compiled expression. `uses_old`: it asks what the value was before."""

    __slots__ = ("_step", "uses_old")

    def __init__(self, step: Step, *, uses_old: bool) -> None:
        self._step = step
        self.uses_old = uses_old

    def value(self, variables: Mapping[str, Any]) -> tuple[Any, int]:
        """(what it comes to, what that cost). EvaluationError, CostError."""
        run = Run(variables)
        try:
            return self._step(run), run.cost
        except RecursionError:
            raise EvaluationError("the expression is nested too deeply") from None


@lru_cache(maxsize=2048)
def compile_expression(text: str, wanted: str) -> Expression:
    """The expression over `self` and `oldSelf`, which comes to a value of the type that is wanted.

    ExpressionError when it does not, UnknownSyntaxError for what is not evaluated here.
    """
    try:
        found = analysed(text, STORED, {_SELF: DYN, _OLD: DYN})
        if found.problem or found.node is None or found.checked is None:
            raise ExpressionError(found.problem or f"{FAILED}no expression")
        if head(found.checked.type_of(found.node)) not in (wanted, DYN, "any"):
            raise ExpressionError(f"must evaluate to a {wanted}")
        problem = problem_of(found.node, found.checked)
        if problem:
            raise ExpressionError(f"{NOT_MADE}{problem}")
        return Expression(Compiler(found.checked).step(found.node), uses_old=_names(found.node, _OLD))
    except RecursionError:
        raise UnknownSyntaxError from None


_SELF: Final = "self"
_OLD: Final = "oldSelf"


def _names(node: Node, name: str) -> bool:
    """Whether the expression has the name in it."""
    if node.kind == "name" and node.name == name:
        return True
    parts = (*node.parts, *((node.expansion,) if node.expansion is not None else ()))
    return any(_names(part, name) for part in parts)
