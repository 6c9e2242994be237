"""Amounts by topology domain: the form by value and the form by number say the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.table.domains import Domains, DomainsByNumber, DomainsByValue
from scheduler_core.table.labels import LabelColumn

_VALUES = st.sampled_from(["a", "b", "c", ""])


def _column(values: list[str | None]) -> LabelColumn:
    column = LabelColumn("zone", max(1, len(values)))
    for row, value in enumerate(values):
        column.write(row, {} if value is None else {"zone": value})
    column.show(len(values))
    return column


def _both(values: list[str | None], amounts: list[int]) -> tuple[Domains, Domains, LabelColumn]:
    column, by_value = _column(values), DomainsByValue()
    for value, amount in zip(values, amounts, strict=True):
        if value is not None:
            by_value.add(value, amount)
    return by_value, DomainsByNumber.counted(column, column.ids, np.array(amounts, dtype=np.int64)), column


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.none() | _VALUES, st.integers(-3, 3)), max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from([-1, 1])), max_size=4),
)
def test_both_forms_agree_after_any_changes(rows: list[tuple[str | None, int]], changes: list[tuple[int, int]]) -> None:
    values = [value for value, _ in rows]
    by_value, by_number, column = _both(values, [amount for _, amount in rows])
    present = [value for value in values if value is not None]
    for index, amount in changes:
        if present:
            value = present[index % len(present)]
            by_value.add(value, amount)
            by_number.add(value, amount)
    for one in (by_value, by_number, by_value.clone(), by_number.clone()):
        assert [one.of(value) for value in ("a", "b", "c", "", "z")] == [
            by_value.of(value) for value in ("a", "b", "c", "", "z")
        ]
        assert (len(one), one.smallest(), one.has_any()) == (len(by_value), by_value.smallest(), by_value.has_any())
        assert one.of_rows(column).tolist() == [0 if value is None else by_value.of(value) for value in values]


def test_a_clone_goes_its_own_way() -> None:
    for domains in _both(["a", "b"], [1, 2])[:2]:
        copy = domains.clone()
        copy.add("a", 5)
        assert (domains.of("a"), copy.of("a")) == (1, 6)
        assert (domains.smallest(), copy.smallest()) == (1, 2)


def test_domains_without_rows_know_no_smallest() -> None:
    for domains in _both([None], [3])[:2]:
        assert (len(domains), domains.smallest(), domains.has_any()) == (0, None, False)


def test_a_domain_that_lost_everything_is_still_known() -> None:
    for domains in _both(["a"], [1])[:2]:
        domains.add("a", -1)
        assert (len(domains), domains.smallest(), domains.has_any()) == (1, 0, False)
