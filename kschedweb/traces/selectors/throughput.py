"""What the scheduler did over time: attempts by result, bound pods and the queue, by seconds or by minutes."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from kschedweb import views
from kschedweb.cluster.adapters import milliseconds
from kschedweb.traces.choices import Result
from kschedweb.traces.models import ThroughputCount

# Seconds are kept for so long, minutes for as long as the rest of a cluster's past (scheduling/retention.py).
SECONDS_KEPT = timedelta(days=1)

RESULT_COLUMNS: dict[str, str] = {
    Result.SCHEDULED: "scheduled",
    Result.UNSCHEDULABLE: "unschedulable",
    Result.ERROR: "error",
    Result.SKIPPED: "skipped",
    Result.NO_PROFILE: "no_profile",
}
QUEUE_COLUMNS = {name: f"queue_{name}" for name in views.QueueSizes.__struct_fields__}
SUMMED = (*RESULT_COLUMNS.values(), "bound")
NEWEST = ("run", *QUEUE_COLUMNS.values())  # of several rows the newest that has a value counts
# Columns of rows of minutes, made of rows of any length.
MINUTES = ", ".join(
    ["date_trunc('minute', at) AS at"]
    + [f"sum({column}) AS {column}" for column in SUMMED]
    + [
        f"(array_agg({column} ORDER BY at DESC, seconds DESC) FILTER (WHERE {column} IS NOT NULL))[1] AS {column}"
        for column in NEWEST
    ]
)
_SECONDS = ", ".join(("at", *SUMMED, *NEWEST))
_TABLE = ThroughputCount._meta.db_table


def throughput(cluster_id: int, *, since: datetime, until: datetime, seconds: int) -> views.Throughput:
    """What was counted in [since, until) by spans of 1 or 60 seconds.

    Begins with whole spans, and by seconds no earlier than they are kept: `since_ms` says where.
    """
    if seconds == 1:
        since = max(since.replace(microsecond=0), seconds_since(until))
        query = f"SELECT {_SECONDS} FROM {_TABLE} WHERE cluster_id = %s AND at >= %s AND at < %s AND seconds = 1"
    else:
        since = since.replace(second=0, microsecond=0)
        query = f"SELECT {MINUTES} FROM {_TABLE} WHERE cluster_id = %s AND at >= %s AND at < %s GROUP BY 1"
    carried = (
        f"SELECT {_SECONDS} FROM {_TABLE} WHERE cluster_id = %s AND at < %s AND run IS NOT NULL"
        " ORDER BY at DESC, seconds DESC LIMIT 1"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"{query} ORDER BY 1", [cluster_id, since, until])
        points = [_point(*row) for row in cursor]
        cursor.execute(carried, [cluster_id, since])
        last = cursor.fetchone()
    return views.Throughput(
        seconds=seconds,
        since_ms=milliseconds(since),
        until_ms=milliseconds(until),
        carried=None if last is None else _point(*last),
        points=points,
    )


def seconds_since(now: datetime) -> datetime:
    """From when on counts are kept by seconds."""
    return (now - SECONDS_KEPT).replace(second=0, microsecond=0)


def _point(at: datetime, *values: Any) -> views.ThroughputPoint:
    """Convert a row of SUMMED and NEWEST to a view."""
    results = dict(zip(RESULT_COLUMNS, values, strict=False))
    bound, run, *sizes = values[len(results) :]
    return views.ThroughputPoint(
        at_ms=milliseconds(at),
        run=run,
        results={str(result): int(count) for result, count in results.items() if count},
        bound=int(bound),
        queued=None if sizes[0] is None else views.QueueSizes(**dict(zip(QUEUE_COLUMNS, sizes, strict=True))),
    )
