"""Percentages are read whatever their length: Python's int() refuses thousands of digits."""

from __future__ import annotations

import pytest

from scheduler_core.admission.validation.workloads import at_most_all


@pytest.mark.parametrize(
    ("text", "is_too_much"),
    [
        ("100%", False),
        ("101%", True),
        ("0" * 5_000 + "50%", False),
        ("0" * 5_000 + "200%", True),
        ("9" * 5_000 + "%", True),
    ],
    ids=["all", "more", "leading zeros", "more with leading zeros", "thousands of digits"],
)
def test_more_than_all_is_refused(text: str, is_too_much: bool) -> None:
    assert [problem.path for problem in at_most_all("spec.maxUnavailable", text)] == [
        "spec.maxUnavailable"
    ] * is_too_much
