"""How fast the engine may write, where its configuration says so: a token bucket on the engine's time.

Each binding and each patch of a status takes a token. Without one no cycle begins, and pods wait in the queue. Writes
that follow from no cycle, as bindings after a Permit wait, are made in any case; then the next cycle waits longer.
Source: kubernetes v1.34.1, client-go rest.Config (QPS, Burst), util/flowcontrol.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from scheduler_core.config.types import ClientConnection

DEFAULT_QPS: Final = 50.0  # where only the burst is named
DEFAULT_BURST: Final = 100  # where only the rate is
_TOKEN: Final = 1_000_000  # tokens are counted in millionths


@dataclass(slots=True)
class WriteLimit:
    """`qps` tokens a second, at most `burst` of them. Times are microseconds."""

    qps: float
    burst: int
    level: int = 0  # millionths of tokens; below zero after writes that could not wait
    at: int | None = None  # when the level was that; None: never, the bucket is full

    @staticmethod
    def of(connection: ClientConnection) -> WriteLimit | None:
        """The limit of a configuration; None where it names none, or a negative rate."""
        qps, burst = connection.qps, connection.burst
        if (qps is None and burst is None) or (qps is not None and qps < 0):
            return None
        return WriteLimit(DEFAULT_QPS if qps is None else qps, DEFAULT_BURST if burst is None else burst)

    def ready_at(self, now: int) -> int:
        """Return when the next cycle may begin: `now`, or when its token will be there."""
        missing = _TOKEN - self._level_at(now)
        return now if missing <= 0 else now + math.ceil(missing / self.qps)

    def spend(self, now: int, writes: int) -> None:
        """Take tokens for writes that are made."""
        if writes:
            self.level, self.at = self._level_at(now) - writes * _TOKEN, now

    def _level_at(self, now: int) -> int:
        full = self.burst * _TOKEN
        return full if self.at is None else min(full, self.level + math.floor((now - self.at) * self.qps))
