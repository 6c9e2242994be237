"""Amounts per topology domain: a domain is one value of a node label, a node without the label is in none.

Two forms with the same meaning: by value, as a walk over nodes collects them, and by the value's number in the label
column, as sums over all rows give them. Amounts are pods, or weights of pods, and may be negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from scheduler_core.table.growth import BoolArray, Int32Array, Int64Array
from scheduler_core.table.labels import NO_VALUE, LabelColumn


class Domains(Protocol):
    """The amounts of one label key."""

    def of(self, value: str) -> int:
        """The amount of the domain; 0 for one that is not known."""
        ...

    def of_rows(self, column: LabelColumn) -> Int64Array:
        """The amount of each row's domain, shape (n_rows,); 0 for rows in none. `column` is that of the key."""
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

    def clone(self) -> Domains: ...


@dataclass(slots=True)
class DomainsByValue:
    amounts: dict[str, int] = field(default_factory=dict)
    _smallest: int | None = None  # of `amounts`, where it has been asked since the last change

    def of(self, value: str) -> int:
        return self.amounts.get(value, 0)

    def of_rows(self, column: LabelColumn) -> Int64Array:
        by_number = [0 if value is None else self.of(value) for value in column.values.values]
        amounts: Int64Array = np.array([*by_number, 0], dtype=np.int64)[column.ids]
        return amounts

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

    def clone(self) -> DomainsByValue:
        return DomainsByValue(dict(self.amounts), self._smallest)


@dataclass(slots=True)
class DomainsByNumber:
    """`amounts`: (n_values + 1,) int64 by number of the value in `numbers`, 0 at the end and where not `known`."""

    numbers: Mapping[str, int]
    amounts: Int64Array
    known: BoolArray
    _smallest: int | None = None

    @staticmethod
    def counted(column: LabelColumn, numbers: Int32Array, amounts: Int64Array) -> DomainsByNumber:
        """What these domains have, added up: of each entry the number of its value, or none, and its amount."""
        in_domain = numbers != NO_VALUE
        if not in_domain.all():
            numbers, amounts = numbers[in_domain], amounts[in_domain]
        n_values = len(column.values)
        # bincount adds floats: exact for sums below 2^53.
        sums = np.bincount(numbers, weights=amounts, minlength=n_values + 1).astype(np.int64)
        return DomainsByNumber(column.values.id_of, sums, np.bincount(numbers, minlength=n_values + 1) > 0)

    def of(self, value: str) -> int:
        number = self.numbers.get(value)
        return 0 if number is None else int(self.amounts[number])

    def of_rows(self, column: LabelColumn) -> Int64Array:
        amounts: Int64Array = self.amounts[column.ids]
        return amounts

    def add(self, value: str, amount: int) -> None:
        number = self.numbers[value]  # every value some node has is numbered
        self.amounts[number] += amount
        self.known[number] = True
        self._smallest = None

    def __len__(self) -> int:
        return int(np.count_nonzero(self.known))

    def smallest(self) -> int | None:
        if self._smallest is None:
            amounts: Int64Array = self.amounts[self.known]
            self._smallest = int(amounts.min()) if len(amounts) else None
        return self._smallest

    def has_any(self) -> bool:
        return bool(self.amounts.any())

    def clone(self) -> DomainsByNumber:
        return DomainsByNumber(self.numbers, self.amounts.copy(), self.known.copy(), self._smallest)
