"""The one cache of the core: a dict with a limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruDict(dict[K, V], Generic[K, V]):
    """A dict of at most `limit` entries; one more drops the entry that was set, or used, longest ago.

    Only `use` counts as a use: `get` and `[]` are as quick as a dict's. Lowering `limit` takes effect at the next
    entry. `dropped` hears of each value that goes.
    """

    __slots__ = ("_dropped", "limit")

    def __init__(self, limit: int, dropped: Callable[[V], None] | None = None) -> None:
        super().__init__()
        self.limit = limit
        self._dropped = dropped

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self:
            while len(self) >= self.limit:
                self.drop_oldest()
        super().__setitem__(key, value)

    def use(self, key: K) -> V | None:
        """The value, which becomes the newest; None when there is none."""
        if key not in self:
            return None
        value = self.pop(key)
        dict.__setitem__(self, key, value)
        return value

    def drop_oldest(self) -> V:
        """Drop the entry that was set or used longest ago; KeyError when there is none."""
        for key in self:
            value = self.pop(key)
            if self._dropped is not None:
                self._dropped(value)
            return value
        raise KeyError("empty")
