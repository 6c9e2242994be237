"""Small dense numbers for values that repeat: taint sets, label values.

A value keeps its number while somebody holds it; numbers of values nobody holds are given out again, so the
numbers stay small however long the cluster churns.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Interner(Generic[V]):
    """`values[id]` is the value of a number in use, or None; `id_of` the way back."""

    __slots__ = ("_free", "_holders", "id_of", "values")

    def __init__(self) -> None:
        self.values: list[V | None] = []
        self.id_of: dict[V, int] = {}
        self._holders: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        """One more than the largest number ever in use at once."""
        return len(self.values)

    def acquire(self, value: V, times: int = 1) -> int:
        """The value's number, held once more, or as often as is said."""
        number = self.id_of.get(value)
        if number is not None:
            self._holders[number] += times
            return number
        if self._free:
            number = self._free.pop()
            self.values[number] = value
            self._holders[number] = times
        else:
            number = len(self.values)
            self.values.append(value)
            self._holders.append(times)
        self.id_of[value] = number
        return number

    def holders(self, number: int) -> int:
        """How often the number is held."""
        return self._holders[number]

    def hold(self, number: int) -> None:
        """A number in use is held once more."""
        self._holders[number] += 1

    def release(self, number: int) -> None:
        """Held once less; the last holder frees the number."""
        self._holders[number] -= 1
        if self._holders[number] == 0:
            value = self.values[number]
            assert value is not None
            del self.id_of[value]
            self.values[number] = None
            self._free.append(number)
