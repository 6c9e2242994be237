"""What steps remember of steps before: an attempt made again, or the same warning, is counted instead of stored."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """What was stored of a pod's last attempt: the same decision made again is counted, not stored again."""

    digest: bytes
    seq: int
    seen_at: int = 0  # when it was made last


# An attempt not made for longer is stored anew, and retention leaves what is younger alone: so a repeat never counts
# on a row that was cleared away.
REPEAT_WITHIN_US = 10 * 60 * 1_000_000
# Source: client-go v0.34.1, tools/events: a series ends when it had no event for six minutes.
SERIES_WITHIN_US = 6 * 60 * 1_000_000

SeriesKey = tuple[str, str, str, str, str]  # uid, type, reason, action, reporter: the note is no part


@dataclass(slots=True)
class Series:
    """An event that may be seen again: its position, how often it was seen, and when last."""

    seq: int
    count: int
    seen_at: int


@dataclass(slots=True)
class Remembered:
    """What steps remember of steps before: last attempts by pod uid, and series of warnings.

    Only warnings repeat; a pod is scheduled once. What belongs to a pod that left is dropped.
    """

    attempts: dict[str, LastAttempt] = field(default_factory=dict)
    series: dict[SeriesKey, Series] = field(default_factory=dict)
    _sweep_at: int = 1_000

    def attempt_repeated(self, uid: str, attempt_digest: bytes, at: int) -> int | None:
        """The position of the stored attempt this one repeats, which it does from now on."""
        last = self._repeated(uid, attempt_digest, at)
        if last is None:
            return None
        self.attempts[uid] = LastAttempt(attempt_digest, last.seq, at)
        return last.seq

    def would_repeat(self, uid: str, attempt_digest: bytes, at: int) -> bool:
        """Whether `attempt_repeated` would find one."""
        return self._repeated(uid, attempt_digest, at) is not None

    def _repeated(self, uid: str, attempt_digest: bytes, at: int) -> LastAttempt | None:
        last = self.attempts.get(uid)
        if last is None or last.digest != attempt_digest or at - last.seen_at > REPEAT_WITHIN_US:
            return None
        return last

    def event_counted(self, key: SeriesKey, at: int) -> Series | None:
        """Return the series that this event continues, with its count raised."""
        series = self.series.get(key)
        if series is None or at - series.seen_at > SERIES_WITHIN_US:
            return None
        series.count += 1
        series.seen_at = at
        return series

    def event_stored(self, key: SeriesKey, seq: int, at: int) -> None:
        """A series begins."""
        self.series[key] = Series(seq, 1, at)
        if len(self.series) >= self._sweep_at:
            self.series = {k: s for k, s in self.series.items() if at - s.seen_at <= SERIES_WITHIN_US}
            self._sweep_at = max(1_000, 2 * len(self.series))
