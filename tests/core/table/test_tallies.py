"""Tallies and what follows them per domain: told of every change they are what a fresh count would be."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.table.labels import NO_VALUE, LabelColumn
from scheduler_core.table.tallies import MAX_FOLLOWERS, DomainSums, RowTally

VALUES: list[str | None] = ["a", "a", "b", None, "c", "b", "host"]
N_ROWS = len(VALUES)


def zones(values: list[str | None]) -> LabelColumn:
    column = LabelColumn("zone", max(1, len(values)))
    for row, value in enumerate(values):
        column.write(row, {} if value is None else {"zone": value})
    column.show(len(values))
    return column


def _tally() -> RowTally:
    return RowTally(np.zeros(N_ROWS, dtype=np.int64))


def _told(sums: DomainSums) -> tuple[object, ...]:
    return sums.amounts.tolist(), sums.known.tolist(), sums.num_known, sums.total, sums.smallest()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.booleans(), min_size=N_ROWS, max_size=N_ROWS),
    st.lists(st.tuples(st.integers(0, N_ROWS - 1), st.integers(1, 3), st.integers(0, 3), st.booleans()), max_size=40),
)
def test_sums_follow_their_tally(counted: list[bool], steps: list[tuple[int, int, int, bool]]) -> None:
    """Pods come to rows and leave them; now and then somebody asks for the smallest, or for the rows over a limit."""
    column, tally = zones(VALUES), _tally()
    numbers = np.where(counted, column.ids, np.int32(NO_VALUE))
    sums = tally.follow("key", column, numbers, 1)
    seen = sums.rows_over(0)
    for row, amount, limit, comes in steps:
        if not comes:
            amount = -min(amount, int(tally.counts[row]))
        if amount:
            tally.change(row, amount)
        before = seen.copy()
        rows = sums.rows_over(limit)
        assert seen.tolist() == before.tolist(), "what was given out stays as it was"
        fresh = DomainSums(column, numbers, tally.counts, 1)
        assert rows.tolist() == (fresh.amounts > limit)[column.ids].tolist()
        assert sums.rows_at_most(limit).tolist() == (~rows).tolist()
        assert _told(sums) == _told(fresh)
        seen = rows


def test_many_changes_between_two_questions_are_all_seen() -> None:
    column, tally = zones(VALUES), _tally()
    sums = tally.follow("key", column, column.ids.copy(), 1)
    assert not sums.rows_over(1).any()
    for _ in range(30):
        tally.change(6, 1)
        tally.change(4, 1)
        tally.change(4, -1)
    assert sums.rows_over(1).tolist() == [value == "host" for value in VALUES]


def test_the_same_rows_are_the_same_array() -> None:
    column, tally = zones(VALUES), _tally()
    sums = tally.follow("key", column, column.ids.copy(), 1)
    tally.change(0, 2)
    rows = sums.rows_over(1)
    tally.change(1, 1)
    assert sums.rows_over(1) is rows, "domain a was over before"
    assert sums.rows_over(2) is rows, "and no other is over the other limit"
    assert sums.rows_at_most(2) is sums.rows_at_most(2)
    tally.change(4, 3)
    assert sums.rows_over(2) is not rows


def test_a_row_that_came_later_is_left_to_the_next_count() -> None:
    column, tally = zones(VALUES), _tally()
    sums = tally.follow("key", column, column.ids[:2].copy(), 1)
    tally.change(5, 1)
    assert (sums.total, tally.counts[5]) == (0, 1)


def test_followers_least_recently_asked_for_are_given_up() -> None:
    column, tally = zones(VALUES), _tally()
    for number in range(MAX_FOLLOWERS):
        tally.follow(number, column, column.ids.copy(), 1)
    assert tally.follower(0) is not None
    tally.follow("one more", column, column.ids.copy(), 1)
    assert tally.follower(0) is not None
    assert tally.follower(1) is None
