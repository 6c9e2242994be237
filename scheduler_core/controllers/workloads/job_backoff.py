"""How long a job waits before it replaces failed pods: 10 s after a failure, twice as long after each, 600 s at most.

Times are microseconds. Source: kubernetes v1.34.1, pkg/controller/job/backoff_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from scheduler_core.api.pod import ContainerStatus, Pod
from scheduler_core.api.times import microseconds

FIRST_DELAY_US: Final = 10 * 1_000_000
LONGEST_DELAY_US: Final = 600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Backoff:
    """Failures since the last success, and when the last of them was."""

    failures: int = 0
    last: int = 0

    def after(self, succeeded: Iterable[Pod], failed: Iterable[Pod]) -> Backoff:
        """The same with pods that ended since."""
        failures = sorted(map(finished_at, failed))
        successes = sorted(map(finished_at, succeeded))
        if successes:
            since = [time for time in failures if time > successes[-1]]
            return Backoff(len(since), since[-1] if since else 0)
        return Backoff(self.failures + len(failures), failures[-1]) if failures else self

    def over_at(self) -> int:
        """When the next pod may be created."""
        return over_at(self.failures, self.last)


def over_at(failures: int, last: int) -> int:
    """When the delay after so many failures, the last at `last`, is over."""
    if failures == 0:
        return 0
    # More doublings than these are longer than the longest delay.
    return last + min(FIRST_DELAY_US << min(failures - 1, 10), LONGEST_DELAY_US)


def finished_at(pod: Pod) -> int:
    """When the pod ended, as well as its object tells."""
    ended = _containers_ended(pod)
    if ended is not None:
        return microseconds(ended)
    for condition in pod.status.conditions or ():
        if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time is not None:
            return microseconds(condition.last_transition_time)
    metadata = pod.metadata
    if metadata.deletion_timestamp is not None:
        return microseconds(metadata.deletion_timestamp) - (metadata.deletion_grace_period_seconds or 0) * 1_000_000
    return microseconds(metadata.creation_timestamp) if metadata.creation_timestamp is not None else 0


def _containers_ended(pod: Pod) -> datetime | None:
    """When the last container ended; None while one has not."""
    sidecars = {one.name for one in pod.spec.init_containers or () if one.is_restartable_init}
    statuses: list[ContainerStatus] = list(pod.status.container_statuses or ())
    statuses += (one for one in pod.status.init_container_statuses or () if one.name in sidecars)
    times = []
    for status in statuses:
        ended = status.state.terminated if status.state is not None else None
        if ended is None or ended.finished_at is None:
            return None
        times.append(ended.finished_at)
    return max(times, default=None)
