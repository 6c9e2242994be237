"""Expressions that select devices are compiled as kube-apiserver 1.34 compiles them.

`expressions.json` has expressions and what the real server says of each; an empty text where it takes the expression.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_core.cel import selector_problem

CASES = json.loads((Path(__file__).parent / "expressions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "problem"), CASES, ids=[repr(text) for text, _ in CASES])
def test_expression_is_compiled_as_by_the_real_server(text: str, problem: str) -> None:
    assert selector_problem(text)[0] == problem


def test_what_is_not_read_here_is_taken_as_it_is() -> None:
    for text in (
        "Message{a: 1}.a",
        "'''a''' == 'a'",
    ):
        assert selector_problem(text) == ("", False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("(" * 250 + "true" + ")" * 250, "expression recursion limit exceeded: 250", id="brackets"),
        pytest.param("1+(" * 125 + "1" + ")" * 125 + " == 1", "expression recursion limit exceeded: 250", id="sums"),
        pytest.param("+".join("1" * 251) + " == 1", "max recursion depth exceeded", id="a long sum"),
        pytest.param("'a'" + ".trim()" * 250 + " == 'a'", "max recursion depth exceeded", id="calls"),
    ],
)
def test_expression_may_be_250_deep(text: str, message: str) -> None:
    assert selector_problem(text)[0] == f"compilation failed: ERROR: <input>:-1:0: {message}"
    shorter = {"(": text[1:-1], "1": text.replace("1+", "", 1), "'": text.replace(".trim()", "", 1)}[text[0]]
    assert selector_problem(shorter)[0] == ""


def test_what_is_called_on_stands_twice_and_is_checked_once() -> None:
    """Otherwise it would take time exponential in the length."""
    assert selector_problem("optional.of(1)" + ".optMap(x, x)" * 100 + ".hasValue()") == (
        "too complex, exceeds cost limit",
        True,
    )


def test_of_many_errors_a_hundred_are_told() -> None:
    """Each repeats its line, so that all of a long one would be hundreds of megabytes."""
    told = selector_problem("#" * 10_240)[0]
    assert told.count("ERROR: <input>") == 100
    assert told.endswith("\n1 more errors were truncated")  # reading stops at the first that is too many
    assert len(told) < 2_000_000
    told = selector_problem(" && ".join(["a"] * 250))[0]
    assert told.count("ERROR: <input>") == 100
    assert told.endswith("\n150 more errors were truncated")
    assert "truncated" not in selector_problem(" && ".join(["a"] * 100))[0]


def test_tab_is_shown_as_one_blank() -> None:
    assert selector_problem("\ta")[0].endswith("\n |  a\n | .^")
