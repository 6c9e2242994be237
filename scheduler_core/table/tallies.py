"""Tallies: how many pods of some sort each row holds, and what that comes to per domain of a label.

A tally is made by counting all pods once; from then on a pod that comes or goes changes the tallies that count it, and
the sums per domain that follow these. Readers write nothing: a what-if is written on top
(`domains.TalliedDomains`). Domains and the rows that count are those of a version of the nodes: when a node object
changes, the sums are recomputed before they are read.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np

from scheduler_core.lru import LruDict
from scheduler_core.table.growth import BoolArray, Int32Array, Int64Array, grown
from scheduler_core.table.labels import NO_VALUE, LabelColumn

MAX_FOLLOWERS: Final = 32  # sums per domain of one tally, for different labels or different rows that count

_MANY_CHANGES: Final = 16  # as many domains are looked at one by one, more all together


class RowTally:
    """`counts`: (capacity,) int64, pods by row, zero beyond the rows in use."""

    __slots__ = ("_followers", "counts")

    counts: Int64Array

    def __init__(self, counts: Int64Array) -> None:
        self.counts = counts
        self._followers: LruDict[Hashable, DomainSums] = LruDict(MAX_FOLLOWERS)

    def change(self, row: int, amount: int) -> None:
        """Add this number of counted pods to the row."""
        self.counts[row] += amount
        for sums in self._followers.values():
            sums.change(row, amount)

    def resize(self, capacity: int) -> None:
        self.counts = grown(self.counts, capacity)

    def follower(self, key: Hashable) -> DomainSums | None:
        """The sums that follow under the key."""
        return self._followers.use(key)

    def follow(self, key: Hashable, column: LabelColumn, numbers: Int32Array, nodes_version: int) -> DomainSums:
        """Sums that follow every change from now on, in place of those under the key."""
        sums = DomainSums(column, numbers, self.counts[: len(numbers)], nodes_version)
        self._followers[key] = sums
        return sums


class DomainSums:
    """A tally per domain; a domain is known when a row that counts is in it.

    `amounts`: (n_values + 1,) int64 by number of the value in `column`, 0 at the end and where not `known`; never
    negative. `total` is their sum. `nodes_version` is the version of the nodes it is true for.
    """

    __slots__ = (
        "_changed",
        "_limit",
        "_mask",
        "_num_smallest",
        "_numbers",
        "_others",
        "_over",
        "_rows_in",
        "_smallest",
        "amounts",
        "column",
        "known",
        "lacking",
        "nodes_version",
        "num_known",
        "total",
    )

    def __init__(self, column: LabelColumn, numbers: Int32Array, counts: Int64Array, nodes_version: int) -> None:
        """`numbers`, `counts`: (n_rows,); the number of the domain each row counts for, NO_VALUE where for none."""
        n_values = len(column.values)
        in_domain = numbers != NO_VALUE
        self.column = column
        self.nodes_version = nodes_version
        self._numbers = numbers
        places = numbers[in_domain]
        # bincount adds floats: exact for sums below 2^53.
        sums = np.bincount(places, weights=counts[in_domain], minlength=n_values + 1)
        self.amounts: Int64Array = sums.astype(np.int64)
        self.known: BoolArray = np.bincount(places, minlength=n_values + 1) > 0
        self.num_known = int(np.count_nonzero(self.known))
        self.total = int(self.amounts.sum())
        # Which rows lack the label; None when no row does.
        lacking = column.ids == NO_VALUE
        self.lacking: BoolArray | None = lacking if lacking.any() else None
        self._rows_in = np.bincount(column.ids[~lacking], minlength=n_values + 1)
        self._smallest = 0
        self._num_smallest = 0  # known domains with the smallest amount; 0: must be looked for
        self._limit = 0
        self._over: BoolArray = np.zeros(0, dtype=np.bool_)
        self._mask: BoolArray | None = None  # of the rows whose domain is over the limit, as of before `_changed`
        self._changed: list[int] = []  # rows
        self._others = (self._over, self._over)  # a mask, and the rows that are not in it

    def change(self, row: int, amount: int) -> None:
        if row >= len(self._numbers):
            return  # the row is new, and so is the version of the nodes
        number = self._numbers.item(row)
        if number == NO_VALUE:
            return
        before = self.amounts.item(number)
        after = before + amount
        self.amounts[number] = after
        self.total += amount
        if self._num_smallest:
            if after < self._smallest:
                self._smallest, self._num_smallest = after, 1
            elif before == self._smallest:
                self._num_smallest -= 1
            elif after == self._smallest:
                self._num_smallest += 1
        if self._mask is not None:
            if len(self._changed) < _MANY_CHANGES:
                self._changed.append(row)
            else:
                self._mask = None

    def smallest(self) -> tuple[int, int]:
        """The smallest amount of a known domain and how many have it; (0, 0) when there is none."""
        if not self._num_smallest and self.num_known:
            amounts = self.amounts[:-1] if self.num_known == len(self.amounts) - 1 else self.amounts[self.known]
            self._smallest = int(amounts.min())
            self._num_smallest = int(np.count_nonzero(amounts == self._smallest))
        return (self._smallest, self._num_smallest) if self.num_known else (0, 0)

    def rows_over(self, limit: int) -> BoolArray:
        """Rows whose domain has more than the limit (≥ 0), shape (n_rows,); the same array while nothing changed."""
        if self._mask is not None and limit == self._limit:
            if self._changed:
                self._mask = self._with_changes(self._mask)
        else:
            over = self.amounts > limit
            if self._mask is None or over.tobytes() != self._over.tobytes():
                self._mask = over.take(self.column.ids)
            self._over = over
        self._limit = limit
        self._changed.clear()
        return self._mask

    def rows_at_most(self, limit: int) -> BoolArray:
        """The other rows, those in no domain among them; the same array while nothing changed."""
        over = self.rows_over(limit)
        if self._others[0] is not over:
            self._others = (over, ~over)
        return self._others[1]

    def _with_changes(self, mask: BoolArray) -> BoolArray:
        """The mask as of now, a new array where it changed: who has the old one may still read it."""
        given_out = mask
        ids = self.column.ids
        for row in self._changed:
            number = self._numbers.item(row)
            is_over = self.amounts.item(number) > self._limit
            if is_over == self._over.item(number):
                continue
            self._over[number] = is_over
            if self._rows_in.item(number) > 1 or ids.item(row) != number:
                mask = mask ^ (ids == number)
                continue
            if mask is given_out:
                mask = mask.copy()
            mask[row] = is_over
        return mask
