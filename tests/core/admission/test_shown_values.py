"""Values in the messages of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.admission.context import duplicate, invalid, not_found, unsupported


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
    assert unsupported("f", value, ("b", "a")).detail == f'Unsupported value: {shown}: supported values: "b", "a"'
