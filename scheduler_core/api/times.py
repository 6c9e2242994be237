"""Times of manifests as the core counts them: microseconds since the Unix epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from scheduler_core.api.manifests import format_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(time: datetime) -> int:
    """Return the time as a number."""
    return (time - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=256)  # all that happens in a step happens at one moment
def moment_of(now: int) -> datetime:
    """Return the number as a time."""
    return _EPOCH + timedelta(microseconds=now)


@lru_cache(maxsize=256)  # what happens at one moment is written many times
def time_text(now: int) -> str:
    """Return the time as the API server writes it: `2030-01-01T00:00:00Z`, whole seconds, rounded down."""
    return format_time(_EPOCH + timedelta(seconds=now // 1_000_000))
