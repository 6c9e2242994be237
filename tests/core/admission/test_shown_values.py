"""Values in the messages of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.admission.context import (
    OMITTED,
    Problem,
    duplicate,
    forbidden,
    internal_error,
    invalid,
    not_found,
    required,
    too_long,
    too_many,
    unsupported,
)
from scheduler_core.apiserver.answers import Cause


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", '"plain"'),
        ('a "b" \\', '"a \\"b\\" \\\\"'),
        ("é 中 <&>", '"é 中 <&>"'),
        ("\a\b\t\n\v\f\r", '"\\a\\b\\t\\n\\v\\f\\r"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("\u0080\u00a0\U000e0001", '"\\u0080\\u00a0\\U000e0001"'),
        (None, "null"),
        (True, "true"),
        (-1, "-1"),
        (["é", "a<b>&c\u2028"], '["é","a\\u003cb\\u003e\\u0026c\\u2028"]'),
        ({"a": {"b": 1}}, '{"a":{"b":1}}'),
    ],
)  # fmt: skip
def test_values_are_printed_as_go_does(value: Any, shown: str) -> None:
    assert invalid("f", value, "no").detail == f"Invalid value: {shown}: no"
    assert duplicate("f", value).detail == f"Duplicate value: {shown}"
    assert not_found("f", value).detail == f"Not found: {shown}"
    # Whoever refuses decides on the order, as upstream.
    told = unsupported("f", value, ("b", "a"), is_plain=True).detail
    assert told == f'Unsupported value: {shown}: supported values: "b", "a"'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", '"plain"'),
        ('a "b" \\', '"a \\"b\\" \\\\"'),
        ("é <&>", '"é \\u003c\\u0026\\u003e"'),
        ("\x00\x7f", '"\\u0000\x7f"'),
        (None, "null"),
        (True, "true"),
        (["Some"], '["Some"]'),
    ],
)
def test_values_of_enumerations_are_printed_as_json(value: Any, shown: str) -> None:
    assert unsupported("f", value, ("a",)).detail == f'Unsupported value: {shown}: supported values: "a"'


def test_numbers_of_too_many_and_too_long_are_told_in_the_singular_too() -> None:
    assert too_long("f", 1).detail == "Too long: may not be more than 1 byte"
    assert too_long("f", 2).detail == "Too long: may not be more than 2 bytes"
    assert too_many("f", 3, 1).detail == "Too many: 3: must have at most 1 item"
    assert too_many("f", 3, 2).detail == "Too many: 3: must have at most 2 items"
    assert invalid("f", OMITTED, "no").detail == "Invalid value: no"


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (invalid("f", 1, "no"), "FieldValueInvalid"),
        (required("f"), "FieldValueRequired"),
        (duplicate("f", 1), "FieldValueDuplicate"),
        (unsupported("f", 1, ()), "FieldValueNotSupported"),
        (forbidden("f", "no"), "FieldValueForbidden"),
        (not_found("f", 1), "FieldValueNotFound"),
        (too_long("f", 1), "FieldValueTooLong"),
        (too_many("f", 2, 1), "FieldValueTooMany"),
        (internal_error("f", "no"), "InternalError"),
    ],
)
def test_causes_have_the_reason_of_their_message(problem: Problem, reason: str) -> None:
    cause = Cause.of(problem.path, problem.detail)
    assert (cause.field, cause.message, cause.reason) == ("f", problem.detail, reason)
