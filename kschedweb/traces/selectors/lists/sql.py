"""Terms of a query as conditions in SQL. Values never stand in the text: they are parameters."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from kschedweb.common.patterns import literal
from kschedweb.query import Term

Condition = Callable[[Term, "Parameters"], str]


class Parameters(dict[str, Any]):
    """The parameters of a statement, by name."""

    def add(self, value: Any) -> str:
        """How the statement names this value."""
        name = f"p{len(self)}"
        self[name] = value
        return f"%({name})s"


def joined(word: str, conditions: Iterable[str]) -> str:
    """Conditions of which all (AND) or one (OR) must hold."""
    return f"({f' {word} '.join(conditions)})"


def signed(term: Term, condition: str) -> str:
    """The condition, or that it does not hold."""
    return f"NOT coalesce({condition}, false)" if term.negated else condition


def named(expression: str) -> Condition:
    """The text is one of the values; `*` in a value stands for any letters."""

    def condition(term: Term, parameters: Parameters) -> str:
        return signed(term, matches(expression, term, parameters))

    return condition


def matches(expression: str, term: Term, parameters: Parameters) -> str:
    """As `named`, without regard to a negation."""
    texts = [str(value) for value in term.values]
    conditions = [f"{expression} LIKE {parameters.add(wildcards(text))}" for text in texts if "*" in text]
    if whole := [text for text in texts if "*" not in text]:
        conditions.append(f"{expression} = ANY ({parameters.add(whole)})")
    return joined("OR", conditions)


def contains(expression: str, term: Term, parameters: Parameters) -> str:
    """The text has one of the values in it, in small or capital letters."""
    parts = (parameters.add(f"%{literal(str(value))}%") for value in term.values)
    return joined("OR", (f"{expression} ILIKE {part}" for part in parts))


def part_of(expression: str) -> Condition:
    """The text has one of the values in it."""

    def condition(term: Term, parameters: Parameters) -> str:
        return signed(term, contains(expression, term, parameters))

    return condition


def compared(expression: str) -> Condition:
    """The number is one of the values, or above or below the only one."""

    def condition(term: Term, parameters: Parameters) -> str:
        if term.operator == ":":
            return signed(term, f"{expression} = ANY ({parameters.add(list(term.values))})")
        return signed(term, f"{expression} {term.operator} {parameters.add(term.values[0])}")

    return condition


def aged(expression: str) -> Condition:
    """The moment lies longer or less long ago than so many seconds; `now` is among the parameters."""
    turned = {">": "<", ">=": "<=", "<": ">", "<=": ">="}

    def condition(term: Term, parameters: Parameters) -> str:
        now: datetime = parameters["now"]
        moment = now - timedelta(seconds=int(term.values[0]))
        return signed(term, f"{expression} {turned[term.operator]} {parameters.add(moment)}")

    return condition


def wildcards(text: str) -> str:
    """A pattern of LIKE in which each `*` is any letters."""
    return literal(text).replace("*", "%")
