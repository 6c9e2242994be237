"""The inputs of a request (kschedweb.common.asking) become filters and spans of time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from rest_framework.exceptions import ValidationError

from kschedweb import views
from kschedweb.cluster import clock
from kschedweb.traces.selectors import AttemptFilter, EventFilter
from scheduler_core.api.times import moment_of

FIVE_MINUTES = timedelta(minutes=5)
AN_HOUR = timedelta(hours=1)
MOST_POINTS = 24 * 3600


def span_of(query: views.SpanQuery, cluster_id: int) -> dict[str, Any]:
    """`since` and `until` in the cluster's time, as far as given. ValidationError for a beginning given twice."""
    found: dict[str, Any] = {}
    for name, at in (("since", query.since), ("until", query.until)):
        if isinstance(at, datetime):
            try:
                found[name] = at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
            except OverflowError:
                raise ValidationError({name: ["is before the first year or after the last"]}) from None
    if isinstance(query.last_seconds, int):
        if "since" in found:
            raise ValidationError("either since or last_seconds")
        found["since"] = _now(cluster_id) - timedelta(seconds=query.last_seconds)
    return found


def _now(cluster_id: int) -> datetime:
    return moment_of(clock.now_of(cluster_id))


def throughput_span(query: views.ThroughputQuery, cluster_id: int) -> dict[str, Any]:
    """The arguments of `selectors.throughput`."""
    span = span_of(query, cluster_id)
    until = span.get("until") or _now(cluster_id)
    since = span.get("since", until - FIVE_MINUTES)
    length = (until - since).total_seconds()
    if length <= 0:
        raise ValidationError({"since": ["must be before until"]})
    seconds = query.seconds or (1 if length <= 3600 else 60)
    if length / seconds > MOST_POINTS:
        longest = MOST_POINTS * seconds // 3600
        raise ValidationError({"seconds": [f"spans of {seconds} s: at most {longest} hours"]})
    return {"since": since, "until": until, "seconds": seconds}


def timeline_span(query: views.TimelineQuery, cluster_id: int, begins: views.TimelineBeginning) -> dict[str, Any]:
    """The span of `timeline`, by default all there is until now, and its parts."""
    span = span_of(query, cluster_id)
    # What happened just now is in it, also where the clock stands.
    until = span.get("until") or _now(cluster_id) + timedelta(milliseconds=1)
    since = span.get("since") or min(moment_of(begins.at_ms * 1000), until - timedelta(seconds=1))
    if since >= until:
        raise ValidationError({"since": ["must be before until"]})
    return {"since": since, "until": until, "buckets": query.buckets}


def attempt_filter(query: views.RefusalQuery, cluster_id: int) -> AttemptFilter:
    """Build the filter of attempts. The node of an AttemptQuery is the chosen one; that of other questions is not."""
    shared = views.AttemptQuery if isinstance(query, views.AttemptQuery) else views.RefusalQuery
    return AttemptFilter(**_values(query, shared), **span_of(query, cluster_id))


def event_filter(query: views.EventQuery, cluster_id: int) -> EventFilter:
    """Build the filter of events."""
    return EventFilter(**_values(query, views.EventQuery), **span_of(query, cluster_id))


def agreement_span(query: views.AgreementQuery, cluster_id: int) -> dict[str, Any]:
    """The arguments of `selectors.agreement`."""
    span = span_of(query, cluster_id)
    until = span.get("until") or _now(cluster_id)
    since = span.get("since", until - AN_HOUR)
    if since >= until:
        raise ValidationError({"since": ["must be before until"]})
    return {"since": since, "until": until, "points": query.points}


def comparison_filter(query: views.ComparisonQuery, cluster_id: int) -> dict[str, Any]:
    """The arguments of `selectors.comparisons`."""
    return {**_values(query, views.ComparisonQuery), **span_of(query, cluster_id)}


def _values(query: views.SpanQuery, cls: type[views.SpanQuery]) -> dict[str, Any]:
    """What was given in the fields of a class beside the span of time."""
    names = [name for name in cls.__struct_fields__ if name not in views.SpanQuery.__struct_fields__]
    return {name: value for name in names if (value := getattr(query, name)) is not msgspec.UNSET}
