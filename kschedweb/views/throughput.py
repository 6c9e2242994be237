"""What the scheduler did over time."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.base import SpanQuery, View, doc


class QueueSizes(View):
    """Pods in each sub-queue: kube-scheduler's `scheduler_pending_pods`."""

    active: int
    backoff: int
    unschedulable: int
    gated: int


class ThroughputPoint(View):
    """What the scheduler did in the second or minute that begins at `at_ms`.

    `run` names the last engine at work. Between two points of one run no attempt was made and the queue did not
    change; between points of two runs nothing is known.
    """

    at_ms: int
    run: Annotated[int | None, doc("null: pods were bound, but no step was made")]
    results: Annotated[Mapping[str, int], doc("attempts by result, where there were any")]
    bound: Annotated[int, doc("pods bound by this scheduler")]
    queued: Annotated[QueueSizes | None, doc("at the end; null when `run` is")]


class Throughput(View):
    """What was counted in [since_ms, until_ms), oldest first; times in which nothing happened have no point."""

    seconds: Annotated[int, doc("length of a point")]
    since_ms: int
    until_ms: int
    carried: Annotated[
        ThroughputPoint | None, doc("the last point of a run before these: the queue as it was when they begin")
    ]
    points: Sequence[ThroughputPoint]


class ThroughputQuery(SpanQuery):
    """Which span: by default the last five minutes."""

    seconds: (
        Annotated[Literal[1, 60], doc("length of a point; by default 1 for spans of an hour at most, else 60")]
        | UnsetType
    ) = UNSET
