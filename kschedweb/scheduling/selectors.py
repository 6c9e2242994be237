"""Reads of the scheduler's work: a pod's history with it, and what a rebuilt engine remembers."""

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

from kschedweb.cluster.models import Event
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, EngineState, Eviction, HistoryProof
from kschedweb.scheduling.remembered import SERIES_WITHIN_US, LastAttempt, Remembered, Series
from kschedweb.traces.choices import Result
from kschedweb.traces.models import Attempt, EngineStep
from kschedweb.traces.selectors import pod_log
from kschedweb.views import HistoryEntry
from kschedweb.views.history import History, HistoryDifference
from scheduler_core.api.times import microseconds, moment_of

W = TypeVar("W", Binding, Eviction)

# What an engine tells of the pod when it hears that work was done: (kind, what) of entries.
_AFTER_BINDING = {("cache", "confirmed"), ("cache", "finished"), ("cache", "forgotten")}
_AFTER_EVICTION = {("event", "Preempted")}


def engine_version(cluster_id: int) -> int:
    """The version of the configuration that the last step was decided by; 0 before the first one."""
    versions = EngineState.objects.filter(pk=cluster_id).values_list("config_version", flat=True)
    return versions.first() or 0


def history(cluster_id: int) -> History | None:
    """How far the cluster's record is proven; None when nothing was looked at yet."""
    rows = HistoryProof.objects.filter(pk=cluster_id, checked_at__isnull=False).select_related("cluster")
    proof = rows.first()
    if proof is None or proof.checked_at is None:
        return None
    # Steps that were passed over were looked at.
    steps = EngineStep.objects.filter(cluster_id=cluster_id, run=proof.run, step=proof.step)
    looked_at = max(proof.seq, steps.values_list("seq_to", flat=True).first() or 0)
    return History(
        rv=proof.rv,
        seq=proof.seq,
        at=proof.at,
        cycles=proof.cycles,
        unproven_cycles=proof.unproven,
        reason=proof.reason,
        entries_left=max(0, proof.cluster.seq - looked_at),
        difference=None if proof.difference is None else HistoryDifference(**proof.difference),
        checked_at=proof.checked_at,
    )


def pod_history(
    cluster_id: int, uid: str, limit: int, *, until: tuple[int, datetime] | None = None
) -> list[HistoryEntry]:
    """The newest entries about a pod, oldest first: the engine's log in its order, and the work it ordered.

    `until`: as it was at that position of the log, and that time.

    Work stands after the step that ordered it and before what the engine told of its end: times of finished work are
    those of another machine.
    """
    seq, at = until or (None, None)
    log = pod_log(cluster_id, uid, limit, seq)
    placed = [(float(place), entry) for place, entry in enumerate(log)]
    for binding in _work_of(Binding, cluster_id, uid, limit, at):
        entry = HistoryEntry(
            kind="binding",
            what=binding.status,
            at=binding.finished_at or binding.created_at,
            attempts=binding.attempt,
            node=binding.node_name,
            message=binding.message,
        )
        place = _place(log, binding.created_at, binding.finished_at, _AFTER_BINDING)
        placed.append((place - 0.5, entry))
    for eviction in _work_of(Eviction, cluster_id, uid, limit, at):
        entry = HistoryEntry(
            kind="eviction",
            what=eviction.status,
            at=eviction.finished_at or eviction.created_at,
            node=eviction.node_name,
            message=eviction.message,
        )
        place = _place(log, eviction.created_at, eviction.finished_at, _AFTER_EVICTION)
        placed.append((place - 0.5, entry))
    placed.sort(key=lambda one: (one[0], one[1].at))
    return [entry for _, entry in placed][-limit:]


def _work_of(model: type[W], cluster_id: int, uid: str, limit: int, at: datetime | None) -> list[W]:
    """The newest rows of work about a pod; of that time, with what had not ended by then still to be done."""
    found = model._default_manager.filter(cluster_id=cluster_id, pod_uid=uid).order_by("-id")
    rows = list((found if at is None else found.filter(created_at__lte=at))[:limit])
    for row in rows:
        if at is not None and row.finished_at is not None and row.finished_at > at:
            row.status, row.finished_at = WorkStatus.PENDING, None
            if isinstance(row, Binding):
                row.message = ""  # an eviction has its message from the beginning
    return rows


def _place(
    log: list[HistoryEntry], ordered_at: datetime, finished_at: datetime | None, answers: set[tuple[str, str]]
) -> int:
    """Before which entry of the log the work stands. It was ordered at the engine's time, which is the log's."""
    first = next((place for place, entry in enumerate(log) if entry.at > ordered_at), len(log))
    if finished_at is None:
        return first
    rest = range(first, len(log))
    answer = next((place for place in rest if (log[place].kind, log[place].what) in answers), None)
    if answer is not None:
        return answer
    return next((place for place in rest if log[place].at > finished_at), len(log))


def remembered(*, cluster_id: int, pod_uids: Iterable[str], now: int) -> Remembered:
    """What is stored of these pods' last attempts and events, so that a rebuilt engine still counts repeats."""
    uids = list(pod_uids)
    attempts = (
        Attempt.objects.filter(cluster_id=cluster_id, pod_uid__in=uids)
        .exclude(result=Result.SCHEDULED)
        .order_by("pod_uid", "-seq")
        .distinct("pod_uid")
        .values_list("pod_uid", "digest", "seq", "last_seen_at")
    )
    told = Event.objects.filter(
        cluster_id=cluster_id,
        regarding_uid__in=uids,
        type="Warning",
        seq__gt=0,
        last_at__gte=moment_of(now - SERIES_WITHIN_US),
    ).order_by("id")
    columns = ("regarding_uid", "type", "reason", "action", "reporter", "seq", "count", "last_at")
    return Remembered(
        {uid: LastAttempt(bytes(digest), seq, microseconds(seen)) for uid, digest, seq, seen in attempts},
        {
            (uid, type_, reason, action, reporter): Series(seq, count, microseconds(last_at))
            for uid, type_, reason, action, reporter, seq, count, last_at in told.values_list(*columns)
        },
    )
