"""Moves the clock of a cluster on that goes by steps.

It goes when everything is done that was due at the time: controllers and scheduler have read the log to its end and
want nothing yet, and no binding or eviction is under way. It never passes what is due next, so all of them act at their
own times. While the scheduler is paused or slow, time waits for pods that are ready to be scheduled.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection, transaction

from kschedweb.cluster import clock
from kschedweb.cluster.clock import SECOND, Clock
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services.clusters import record_setting
from kschedweb.common import wake
from kschedweb.scheduling.models import Binding, EngineState, Eviction
from scheduler_core.api.times import microseconds

ACTOR = "timekeeper"
READING_US = SECOND  # on the wall, between two readings that are kept
LOOK_SECONDS = 0.01  # until what is under way is looked at again
# The least time between two steps of a clock with a rate while nothing happens: what watches it sees it move.
STEP_SECONDS = 0.1

_STATE = f"""
SELECT c.rv, c.clock_mode, c.clock_rate, c.clock_offset_us, c.clock_at_us, c.clock_wall_us, c.clock_until_us,
    s.rv_seen, s.next_due_at, c.is_record,
    EXISTS (SELECT 1 FROM {Binding._meta.db_table} w WHERE w.cluster_id = c.id AND w.status = 'pending')
    OR EXISTS (SELECT 1 FROM {Eviction._meta.db_table} w WHERE w.cluster_id = c.id AND w.status = 'pending')
FROM {Cluster._meta.db_table} c LEFT JOIN {EngineState._meta.db_table} s ON s.cluster_id = c.id WHERE c.id = %s
"""


@dataclass(frozen=True, slots=True)
class ClusterTime:
    """The clock of a cluster and what it may have to wait for; times are the cluster's, in microseconds."""

    rv: int
    clock: Clock
    rv_seen: int  # by the engine
    engine_due: int | None
    has_work: bool  # bindings or evictions are under way
    is_record: bool  # it is a history from a file, and its clock stands

    def waits_for_scheduler(self) -> bool:
        """True when the scheduler has not done yet what is due."""
        at = self.clock.at or 0
        return self.rv_seen < self.rv or self.has_work or (self.engine_due is not None and self.engine_due <= at)


def read(cluster_id: int) -> ClusterTime | None:
    """How the cluster's clock stands; None when there is no such cluster."""
    with connection.cursor() as cursor:
        cursor.execute(_STATE, [cluster_id])
        row = cursor.fetchone()
    if row is None:
        return None
    rv, mode, rate, offset, at, wall, until, seen, due, is_record, has_work = row
    stored = Clock(mode, rate, offset, at, wall, until)
    return ClusterTime(rv, stored, seen or 0, None if due is None else microseconds(due), has_work, is_record)


def advance(cluster_id: int, *, answered: int | None, due: int | None) -> float | None:
    """Move the clock on, if it goes by steps and nothing holds it; in how many seconds to look again, None for never.

    `answered` is the position in the log up to which controllers know it, None when there are none; `due` is when they
    act again.
    """
    found = read(cluster_id)
    if found is None or found.is_record or not found.clock.is_stepped:
        return None
    at = found.clock.at or 0
    if (answered is not None and answered < found.rv) or (due is not None and due <= at):
        return 0.0
    if found.waits_for_scheduler():
        return LOOK_SECONDS
    times = [time for time in (due, found.engine_due) if time is not None]
    first = min(times, default=None)
    wall = clock.wall_us()
    moved = found.clock.advanced(wall, first)
    with transaction.atomic():
        # Somebody may have changed the clock meanwhile.
        row = Cluster.objects.select_for_update(no_key=True).filter(pk=cluster_id)
        if not row.filter(**clock.columns(found.clock)).exists():
            return 0.0
        clock.store(cluster_id, moved)
        if not moved.is_stepped or wall // READING_US != (found.clock.wall or 0) // READING_US:
            clock.reading_store(cluster_id=cluster_id, at=moved.now(wall), wall=wall)
        if moved.until != found.clock.until:
            record_setting(Cluster.objects.get(pk=cluster_id), ACTOR)  # who watches sees that the skip is over
    if not moved.is_stepped:
        wake.leader(cluster_id)  # it keeps its timers itself again
        return 0.0
    if found.engine_due is not None and found.engine_due <= moved.now(wall):
        wake.leader(cluster_id)
    if first is not None and first <= moved.now(wall):
        return 0.0
    until = moved.seconds_until(first)
    return STEP_SECONDS if until is None else min(until, STEP_SECONDS)
