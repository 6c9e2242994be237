"""Writes of the traces that are no rows of a step: what the scheduler did, counted by seconds and then by minutes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import connection

from kschedweb.common import bulk
from kschedweb.traces.models import ThroughputCount
from kschedweb.traces.selectors.throughput import (
    MINUTES,
    NEWEST,
    QUEUE_COLUMNS,
    RESULT_COLUMNS,
    SUMMED,
    seconds_since,
)

ROLLED_AT_ONCE = timedelta(hours=1)

_TABLE = ThroughputCount._meta.db_table
_COLUMNS = ", ".join(("at", *SUMMED, *NEWEST))
_ADDED = ", ".join(
    [f"{column} = row.{column} + EXCLUDED.{column}" for column in SUMMED]
    + [f"{column} = coalesce(EXCLUDED.{column}, row.{column})" for column in NEWEST]
)
_CONFLICT = f"ON CONFLICT (cluster_id, at, seconds) DO UPDATE SET {_ADDED}"
_ADD = (
    f"INSERT INTO {_TABLE} AS row (cluster_id, seconds, {_COLUMNS})"
    f" VALUES (%s, 1, date_trunc('second', %s::timestamptz), {', '.join(['%s'] * len((*SUMMED, *NEWEST)))}) {_CONFLICT}"
)
_ROLL_UP = (
    f"WITH gone AS (DELETE FROM {_TABLE} WHERE cluster_id = %s AND seconds = 1 AND at < %s RETURNING *)"
    f" INSERT INTO {_TABLE} AS row (cluster_id, seconds, {_COLUMNS})"
    f" SELECT %s, 60, minutes.* FROM (SELECT {MINUTES} FROM gone GROUP BY 1) AS minutes {_CONFLICT}"
)


def throughput_add(
    *,
    cluster_id: int,
    at: datetime,
    run: int | None = None,
    results: Mapping[str, int] | None = None,
    bound: int = 0,
    queued: Mapping[str, int] | None = None,
) -> None:
    """Count attempts by result and bound pods to the second of `at`, and note how the queue stands then.

    Locks the row of the second: call it right before the cluster's counter is taken.
    """
    counted = [(results or {}).get(result, 0) for result in RESULT_COLUMNS]
    sizes = [None if queued is None else queued[name] for name in QUEUE_COLUMNS]
    bulk.execute(_ADD, [cluster_id, at, *counted, bound, run, *sizes])


def throughput_roll_up(*, cluster_id: int, now: datetime) -> None:
    """Make minutes of the seconds that are a day old; each hour of them is a transaction."""
    ends_at = seconds_since(now)
    seconds = ThroughputCount.objects.filter(cluster_id=cluster_id, seconds=1, at__lt=ends_at)
    while (first := seconds.order_by("at").values_list("at", flat=True).first()) is not None:
        # Ends with a whole minute: none is made of two halves.
        until = min(ends_at, first.replace(second=0, microsecond=0) + ROLLED_AT_ONCE)
        with connection.cursor() as cursor:
            cursor.execute(_ROLL_UP, [cluster_id, until, cluster_id])
