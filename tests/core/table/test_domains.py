"""Amounts by topology domain: the form by value and the sums of tallies say the same, what-ifs included."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.table.domains import Domains, DomainsByValue, TalliedDomains
from scheduler_core.table.labels import LabelColumn
from scheduler_core.table.tallies import DomainSums
from tests.core.table.test_tallies import zones

_VALUES = st.sampled_from(["a", "b", "c", ""])
Row = tuple[str | None, int]


def _sums(column: LabelColumn, counts: list[int]) -> DomainSums:
    return DomainSums(column, column.ids.copy(), np.array(counts, dtype=np.int64), nodes_version=1)


def _both(rows: list[Row], times: tuple[int, ...] = (1,)) -> tuple[Domains, Domains, LabelColumn]:
    """The counts of the rows, so many times for each of `times`."""
    column, by_value = zones([value for value, _ in rows]), DomainsByValue()
    for value, count in rows:
        if value is not None:
            by_value.add(value, count * sum(times))
    counts = [count for _, count in rows]
    return by_value, TalliedDomains([_sums(column, counts) for _ in times], times), column


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(st.none() | _VALUES, st.integers(0, 3)), max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from([-1, 1])), max_size=4),
    st.sampled_from([(1,), (2,), (-3,), (1, 1), (5, -2)]),
)
def test_both_forms_agree_after_any_changes(
    rows: list[Row], changes: list[tuple[int, int]], times: tuple[int, ...]
) -> None:
    by_value, tallied, column = _both(rows, times)
    present = [value for value, _ in rows if value is not None]
    for index, amount in changes:
        if present:
            by_value.add(present[index % len(present)], amount)
            tallied.add(present[index % len(present)], amount)
    for one in (by_value, tallied, by_value.clone(), tallied.clone()):
        assert [one.of(value) for value in ("a", "b", "c", "", "z")] == [
            by_value.of(value) for value in ("a", "b", "c", "", "z")
        ]
        assert (len(one), one.smallest(), one.has_any()) == (len(by_value), by_value.smallest(), by_value.has_any())
        amounts = [0 if value is None else by_value.of(value) for value, _ in rows]
        assert one.of_numbers(column, column.ids).tolist() == amounts
        for limit in (0, 1, 3):
            assert one.rows_over(column, limit).tolist() == [amount > limit for amount in amounts]
            assert one.rows_at_most(column, limit).tolist() == [amount <= limit for amount in amounts]
        without = one.rows_without(column)
        lacking = [value is None for value, _ in rows]
        assert (without.tolist() if without is not None else [False] * len(rows)) == lacking


def test_a_clone_goes_its_own_way() -> None:
    for domains in _both([("a", 1), ("b", 2)])[:2]:
        copy = domains.clone()
        copy.add("a", 5)
        assert (domains.of("a"), copy.of("a")) == (1, 6)
        assert (domains.smallest(), copy.smallest()) == (1, 2)


def test_a_what_if_leaves_what_is_shared_alone() -> None:
    column = zones(["a", "b"])
    sums = _sums(column, [1, 2])
    TalliedDomains((sums,), (1,)).add("a", 5)
    assert sums.amounts.tolist() == [1, 2, 0]
    assert TalliedDomains((sums,), (1,)).of("a") == 1


def test_domains_without_rows_know_no_smallest() -> None:
    for domains in _both([(None, 3)])[:2]:
        assert (len(domains), domains.smallest(), domains.has_any()) == (0, None, False)


def test_a_domain_that_lost_everything_is_still_known() -> None:
    for domains in _both([("a", 1)])[:2]:
        domains.add("a", -1)
        assert (len(domains), domains.smallest(), domains.has_any()) == (1, 0, False)
