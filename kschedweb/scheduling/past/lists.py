"""What lists are read from at a moment: rows made of objects as they were, and rows of logs that were there by then.

They stand under the names of the tables, so that a list asks of the past what it asks of the present. Pods need the
engine, which knows where it kept them; all others need objects and positions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from kschedweb.cluster import adapters
from kschedweb.cluster.models import ApiObject, Change, Cluster, Event, Node, Pod
from kschedweb.cluster.workload_states import KINDS
from kschedweb.cluster.workloads import workload_rows
from kschedweb.common import bulk
from kschedweb.common.reading import PRESENT, Tables
from kschedweb.scheduling.past.moments import ObjectsThen, Position
from kschedweb.scheduling.past.rows import event_counts_at
from kschedweb.traces.choices import LogKind
from kschedweb.traces.models import Attempt, EngineLog, QueueState
from scheduler_core.api.times import moment_of

Manifest = dict[str, Any]
OWNING: Final = ("ReplicaSet", "Job")  # between a pod and what it belongs to
_LOG: Final = EngineLog._meta.db_table
_COUNTED: Final = ("repeat_count", "last_repeat", "last_seen_at")  # columns that repeats change
_POD_COLUMNS: Final = (
    "uid text, namespace text, name text, node_name text, owner text, phase text, scheduler_name text, priority int,"
    " created_at timestamptz, deletion_timestamp timestamptz"
)
_NODE_COLUMNS: Final = "uid text, name text, ready boolean, unschedulable boolean, zone text, region text"


@dataclass(frozen=True, slots=True)
class ListThen:
    """A list as it was: the moment, what stands in the place of the tables, and rows that are in no table."""

    position: Position
    now: datetime
    tables: Tables = PRESENT
    rows: Sequence[Mapping[str, Any]] | None = None


def list_then(what: str, then: ObjectsThen) -> ListThen:
    """What a list other than that of pods is read from."""
    now = moment_of(then.at)
    if what == "workloads":
        manifests = (manifest for kind in KINDS for manifest in _of_kind(then, kind))
        return ListThen(then.position, now, rows=workload_rows(then.cluster_id, manifests))
    return ListThen(then.position, now, _TABLES[what](then))


def pods_then(then: ObjectsThen, queue: Iterable[Mapping[str, str]], profiles: Sequence[str]) -> ListThen:
    """What the list of pods is read from; `queue` says where the engine kept them, by `pod_uid` and `queue`."""
    cluster_id = then.cluster_id
    owners = [
        {
            "kind": kind,
            "namespace": manifest["metadata"]["namespace"],
            "name": manifest["metadata"]["name"],
            "manifest": {"metadata": {"ownerReferences": manifest["metadata"].get("ownerReferences") or []}},
        }
        for kind in OWNING
        for manifest in _of_kind(then, kind)
    ]
    tables = _joined(
        _pods(then),
        _given(cluster_id, QueueState, "pod_uid text, queue text", list(queue)),
        _given(cluster_id, ApiObject, "kind text, namespace text, name text, manifest jsonb", owners),
        Tables(
            [f"{Cluster._meta.db_table} AS (SELECT %s::bigint AS id, %s::text[] AS profiles)"],
            [cluster_id, list(profiles)],
        ),
        _attempts(then),
    )
    return ListThen(then.position, moment_of(then.at), tables)


def _of_kind(then: ObjectsThen, kind: str) -> Iterator[Manifest]:
    return (orjson.loads(text) for (of_kind, _, _), (_, text) in then.objects.texts.items() if of_kind == kind)


def _joined(*parts: Tables) -> Tables:
    return Tables(
        [each for part in parts for each in part.expressions], [each for part in parts for each in part.values]
    )


def _given(cluster_id: int, model: Any, columns: str, rows: Sequence[Mapping[str, Any]]) -> Tables:
    """These rows under the name of a model's table."""
    text = (
        f"{model._meta.db_table} AS (SELECT %s::bigint AS cluster_id, given.*"
        f" FROM jsonb_to_recordset(%s::jsonb) AS given ({columns}))"
    )
    return Tables([text], [cluster_id, bulk.json_text(rows)])


def _pods(then: ObjectsThen) -> Tables:
    return _given(then.cluster_id, Pod, _POD_COLUMNS, [_pod(then, manifest) for manifest in _of_kind(then, "Pod")])


def _pod(then: ObjectsThen, manifest: Manifest) -> dict[str, Any]:
    metadata, columns = manifest["metadata"], adapters.stored_pod_columns(manifest)
    return {
        "uid": metadata["uid"],
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "node_name": columns.node_name,
        "owner": columns.owner,
        "phase": columns.phase,
        "scheduler_name": columns.scheduler_name,
        "priority": columns.priority,
        "created_at": adapters.moment_of(metadata.get("creationTimestamp")) or moment_of(then.at),
        "deletion_timestamp": columns.deletion_timestamp,
    }


def _nodes(then: ObjectsThen) -> Tables:
    rows = []
    for manifest in _of_kind(then, "Node"):
        columns, metadata = adapters.node_columns(adapters.node_of(manifest)), manifest["metadata"]
        rows.append(
            {
                "uid": metadata["uid"],
                "name": metadata["name"],
                "ready": columns.ready,
                "unschedulable": columns.unschedulable,
                "zone": columns.zone,
                "region": columns.region,
            }
        )
    return _joined(_given(then.cluster_id, Node, _NODE_COLUMNS, rows), _pods(then))


def _attempts(then: ObjectsThen) -> Tables:
    """Those that were stored by then, each with the repeats that it had: later ones are taken back.

    Only rows that were seen again after the last step are looked up in the log.
    """
    table = Attempt._meta.db_table
    kept = ", ".join(
        f"stored.{field.column}" for field in Attempt._meta.concrete_fields if field.column not in _COUNTED
    )
    repeats = (
        f"FROM {_LOG} AS log WHERE log.cluster_id = stored.cluster_id AND log.pod_uid = stored.pod_uid"
        " AND log.pod_uid <> '' AND log.kind = %s AND (log.payload->>'repeats')::bigint = stored.seq"
    )
    text = (
        f"{table} AS (SELECT {kept},"
        " stored.repeat_count - later.number AS repeat_count,"
        " CASE WHEN later.number = 0 THEN stored.last_repeat ELSE last.told END AS last_repeat,"
        " CASE WHEN later.number = 0 THEN stored.last_seen_at ELSE coalesce(last.at, stored.started_at) END"
        " AS last_seen_at"
        f" FROM {table} AS stored"
        f" CROSS JOIN LATERAL (SELECT count(*)::int AS number {repeats} AND log.seq > %s"
        " AND stored.repeat_count > 0 AND stored.last_seen_at >= %s) AS later"
        " LEFT JOIN LATERAL (SELECT log.at, json_build_object('attempt', log.payload->'attempt',"
        f" 'duration_us', log.payload->'duration_us') AS told {repeats} AND log.seq <= %s AND log.seq > stored.seq"
        " AND later.number > 0 ORDER BY log.seq DESC LIMIT 1) AS last ON true"
        " WHERE stored.cluster_id = %s AND stored.seq <= %s)"
    )
    kind, since = LogKind.ATTEMPT.value, moment_of(then.stepped_at)
    return Tables([text], [kind, then.seq, since, kind, then.seq, then.cluster_id, then.seq])


def _events(then: ObjectsThen) -> Tables:
    """Those that had been told by then, as often as they had been."""
    table = Event._meta.db_table
    since = moment_of(then.stepped_at)
    again = Event.objects.filter(
        cluster_id=then.cluster_id, seq__gt=0, seq__lte=then.seq, count__gt=1, last_at__gte=since
    )
    firsts = dict(again.values_list("seq", "first_at"))
    counts = {seq: (1, first) for seq, first in firsts.items()} | event_counts_at(then.cluster_id, firsts, then.seq)
    rows = [{"seq": seq, "count": count, "last_at": last} for seq, (count, last) in counts.items()]
    kept = ", ".join(
        f"stored.{field.column}" for field in Event._meta.concrete_fields if field.column not in ("count", "last_at")
    )
    text = (
        f"{table} AS (SELECT {kept}, coalesce(counted.count, stored.count) AS count,"
        " coalesce(counted.last_at, stored.last_at) AS last_at"
        f" FROM {table} AS stored LEFT JOIN jsonb_to_recordset(%s::jsonb)"
        " AS counted (seq bigint, count int, last_at timestamptz) ON counted.seq = stored.seq"
        " WHERE stored.cluster_id = %s AND stored.seq <= %s AND (stored.seq > 0 OR stored.first_at <= %s))"
    )
    return Tables([text], [bulk.json_text(rows), then.cluster_id, then.seq, moment_of(then.at)])


def _changes(then: ObjectsThen) -> Tables:
    table = Change._meta.db_table
    text = f"{table} AS (SELECT * FROM {table} WHERE cluster_id = %s AND rv <= %s)"
    return Tables([text], [then.cluster_id, then.position.rv])


_TABLES: Final[Mapping[str, Callable[[ObjectsThen], Tables]]] = {
    "attempts": _attempts,
    "preemptions": _attempts,
    "nodes": _nodes,
    "events": _events,
    "changes": _changes,
}
