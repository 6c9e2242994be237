"""What happened over a span of a cluster's time, in little: marks on a line."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from kschedweb.views.base import SpanQuery, View, doc, number


class TimelineBucket(View):
    """What happened in the part of the span that begins at `at_ms`."""

    at_ms: int
    results: Annotated[Mapping[str, int], doc("attempts by result, where there were any")]
    preemptions: Annotated[int, doc("attempts that evicted pods")]
    refused: Annotated[int, doc("bindings and evictions that were ordered then and refused")]


class TimelineConfiguration(View):
    """The scheduler's configuration changed."""

    at_ms: int
    version: int


class TimelineBeginning(View):
    """The earliest moment that can be shown."""

    rv: int
    seq: int
    at_ms: int


class Timeline(View):
    """What happened in [since_ms, until_ms); parts in which nothing did are left out."""

    since_ms: int
    until_ms: int
    bucket_ms: Annotated[int, doc("length of a part")]
    begins: TimelineBeginning
    buckets: Sequence[TimelineBucket]
    configurations: Sequence[TimelineConfiguration]


class TimelineQuery(SpanQuery):
    """Which span, by default from where history begins until now, and in how many parts at most."""

    buckets: Annotated[int, number(1, 1000)] = 200
