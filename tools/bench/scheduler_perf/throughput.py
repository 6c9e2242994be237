"""Scheduled pods counted over time, as upstream's collector counts them.

Every second the collector looks how many pods were scheduled since it last saw more of them. The first look that sees
any only starts the count. A second without a pod gives no sample of zero: when pods come again, their rate over all
these seconds counts once for each. `average` and percentiles are over the samples. A measurement that is over within
two seconds has no sample; `rate` is there always: pods by the time from the start of the collection to the last pod.

Times are microseconds of the cluster's clock. Source: kubernetes v1.34.1, test/integration/scheduler_perf/util.go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec

SECOND_US: Final = 1_000_000
PERCENTILES: Final = (50, 90, 95, 99)


class Throughput(msgspec.Struct, frozen=True):
    """One collection; `busy_seconds` of its `seconds` the scheduler was at work. Rates are pods per second."""

    name: str
    pods: int
    seconds: float
    busy_seconds: float
    rate: float
    samples: int
    average: float | None
    percentiles: dict[str, float]

    @property
    def judged(self) -> float:
        """What a threshold is about: the average of the samples, or the plain rate where there are none."""
        return self.rate if self.average is None else self.average


def throughput_of(name: str, started: int, ended: int, busy_seconds: float, scheduled: Sequence[int]) -> Throughput:
    """Of a collection from `started` to `ended`, with the times at which pods were scheduled, in order."""
    samples = sorted(samples_of(started, ended, scheduled))
    seconds = (scheduled[-1] - started) / SECOND_US if scheduled else 0.0
    return Throughput(
        name=name,
        pods=len(scheduled),
        seconds=(ended - started) / SECOND_US,
        busy_seconds=busy_seconds,
        rate=len(scheduled) / seconds if seconds > 0 else 0.0,
        samples=len(samples),
        average=sum(samples) / len(samples) if samples else None,
        percentiles={f"p{each}": samples[math.ceil(len(samples) * each / 100) - 1] for each in PERCENTILES}
        if samples
        else {},
    )


def samples_of(started: int, ended: int, scheduled: Sequence[int]) -> list[float]:
    """The samples in the order in which they are taken."""
    samples: list[float] = []
    counted, last, seen_at = 0, 0, -1
    skipped = 0
    for now in range(started + SECOND_US, ended + 1, SECOND_US):
        while counted < len(scheduled) and scheduled[counted] <= now:
            counted += 1
        if counted == 0:
            continue
        if seen_at < 0:
            last, seen_at = counted, now
        elif counted == last:
            skipped += 1
        else:
            samples += [(counted - last) * SECOND_US / (now - seen_at)] * (skipped + 1)
            last, seen_at, skipped = counted, now, 0
    return samples
