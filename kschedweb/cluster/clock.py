"""The clock of a cluster, in microseconds. Leases, sessions and uploads have wall time instead.

    real      wall time, plus an offset after time was skipped
    factor    so many times as fast as the wall, at most
    fast      as fast as everything that is due can be done

A clock that is not real goes by steps: its time is stored, all processes read the same, and only the timekeeper
(`kschedweb.lifecycle.timekeeper`) moves it on, when everything due at the time has been done, and never past what is
due next. So things happen at their own times however fast the clock goes. A skip is a stretch of `fast` with an end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from kschedweb.cluster.choices import ClockMode
from kschedweb.cluster.models import ClockReading, Cluster
from kschedweb.common import bulk

SECOND = 1_000_000
LAST = 7_258_118_400 * SECOND  # 2200-01-01: no clock that goes by steps gets beyond
NEXT = 0  # as the end of a skip: whatever is due next
_TIME = f"SELECT clock_offset_us, clock_at_us FROM {Cluster._meta.db_table} WHERE id = %s"


def wall_us() -> int:
    """Wall time."""
    return time.time_ns() // 1000


def now_of(cluster_id: int) -> int:
    """The time in the cluster; wall time when there is none of that id."""
    (row,) = bulk.read_rows(_TIME, [cluster_id]) or [(0, None)]
    return reading(*row)


def reading(offset: int, at: int | None) -> int:
    """The time of a clock whose row has this offset, and this time if it goes by steps."""
    return wall_us() + offset if at is None else at


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock as its cluster's row has it; `at` and `wall`, of its last step, are None when it does not go by steps.

    `until` is where a skip ends, NEXT for the next thing that is due, None without a skip.
    """

    mode: str = ClockMode.REAL
    rate: float | None = None
    offset: int = 0
    at: int | None = None
    wall: int | None = None
    until: int | None = None

    @staticmethod
    def of(cluster: Cluster) -> Clock:
        """The clock of a row."""
        return Clock(
            cluster.clock_mode,
            cluster.clock_rate,
            cluster.clock_offset_us,
            cluster.clock_at_us,
            cluster.clock_wall_us,
            cluster.clock_until_us,
        )

    @property
    def is_stepped(self) -> bool:
        return self.at is not None

    def now(self, wall: int) -> int:
        """The time when it is `wall` on the wall."""
        return wall + self.offset if self.at is None else self.at

    def set(self, wall: int, mode: str, rate: float | None) -> Clock:
        """The clock in another mode from now on; a skip goes on to its end."""
        return self._settled(replace(self, mode=mode, rate=rate), wall)

    def skip(self, wall: int, until: int | None) -> Clock:
        """The clock with a skip to that time, NEXT for the next thing that is due; None ends one."""
        return self._settled(replace(self, until=until), wall)

    def _settled(self, changed: Clock, wall: int) -> Clock:
        """The changed clock with the time it had before."""
        now = self.now(wall)
        if changed.mode == ClockMode.REAL and changed.until is None:
            return replace(changed, at=None, wall=None, offset=now - wall)
        return replace(changed, at=now, wall=wall)

    def advanced(self, wall: int, due: int | None) -> Clock:
        """The clock, which goes by steps, after its next step; everything due until now has been done.

        `due` is when the next thing is, None when nothing is without a change from outside.
        """
        assert self.at is not None and self.wall is not None
        passed = max(0, wall - self.wall)
        if self.until == NEXT:
            at = self.at if due is None else max(self.at, min(due, LAST))
            return replace(self, at=at, wall=wall).skip(wall, None)
        if self.until is not None or self.mode == ClockMode.FAST:
            # With nothing due time passes as on the wall.
            target = self.at + passed if due is None and self.until is None else None
        else:
            target = self.at + round(passed * (self.rate or 1.0))
        ends = [time for time in (due, target, self.until) if time is not None]
        at = max(self.at, min(LAST, *ends))
        moved = replace(self, at=at, wall=wall)
        return moved.skip(wall, None) if self.until is not None and at >= self.until else moved

    def seconds_until(self, due: int | None) -> float | None:
        """In how many seconds on the wall that time can come; None for never."""
        if due is None:
            return None
        assert self.at is not None
        rate = self.rate or 1.0 if self.mode == ClockMode.FACTOR and self.until is None else None
        return 0.0 if rate is None else max(0.0, (due - self.at) / SECOND / rate)


def store(cluster_id: int, clock: Clock) -> None:
    """Write the clock into its cluster's row."""
    Cluster.objects.filter(pk=cluster_id).update(**columns(clock))


def columns(clock: Clock) -> dict[str, object]:
    """What the cluster's row has of a clock."""
    return {
        "clock_mode": clock.mode,
        "clock_rate": clock.rate,
        "clock_offset_us": clock.offset,
        "clock_at_us": clock.at,
        "clock_wall_us": clock.wall,
        "clock_until_us": clock.until,
    }


def reading_store(*, cluster_id: int, at: int, wall: int) -> None:
    """Keep when on the wall the cluster had that time."""
    ClockReading.objects.bulk_create(
        [ClockReading(cluster_id=cluster_id, at_us=at, wall_us=wall)], ignore_conflicts=True
    )


def wall_of(*, cluster_id: int, at: int) -> int:
    """When on the wall the cluster had that time, to within a second; has it unless skipped, if that is to come."""
    readings = ClockReading.objects.filter(cluster_id=cluster_id)
    before = readings.filter(at_us__lte=at).order_by("-at_us").values_list("at_us", "wall_us").first()
    if before is None:
        return at
    after = readings.filter(at_us__gt=at).order_by("at_us").values_list("at_us", "wall_us").first()
    if after is None:
        return before[1] + at - before[0]
    return before[1] + (after[1] - before[1]) * (at - before[0]) // (after[0] - before[0])
