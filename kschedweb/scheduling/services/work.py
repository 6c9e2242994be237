"""Writes of the workers: batches of the bindings and evictions that steps ordered, carried out.

Each transaction holds the fence first and takes the cluster's counter last (the store's `commit`); right before that
it counts what it did (`throughput_add`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeVar

from django.db import transaction

from kschedweb.cluster import clock
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.changes import ChangeEntry
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.follow import BINDING_VERDICT, EVICTION_VERDICT
from kschedweb.common import bulk
from kschedweb.scheduling import leases
from kschedweb.scheduling.api_calls import api_calls_measure
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, Eviction
from kschedweb.scheduling.services.steps import SCHEDULER_ACTOR
from kschedweb.traces import services as trace_services
from scheduler_core.api.times import microseconds, moment_of
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.effects import PREEMPTION_BY_SCHEDULER
from scheduler_core.apiserver.requests import Bind, Evict, ObjectKey
from scheduler_core.apiserver.server import changes_of

Work = TypeVar("Work", Binding, Eviction)

BATCH = 200
# A pod put in anew under its old uid had no node until now: what was done for it is history.
_SUPERSEDE = (
    f"UPDATE {Binding._meta.db_table} SET status = '{WorkStatus.SUPERSEDED.value}'"
    f" WHERE cluster_id = %s AND pod_uid = ANY (%b::text[]) AND status = '{WorkStatus.DONE.value}'"
)


def bindings_carry_out(*, cluster_id: int) -> int:
    """Bind up to a batch of pods in one transaction; how many were claimed."""
    started = time.monotonic()
    with transaction.atomic():
        rows = _claim(Binding, cluster_id)
        if not rows:
            return 0
        now_us = clock.now_of(cluster_id)
        now = moment_of(now_us)
        server = cluster_services.server_of(cluster_id, SCHEDULER_ACTOR)
        answers = server.decide([Bind(_key(row), row.node_name, row.pod_uid) for row in rows], now_us)
        verdicts = []
        for row, answer in zip(rows, answers, strict=True):
            row.message = answer.status.message if isinstance(answer, Refused) else ""
            row.status = WorkStatus.REFUSED if isinstance(answer, Refused) else WorkStatus.DONE
            row.finished_at = now
            verdicts.append(
                _verdict(
                    BINDING_VERDICT,
                    row,
                    {
                        "pod_uid": row.pod_uid,
                        "node_name": row.node_name,
                        "bound": row.status == WorkStatus.DONE,
                        "message": row.message,
                        "at_ms": microseconds(now) // 1000,
                    },
                )
            )
        bound = [row.pod_uid for row in rows if row.status == WorkStatus.DONE]
        with bulk.together(len(rows)):
            bulk.execute(_SUPERSEDE, [cluster_id, bound])
            _work_finish(Binding, rows)
            if bound:
                trace_services.throughput_add(cluster_id=cluster_id, at=now, bound=len(bound))
            server.store.commit(changes_of(answers), now_us, verdicts, is_expected=len(bound) == len(rows))
    results = {"success": len(bound), "error": len(rows) - len(bound)}
    api_calls_measure("pod_binding", results, time.monotonic() - started, cluster_id=cluster_id)
    return len(rows)


def evictions_carry_out(*, cluster_id: int) -> int:
    """Delete up to a batch of victims in one transaction; how many were claimed."""
    with transaction.atomic():
        rows = _claim(Eviction, cluster_id)
        if not rows:
            return 0
        now_us = clock.now_of(cluster_id)
        now = moment_of(now_us)
        server = cluster_services.server_of(cluster_id, SCHEDULER_ACTOR)
        requests = [Evict(_key(row), PREEMPTION_BY_SCHEDULER, row.message, row.pod_uid) for row in rows]
        answers = server.decide(requests, now_us)
        gone = {row.pod_uid for row, answer in zip(rows, answers, strict=True) if isinstance(answer, Refused)}
        verdicts = []
        for row in rows:
            row.status = WorkStatus.DONE
            row.finished_at = now
        for preemptor_uid in sorted({row.preemptor_uid for row in rows}):
            of_preemptor = [row for row in rows if row.preemptor_uid == preemptor_uid]
            uids = [row.pod_uid for row in of_preemptor]
            payload = {
                "preemptor_uid": preemptor_uid,
                "done": True,
                "message": "",
                "pod_uids": uids,
                "gone_uids": [uid for uid in uids if uid in gone],
            }
            verdicts.append(_verdict(EVICTION_VERDICT, of_preemptor[-1], payload))
        with bulk.together(len(rows)):
            _work_finish(Eviction, rows)
            server.store.commit(changes_of(answers), now_us, verdicts)
        return len(rows)


def _claim(model: type[Work], cluster_id: int) -> list[Work]:
    """Pending rows of the epoch in force, locked; the fence stays held until commit."""
    with bulk.together():
        epoch = leases.fence_share(cluster_id=cluster_id)
        if epoch is None:
            return []
        columns = [field.attname for field in model._meta.concrete_fields]
        rows = bulk.read_rows(
            f"SELECT {', '.join(columns)} FROM {model._meta.db_table} WHERE cluster_id = %s AND epoch = %s"
            f" AND status = '{WorkStatus.PENDING.value}' ORDER BY id LIMIT {BATCH} FOR UPDATE SKIP LOCKED",
            [cluster_id, epoch],
        )
    return [model.from_db(None, columns, row) for row in rows]


def _key(row: Binding | Eviction) -> ObjectKey:
    return ObjectKey("Pod", row.namespace, row.name)


def _work_finish(model: type[Binding] | type[Eviction], rows: Sequence[Binding | Eviction]) -> None:
    """Write what became of claimed rows."""
    bulk.execute(
        f"UPDATE {model._meta.db_table} AS row SET status = s, message = m, finished_at = f"
        " FROM unnest(%b::bigint[], %b::text[], %b::text[], %b::timestamptz[]) AS given (id, s, m, f)"
        " WHERE row.id = given.id",
        [
            [row.pk for row in rows],
            [str(row.status) for row in rows],
            [row.message for row in rows],
            [row.finished_at for row in rows],
        ],
    )


def _verdict(kind: str, row: Binding | Eviction, payload: dict[str, Any]) -> ChangeEntry:
    return ChangeEntry(
        kind=kind,
        namespace=row.namespace,
        name=row.name,
        uid=row.pod_uid,
        operation=Operation.VERDICT,
        payload=payload,
        actor=SCHEDULER_ACTOR,
    )
