"""What the core may call of its surroundings: durations for the trace, measurements, an extender, the dice.

None of these decides by itself: a stopwatch never reaches a decision, an extender's answers are
recorded with the attempt, and every draw is keyed so that order and restarts cannot shift it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol

LogSink = Callable[[str, dict[str, object]], None]
"""(message, fields), upstream's words. A record logged as an error has a field `err`: its text, or None without one."""


def discard_log(message: str, fields: dict[str, object]) -> None:
    """The sink of those who do not listen."""


class Stopwatch(Protocol):
    """Durations in nanoseconds, for the trace only."""

    def __call__(self) -> int: ...


def stopped_watch() -> int:
    """The stopwatch of replays and tests: no time passes."""
    return 0


class Recorder(Protocol):
    """Measurements for metrics: of no decision, no trace. Names are the metrics', without prefix and unit."""

    def samples_plugins(self) -> bool:
        """Whether the plugins of the cycle that begins are timed one by one."""
        ...

    def duration(self, metric: str, labels: tuple[str, ...], nanoseconds: int) -> None:
        """One observation of a histogram of durations."""
        ...

    def value(self, metric: str, labels: tuple[str, ...], value: int) -> None:
        """One observation of a histogram of anything else."""
        ...


class ExtenderTransport(Protocol):
    """The way to one extender and back."""

    def call(self, verb: str, payload: bytes) -> bytes:
        """What the extender answers to a JSON payload; raises ExtenderError when it cannot be asked or refuses."""
        ...


class Draws(Protocol):
    """Keyed chance: the same key always gives the same number."""

    def below(self, bound: int, *, pod_key: str, attempt: int, purpose: str) -> int:
        """A number in [0, bound), uniform over keys."""
        ...


class SeededDraws:
    """Draws of one run: a hash of (seed, pod, attempt, purpose), as a number below the bound."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def below(self, bound: int, *, pod_key: str, attempt: int, purpose: str) -> int:
        text = f"{self.seed}\x00{pod_key}\x00{attempt}\x00{purpose}".encode()
        # 128 bits over any bound in use leave a bias below 2^-90.
        return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big") % bound


class FirstDraws:
    """The recorded policy of the golden data: always the first."""

    def below(self, bound: int, *, pod_key: str, attempt: int, purpose: str) -> int:
        return 0
