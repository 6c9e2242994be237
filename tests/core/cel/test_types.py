"""Expressions that select devices are compiled as kube-apiserver 1.34 compiles them.

`expressions.json` has expressions and what the real server says of each; an empty text where it takes the expression.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_core.cel import FORBIDDEN, INTERNAL, Refusal, selector_problem
from tests.cases import cases

CASES = json.loads((Path(__file__).parent / "expressions.json").read_text(encoding="utf-8"))


def problem_of(text: str) -> str:
    refusal = selector_problem(text)
    return "" if refusal is None else refusal.problem


@pytest.mark.parametrize(("text", "problem"), CASES, ids=[repr(text) for text, _ in CASES])
def test_expression_is_compiled_as_by_the_real_server(text: str, problem: str) -> None:
    assert problem_of(text) == problem


def test_what_is_not_read_here_is_taken_as_it_is() -> None:
    for text in ("Message{a: 1}.a", "'''a''' == 'a'"):
        assert selector_problem(text) is None


@cases(
    "text, message",
    ("brackets", "(" * 250 + "true" + ")" * 250, "expression recursion limit exceeded: 250"),
    ("sums", "1+(" * 125 + "1" + ")" * 125 + " == 1", "expression recursion limit exceeded: 250"),
    ("a long sum", "+".join("1" * 251) + " == 1", "max recursion depth exceeded"),
    ("calls", "'a'" + ".trim()" * 250 + " == 'a'", "max recursion depth exceeded"),
)
def test_expression_may_be_250_deep(text: str, message: str) -> None:
    assert problem_of(text) == f"compilation failed: ERROR: <input>:-1:0: {message}"
    shorter = {"(": text[1:-1], "1": text.replace("1+", "", 1), "'": text.replace(".trim()", "", 1)}[text[0]]
    assert problem_of(shorter) == ""


def test_what_is_called_on_stands_twice_and_is_checked_once() -> None:
    """Otherwise it would take time exponential in the length."""
    refusal = selector_problem("optional.of(1)" + ".optMap(x, x)" * 100 + ".hasValue()")
    assert refusal == Refusal(FORBIDDEN, "too complex, exceeds cost limit")


@cases(
    "text, problem",
    ("conversion", 'bool("a")', "type conversion error from 'string' to 'bool'"),
    ("within another", 'string(int("a")) == ""', "type conversion error from 'string' to 'int'"),
    ("key", "{b'a': true}[b'a']", "invalid qualifier type: types.Bytes"),
)
def test_what_goes_wrong_with_constants_is_told_as_an_internal_error(text: str, problem: str) -> None:
    assert selector_problem(text) == Refusal(INTERNAL, f"program instantiation failed: {problem}")
    assert problem_of(text.replace('"a"', "device.driver").replace("b'a']", "bytes(device.driver)]")) == ""


def test_of_many_errors_a_hundred_are_told() -> None:
    """Each repeats its line, so that all of a long one would be hundreds of megabytes."""
    told = problem_of("#" * 10_240)
    assert told.count("ERROR: <input>") == 100
    assert told.endswith("\n1 more errors were truncated")  # reading stops at the first that is too many
    assert len(told) < 2_000_000
    told = problem_of(" && ".join(["a"] * 250))
    assert told.count("ERROR: <input>") == 100
    assert told.endswith("\n150 more errors were truncated")
    assert "truncated" not in problem_of(" && ".join(["a"] * 100))


def test_tab_is_shown_as_one_blank() -> None:
    assert problem_of("\ta").endswith("\n |  a\n | .^")
