"""Shared arithmetic: Go's division, default normalising, broken lines; what is worked out once per object."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.plugins.helpers import IdentityMemo, broken_linear, default_normalize, int_div
from tests.cases import cases


@pytest.mark.parametrize(
    ("dividend", "divisor", "want"),
    [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (0, 5, 0), (-1650, 40, -41), (2**62 + 1, 3, (2**62 + 1) // 3)],
)
def test_int_div_truncates_toward_zero(dividend: int, divisor: int, want: int) -> None:
    assert int_div(dividend, divisor) == want


@cases(
    "raw, reverse, want",
    ("the largest becomes 100, others are truncated", [80, 30, 0], False, [100, 37, 0]),
    ("reversed, the smallest is the best", [0, 1, 3], True, [100, 67, 0]),
    ("all zero stay zero", [0, 0], False, [0, 0]),
    ("all zero reversed are all best", [0, 0], True, [100, 100]),
)
def test_default_normalize_scales_by_the_largest(raw: list[int], reverse: bool, want: list[int]) -> None:
    scores = np.array(raw, dtype=np.int64)
    default_normalize(scores, reverse=reverse)
    assert scores.tolist() == want


@cases(
    "x, want",
    ("flat before the first point", -5, 100),
    ("at the first point", 0, 100),
    ("a falling line truncates toward zero, not down", 33, 59),
    ("at the second point", 40, 50),
    ("flat after the last point", 90, 50),
)
def test_broken_linear_follows_the_points(x: int, want: int) -> None:
    assert broken_linear([(0, 100), (40, 50)], x) == want


def test_identity_memo_works_out_each_object_once_until_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IdentityMemo, "_LIMIT", 2)
    asked: list[int] = []
    memo = IdentityMemo(lambda values: asked.append(values[0]) or -values[0])  # type: ignore[func-returns-value]
    first, second, third = [1], [1], [3]
    assert [memo(each) for each in (first, first, second)] == [-1, -1, -1]
    assert asked == [1, 1]  # equal objects are asked each
    assert [memo(each) for each in (third, first)] == [-3, -1]
    assert asked == [1, 1, 3, 1]
