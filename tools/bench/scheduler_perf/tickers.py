"""Things that happen again and again beside the operations: churn, deletion at a rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

SECOND_US = 1_000_000


@dataclass(slots=True)
class _Ticker:
    next_at: int
    every_us: int
    tick: Callable[[], bool]


@dataclass(slots=True)
class Tickers:
    """All of one cluster, by its clock."""

    _all: list[_Ticker] = field(default_factory=list)

    def add(self, now: int, seconds: float, tick: Callable[[], bool]) -> None:
        """Call `tick` at this interval until it says that it is over."""
        every_us = max(int(seconds * SECOND_US), 1)
        self._all.append(_Ticker(now + every_us, every_us, tick))

    def next_at(self) -> int | None:
        return min((ticker.next_at for ticker in self._all), default=None)

    def fire(self, now: int) -> None:
        """Call all that are due, each as often as it was since it was called last."""
        for ticker in list(self._all):
            while ticker.next_at <= now:
                ticker.next_at += ticker.every_us
                if ticker.tick():
                    self._all.remove(ticker)
                    break
