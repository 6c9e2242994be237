"""Sets of completion indexes are what sets of numbers are, however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.controllers.workloads.job_indexes import COMPLETION_INDEX, Indexes, completion_index
from tests.builders import make_pod
from tests.cases import cases

INDEXES = st.sets(st.integers(0, 30))


@given(INDEXES, INDEXES, st.integers(0, 35))
def test_spans_are_sets(one: set[int], other: set[int], completions: int) -> None:
    indexes, others = Indexes().plus(one), Indexes().plus(other)
    assert len(indexes) == len(one)
    assert [index for index in range(35) if index in indexes] == sorted(one)
    assert indexes.common(others) == len(one & other)
    assert indexes.merged(others.spans) == Indexes().plus(one | other)
    assert list(indexes.missing(completions)) == [index for index in range(completions) if index not in one]
    assert Indexes.parse(str(indexes), completions) == Indexes().plus(index for index in one if index < completions)


@cases(
    "text, want",
    ("none", "", ""),
    ("three in a row", "0,1,2", "0-2"),
    ("two in a row are listed", "0,1", "0,1"),
    ("as written", "1,3-5,7", "1,3-5,7"),
    ("what cannot be read is left out", "1,x,3", "1,3"),
    ("cut at the completions", "8-99", "8,9"),
)
def test_texts_are_read(text: str, want: str) -> None:
    assert str(Indexes.parse(text, 10)) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [("0", 0), ("12", 12), ("-1", None), ("x", None), ("", None), ("99999999999999999999", None)],
)
def test_index_of_a_pod(text: str, want: int | None) -> None:
    assert completion_index(make_pod("p").annotation({COMPLETION_INDEX: text}).build()) == want
