"""How many cycles a step may run: all, some a second, none, or as many as somebody asked to step."""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.cluster.choices import Pace


@dataclass(frozen=True, slots=True)
class PaceSetting:
    """The pace of a cluster as its row tells; `steps_waiting` cycles were asked for and not run yet."""

    pace: str
    rate: float | None
    steps_waiting: int


@dataclass(slots=True)
class Allowance:
    """Cycles saved up while the pace is slow; at most one second's worth, at least one."""

    tokens: float = 1.0
    filled_at: float | None = None

    def cycles(self, setting: PaceSetting, *, monotonic: float, most: int) -> int:
        """How many cycles the next step may run."""
        if setting.pace == Pace.RUN:
            return most
        if setting.pace == Pace.PAUSE:
            return min(most, setting.steps_waiting)
        self._fill(setting.rate or 1.0, monotonic)
        return min(most, int(self.tokens) + setting.steps_waiting)

    def spend(self, cycles: int) -> None:
        """These cycles were run; what was asked for by stepping is taken off by the caller."""
        self.tokens = max(0.0, self.tokens - cycles)

    def seconds_until_next(self, setting: PaceSetting) -> float | None:
        """How long until another cycle may run; None when only somebody's word changes that."""
        if setting.pace == Pace.RUN or setting.steps_waiting > 0:
            return 0.0
        if setting.pace == Pace.PAUSE:
            return None
        return max(0.0, (1.0 - self.tokens) / (setting.rate or 1.0))

    def _fill(self, rate: float, monotonic: float) -> None:
        if self.filled_at is not None:
            self.tokens = min(max(1.0, rate), self.tokens + (monotonic - self.filled_at) * rate)
        self.filled_at = monotonic
