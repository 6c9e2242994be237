"""What happened over a span of a cluster's time, in parts of equal length, and where its history begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from kschedweb import views
from kschedweb.cluster.adapters import milliseconds
from kschedweb.cluster.changes import unpack
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import Change, Cluster
from kschedweb.common import bulk
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, Eviction
from kschedweb.scheduling.past import journal
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep, ThroughputCount
from kschedweb.traces.selectors.throughput import RESULT_COLUMNS
from scheduler_core.api.times import microseconds

_SECOND_MS = 1000
_COUNTS = ThroughputCount._meta.db_table


def beginning(cluster_id: int) -> views.TimelineBeginning:
    """The earliest moment that can be shown; ClusterGoneError."""
    rv, seq = journal.begins(cluster_id)
    first = Change.objects.filter(cluster_id=cluster_id, rv__gt=rv).order_by("rv").values_list("at", flat=True).first()
    kept = Checkpoint.objects.filter(cluster_id=cluster_id, objects_rv=rv, seq=seq).values_list("at", flat=True)
    made = Cluster.objects.filter(pk=cluster_id).values_list("created_at", flat=True)
    at = kept.first() or first or made.first()
    assert at is not None
    return views.TimelineBeginning(rv, seq, milliseconds(at))


def timeline(
    cluster_id: int, *, begins: views.TimelineBeginning, since: datetime, until: datetime, buckets: int
) -> views.Timeline:
    """What happened in [since, until), from the second in which `since` lies, since attempts are counted by second."""
    since = since.replace(microsecond=0)
    since_ms = milliseconds(since)
    length = max(_SECOND_MS, -(-(milliseconds(until) - since_ms) // buckets // _SECOND_MS) * _SECOND_MS)
    parts = _Parts(cluster_id, since_ms, length, since, until)
    results = parts.results()
    preemptions, refused = parts.preemptions(), parts.refused()
    return views.Timeline(
        since_ms=since_ms,
        until_ms=milliseconds(until),
        bucket_ms=length,
        begins=begins,
        buckets=[
            views.TimelineBucket(since_ms + part * length, results.get(part, {}), preemptions[part], refused[part])
            for part in sorted(results.keys() | preemptions.keys() | refused.keys())
        ],
        configurations=_configurations(cluster_id, since, until),
    )


class _Parts:
    """Counts by the number of the part."""

    def __init__(self, cluster_id: int, since_ms: int, length: int, since: datetime, until: datetime) -> None:
        self._id, self._since_ms, self._length = cluster_id, since_ms, length
        self._since, self._until = since, until

    def results(self) -> dict[int, dict[str, int]]:
        columns = ", ".join(f"sum({column})" for column in RESULT_COLUMNS.values())
        rows = bulk.read_rows(
            f"SELECT floor((extract(epoch FROM at) * 1000 - %s::bigint) / %s::bigint)::bigint, {columns} FROM {_COUNTS}"
            " WHERE cluster_id = %s AND at >= %s AND at < %s GROUP BY 1",
            [self._since_ms, self._length, self._id, self._since, self._until],
        )
        found = {}
        for part, *counts in rows:
            told = {str(name): int(count) for name, count in zip(RESULT_COLUMNS, counts, strict=True) if count}
            if told:
                found[part] = told
        return found

    def preemptions(self) -> Counter[int]:
        first, last = self._seqs()
        evicting = Attempt.objects.filter(
            cluster_id=self._id, seq__gt=first, seq__lte=last, preemption__num_victims__gt=0
        ).filter(preemption__isnull=False)
        return self._counted(evicting.values_list("started_at", flat=True))

    def refused(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for model in (Binding, Eviction):
            rows = model._default_manager.filter(cluster_id=self._id, status=WorkStatus.REFUSED)
            rows = rows.filter(created_at__gte=self._since, created_at__lt=self._until)
            found += self._counted(rows.values_list("created_at", flat=True))
        return found

    def _seqs(self) -> tuple[int, int]:
        """Where the engine log stood before the span and at its end."""
        steps = EngineStep.objects.filter(cluster_id=self._id).order_by("-now_us", "-run", "-step")

        def by(at: datetime) -> int:
            return steps.filter(now_us__lt=microseconds(at)).values_list("seq_to", flat=True).first() or 0

        return by(self._since), by(self._until)

    def _counted(self, times: Iterable[datetime]) -> Counter[int]:
        inside = (milliseconds(at) - self._since_ms for at in times if self._since <= at < self._until)
        return Counter(ms // self._length for ms in inside)


def _configurations(cluster_id: int, since: datetime, until: datetime) -> list[views.TimelineConfiguration]:
    """Changes of the configuration: the settings that were stored say which one was in force."""
    rows = Change.objects.filter(cluster_id=cluster_id, uid=str(cluster_id), operation=Operation.SETTING).order_by("rv")
    found: list[views.TimelineConfiguration] = []
    before = 0
    for content, at in rows.values_list("object", "at"):
        version = unpack(content).get("config_version", 1)
        if before not in (0, version) and since <= at < until:
            found.append(views.TimelineConfiguration(milliseconds(at), version))
        before = version
    return found
