"""Amounts per topology domain: a domain is one value of a node label, a node without the label is in none.

Two forms with the same meaning: by value, as a walk over nodes collects them, and the sums of tallies, which are shared
by all who ask and updated from cycle to cycle. Amounts are pods, or weights of pods, and may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scheduler_core.table.growth import BoolArray, Int32Array, Int64Array
from scheduler_core.table.labels import LabelColumn
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.tallies import DomainSums, RowTally

Numbers = npt.NDArray[np.int32] | npt.NDArray[np.intp]


class Domains(Protocol):
    """The amounts of one label key."""

    def of(self, value: str) -> int:
        """The amount of the domain; 0 for one that is not known."""
        ...

    def of_numbers(self, column: LabelColumn, numbers: Numbers) -> Int64Array:
        """The amounts of domains by number in the column of the key; 0 for NO_VALUE."""
        ...

    def rows_over(self, column: LabelColumn, limit: int) -> BoolArray:
        """Rows whose domain has more than the limit (≥ 0), shape (n_rows,); not to be written to."""
        ...

    def rows_at_most(self, column: LabelColumn, limit: int) -> BoolArray:
        """The other rows, those in no domain among them."""
        ...

    def rows_without(self, column: LabelColumn) -> BoolArray | None:
        """Rows in no domain, shape (n_rows,), not to be written to; None when there are none."""
        ...

    def add(self, value: str, amount: int) -> None:
        """The domain has so much more; it is known from now on."""
        ...

    def __len__(self) -> int:
        """How many domains are known, those with amount 0 included."""
        ...

    def smallest(self) -> int | None:
        """The smallest amount of a known domain; None when there is none."""
        ...

    def has_any(self) -> bool:
        """Whether any amount is not 0."""
        ...

    def total(self) -> int:
        """All amounts added up."""
        ...

    def clone(self) -> Domains: ...


@dataclass(slots=True)
class DomainsByValue:
    amounts: dict[str, int] = field(default_factory=dict)
    _smallest: int | None = None  # of `amounts`, where it has been asked since the last change

    def of(self, value: str) -> int:
        return self.amounts.get(value, 0)

    def of_numbers(self, column: LabelColumn, numbers: Numbers) -> Int64Array:
        return self._by_number(column).take(numbers)

    def rows_over(self, column: LabelColumn, limit: int) -> BoolArray:
        over: BoolArray = self._by_number(column) > limit
        return over.take(column.ids)

    def rows_at_most(self, column: LabelColumn, limit: int) -> BoolArray:
        return ~self.rows_over(column, limit)

    def rows_without(self, column: LabelColumn) -> BoolArray | None:
        return ~column.has_key

    def add(self, value: str, amount: int) -> None:
        self.amounts[value] = self.amounts.get(value, 0) + amount
        self._smallest = None

    def __len__(self) -> int:
        return len(self.amounts)

    def smallest(self) -> int | None:
        if self._smallest is None:
            self._smallest = min(self.amounts.values(), default=None)
        return self._smallest

    def has_any(self) -> bool:
        return any(self.amounts.values())

    def total(self) -> int:
        return sum(self.amounts.values())

    def clone(self) -> DomainsByValue:
        return DomainsByValue(dict(self.amounts), self._smallest)

    def _by_number(self, column: LabelColumn) -> Int64Array:
        by_number = [0 if value is None else self.of(value) for value in column.values.values]
        return np.array([*by_number, 0], dtype=np.int64)


@dataclass(slots=True)
class TalliedDomains:
    """Sums of tallies of one label, each so many times, and on top of them what if changes of its own.

    The sums are shared and only read. All of them know the same domains.
    """

    sums: Sequence[DomainSums]
    times: Sequence[int]
    _changes: dict[int, int] = field(default_factory=dict)  # by number of the value

    def of(self, value: str) -> int:
        number = self.sums[0].column.values.id_of.get(value)
        return 0 if number is None else self._of_number(number)

    def of_numbers(self, column: LabelColumn, numbers: Numbers) -> Int64Array:
        if self._changes or (len(self.sums) > 1 and len(self.sums[0].amounts) < len(numbers)):
            return self._by_number().take(numbers)
        amounts = self._times(0, self.sums[0].amounts.take(numbers))
        for index in range(1, len(self.sums)):
            amounts += self._times(index, self.sums[index].amounts.take(numbers))
        return amounts

    def rows_over(self, column: LabelColumn, limit: int) -> BoolArray:
        if self._is_plain(limit):
            return self.sums[0].rows_over(limit)
        over: BoolArray = self._by_number() > limit
        return over.take(column.ids)

    def rows_at_most(self, column: LabelColumn, limit: int) -> BoolArray:
        return self.sums[0].rows_at_most(limit) if self._is_plain(limit) else ~self.rows_over(column, limit)

    def rows_without(self, column: LabelColumn) -> BoolArray | None:
        return self.sums[0].lacking

    def add(self, value: str, amount: int) -> None:
        number = self.sums[0].column.values.id_of[value]  # every value some node has is numbered
        self._changes[number] = self._changes.get(number, 0) + amount

    def __len__(self) -> int:
        known = self.sums[0].known
        return self.sums[0].num_known + sum(not known.item(number) for number in self._changes)

    def smallest(self) -> int | None:
        sums = self.sums[0]
        if len(self.sums) > 1 or self.times[0] != 1:
            return self._smallest_of(self._by_number())
        smallest, holders = sums.smallest()
        if not self._changes:
            return smallest if holders else None
        touched = sum(sums.known.item(number) and sums.amounts.item(number) == smallest for number in self._changes)
        if touched == holders:
            return self._smallest_of(self._by_number())
        return min(smallest, *map(self._of_number, self._changes))

    def has_any(self) -> bool:
        if not self._changes and all(times > 0 for times in self.times):
            return any(sums.total for sums in self.sums)
        return bool(self._by_number().any())

    def total(self) -> int:
        of_sums = sum(sums.total * times for sums, times in zip(self.sums, self.times, strict=True))
        return of_sums + sum(self._changes.values())

    def clone(self) -> TalliedDomains:
        return TalliedDomains(self.sums, self.times, dict(self._changes))

    def _is_plain(self, limit: int) -> bool:
        """Whether the first sums alone say which domains are over the limit."""
        if self._changes or len(self.sums) > 1:
            return False
        return self.times[0] == 1 or (limit == 0 and self.times[0] > 0)

    def _times(self, index: int, amounts: Int64Array) -> Int64Array:
        times = self.times[index]
        return amounts if times == 1 else amounts * times

    def _of_number(self, number: int) -> int:
        amount = sum(sums.amounts.item(number) * times for sums, times in zip(self.sums, self.times, strict=True))
        return amount + self._changes.get(number, 0)

    def _by_number(self) -> Int64Array:
        amounts = self.sums[0].amounts * self.times[0]
        for sums, times in zip(self.sums[1:], self.times[1:], strict=True):
            amounts += sums.amounts * times
        for number, change in self._changes.items():
            amounts[number] += change
        return amounts

    def _smallest_of(self, amounts: Int64Array) -> int | None:
        known = self.sums[0].known
        if self._changes:
            known = known.copy()
            known[list(self._changes)] = True
        return int(amounts[known].min()) if known.any() else None


class Scope(Protocol):
    """Which rows count, and for which domain of a label; equal scopes say the same."""

    @property
    def topology_key(self) -> str: ...

    def numbers(self, table: NodeTable, column: LabelColumn) -> Int32Array:
        """Of each row the number of its domain in the column of the key, NO_VALUE where it does not count; a new array.

        Of the table nothing but what node objects say is asked.
        """
        ...

    def __hash__(self) -> int: ...


def sums_by_domain(table: NodeTable, tally: RowTally, scope: Scope) -> DomainSums:
    """The tally per domain, over the rows that count."""
    column = table.label(scope.topology_key)
    sums = tally.follower(scope)
    if sums is None or sums.nodes_version != table.nodes_version or sums.column is not column:
        sums = tally.follow(scope, column, scope.numbers(table, column), table.nodes_version)
    return sums
