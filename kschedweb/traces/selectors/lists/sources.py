"""What each list is read from. Tables that are joined have an alias, and are joined where a statement names it.

Every column but those in `orders` is never null, so that rows can be compared with the last one of a page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from kschedweb.cluster.adapters import CONFIDENTIAL_KINDS
from kschedweb.cluster.models import ApiObject, Change, Cluster, Event, Node, Pod
from kschedweb.cluster.workloads import workload_rows
from kschedweb.common import bulk
from kschedweb.query import LISTS, Term
from kschedweb.query.keys import PLACES
from kschedweb.traces.models import Attempt, QueueState
from kschedweb.traces.selectors.lists.sql import (
    Condition,
    Parameters,
    aged,
    compared,
    contains,
    joined,
    matches,
    named,
    part_of,
    signed,
)

POD, NODE, QUEUE, ATTEMPT, OBJECT, CLUSTER, EVENT, CHANGE = (
    model._meta.db_table for model in (Pod, Node, QueueState, Attempt, ApiObject, Cluster, Event, Change)
)
_CONFIDENTIAL = ", ".join(f"'{kind}'" for kind in CONFIDENTIAL_KINDS)
# As Attempt.last_attempt and Attempt.last_duration_us.
_NUMBER = "coalesce(({0}.last_repeat->>'attempt')::int, {0}.attempt + {0}.repeat_count)"
_DURATION = (
    "coalesce((attempt.last_repeat->>'duration_us')::bigint,"
    " CASE WHEN attempt.repeat_count = 0 THEN attempt.duration_us END)"
)
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Source:
    """`table` with its alias; `key`: the columns that tell rows apart; `orders`: by what columns are sorted instead of
    themselves; `rejections`: where plugin and reason are looked for, and `rejected` of which rows; `only`: which rows
    the list has; `made`: rows of a cluster that are in no table, which the statement gets as `rows`."""

    table: str
    key: Sequence[str]
    columns: Mapping[str, str]
    conditions: Mapping[str, Condition]
    joins: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    rejections: str = ""
    rejected: str = "true"
    only: str = "true"
    made: Callable[[int], Rows] | None = None

    @property
    def alias(self) -> str:
        return self.table.partition(" AS ")[2].partition(" ")[0]

    def parameters(self, cluster_id: int, now: datetime, rows: Rows | None = None) -> Parameters:
        """Those of every statement; `rows` instead of those that are made now."""
        if self.made is None:
            return Parameters(cluster=cluster_id, now=now)
        return Parameters(
            cluster=cluster_id, now=now, rows=bulk.json_text(self.made(cluster_id) if rows is None else rows)
        )

    def where(self, terms: Sequence[Term], parameters: Parameters) -> str:
        """The condition of all terms."""
        rejecting = [term for term in terms if self.rejections and term.key in ("plugin", "reason")]
        together = [term for term in rejecting if not term.negated]
        rest = [term for term in terms if term not in together]
        found = [f"{self.alias}.cluster_id = %(cluster)s", self.only]
        if together:
            found.append(self._rejected(together, parameters))
        for term in rest:
            if term in rejecting:
                found.append(signed(term, self._rejected([term], parameters)))
            else:
                found.append(self.conditions[term.key](term, parameters))
        return " AND ".join(found)

    def _rejected(self, terms: Sequence[Term], parameters: Parameters) -> str:
        """There is a rejection of which all the terms hold."""
        held = [
            matches("one.plugin", term, parameters)
            if term.key == "plugin"
            else contains("one.reason", term, parameters)
            for term in terms
        ]
        rows = f"jsonb_to_recordset({self.rejections}) AS one (plugin text, reason text)"
        return f"({self.rejected} AND EXISTS (SELECT FROM {rows} WHERE {' AND '.join(held)}))"


_PENDING = "(pod.node_name = '' AND pod.phase NOT IN ('Succeeded', 'Failed'))"
_POD_STATUS = f"""
    CASE WHEN pod.phase = 'Succeeded' THEN 'succeeded' WHEN pod.phase = 'Failed' THEN 'failed'
         WHEN pod.deletion_timestamp IS NOT NULL THEN 'deleting'
         WHEN pod.node_name <> '' THEN
              CASE pod.phase WHEN 'Running' THEN 'running' WHEN 'Unknown' THEN 'unknown' ELSE 'bound' END
         WHEN queue.queue IS NOT NULL THEN queue.queue
         WHEN pod.scheduler_name = ANY (SELECT unnest(profiles) FROM {CLUSTER} WHERE id = %(cluster)s) THEN 'unseen'
         ELSE 'noProfile' END
"""


def _pod_status(term: Term, parameters: Parameters) -> str:
    """`pending` is more than one status: without a node, and not ended."""
    conditions = [_PENDING] if "pending" in term.values else []
    if others := [value for value in term.values if value != "pending"]:
        conditions.append(f"{_POD_STATUS} = ANY ({parameters.add(others)})")
        if not {*others} - {*PLACES}:
            conditions[-1] = f"({_PENDING} AND {conditions[-1]})"  # by this the database finds few
    return signed(term, joined("OR", conditions))


def _pod_owner(term: Term, parameters: Parameters) -> str:
    """Its controller has the name, or the controller of that: a ReplicaSet's Deployment, a Job's CronJob."""
    own = matches("split_part(pod.owner, '/', 2)", term, parameters)
    above = matches("above->>'name'", term, parameters)
    of_it = (
        f"(pod.namespace, pod.owner) IN (SELECT between_.namespace, between_.kind || '/' || between_.name"
        f" FROM {OBJECT} AS between_, jsonb_array_elements(between_.manifest->'metadata'->'ownerReferences') AS above"
        f" WHERE between_.cluster_id = %(cluster)s AND between_.kind IN ('ReplicaSet', 'Job')"
        f" AND (above->>'controller')::boolean AND {above})"
    )
    return signed(term, f"(pod.owner <> '' AND {joined('OR', (own, of_it))})")


_NODE_STATUS = "CASE WHEN NOT node.ready THEN 'notReady' WHEN node.unschedulable THEN 'cordoned' ELSE 'ready' END"
_PODS_ON = (
    f"(SELECT count(*) FROM {POD} AS held WHERE held.cluster_id = node.cluster_id AND held.node_name = node.name"
    " AND NOT held.phase IN ('Succeeded', 'Failed'))"
)
_NOMINATED = "coalesce(attempt.nominated_node_name, '')"
_ATTEMPT_COLUMNS: Final[Mapping[str, str]] = {
    "seq": "attempt.seq",
    "seen": "attempt.last_seen_at",
    "namespace": "attempt.namespace",
    "name": "attempt.name",
    "attempt": _NUMBER.format("attempt"),
    "times": "attempt.repeat_count + 1",
    "result": "attempt.result",
    "node": "attempt.node_name",
    "nominated": _NOMINATED,
    "profile": "attempt.profile",
    "evaluated": "attempt.evaluated",
    "feasible": "attempt.feasible",
    "duration": _DURATION,
    "victims": "coalesce((attempt.preemption->>'num_victims')::bigint, 0)",
    "candidates": "coalesce((attempt.preemption->>'candidates')::bigint, 0)",
    "tried": "coalesce((attempt.preemption->>'tried')::bigint, 0)",
    "violations": "coalesce((attempt.preemption->>'num_pdb_violations')::bigint, 0)",
    "message": "attempt.message",
    "uid": "attempt.pod_uid",
}


def _of_object(namespace: str, name: str, at: str) -> Mapping[str, Condition]:
    """The conditions of rows about an object, with a time."""
    return {"": part_of(f"({namespace} || '/' || {name})"), "ns": named(namespace), "age": aged(at)}


_ATTEMPT_CONDITIONS: Final[Mapping[str, Condition]] = {
    **_of_object("attempt.namespace", "attempt.name", "attempt.last_seen_at"),
    "node": named("attempt.node_name"),
    "profile": named("attempt.profile"),
    "attempts": compared(_NUMBER.format("attempt")),
    "result": named("attempt.result"),
}


def _columns(name: str, columns: Mapping[str, str]) -> Mapping[str, str]:
    """Those that a list has, in its order."""
    return {column.name: columns[column.name] for column in LISTS[name].columns}


SOURCES: Final[Mapping[str, Source]] = {
    "pods": Source(
        table=f"{POD} AS pod",
        key=("namespace", "name"),
        joins={
            "queue": (f"LEFT JOIN {QUEUE} AS queue ON queue.cluster_id = pod.cluster_id AND queue.pod_uid = pod.uid"),
            "last": (
                f"LEFT JOIN LATERAL (SELECT stored.*, {_NUMBER.format('stored')} AS number FROM {ATTEMPT} AS stored"
                " WHERE stored.cluster_id = pod.cluster_id AND stored.pod_uid = pod.uid"
                " ORDER BY stored.seq DESC LIMIT 1) AS last ON true"
            ),
        },
        columns={
            "namespace": "pod.namespace",
            "name": "pod.name",
            "status": _POD_STATUS,
            "node": "pod.node_name",
            "owner": "pod.owner",
            "profile": "pod.scheduler_name",
            "priority": "pod.priority",
            "created": "pod.created_at",
            "attempts": "coalesce(last.number, 0)",
            "result": "coalesce(last.result, '')",
            "message": f"CASE WHEN {_PENDING} THEN coalesce(last.message, '') ELSE '' END",
            "uid": "pod.uid",
        },
        rejections="last.rejections",
        rejected=_PENDING,
        conditions={
            **_of_object("pod.namespace", "pod.name", "pod.created_at"),
            "status": _pod_status,
            "node": named("pod.node_name"),
            "owner": _pod_owner,
            "profile": named("pod.scheduler_name"),
            "priority": compared("pod.priority"),
            "attempts": compared("coalesce(last.number, 0)"),
            "result": named("coalesce(last.result, '')"),
        },
    ),
    "attempts": Source(
        table=f"{ATTEMPT} AS attempt",
        key=("seq",),
        columns=_columns("attempts", _ATTEMPT_COLUMNS),
        orders={"duration": f"coalesce({_DURATION}, -1)"},
        rejections="attempt.rejections",
        conditions=_ATTEMPT_CONDITIONS,
    ),
    "preemptions": Source(
        table=f"{ATTEMPT} AS attempt",
        key=("seq",),
        only="attempt.preemption IS NOT NULL",
        columns=_columns("preemptions", _ATTEMPT_COLUMNS),
        rejections="attempt.rejections",
        conditions={**_ATTEMPT_CONDITIONS, "node": named(_NOMINATED)},
    ),
    "nodes": Source(
        table=f"{NODE} AS node",
        key=("name",),
        columns={
            "name": "node.name",
            "status": _NODE_STATUS,
            "zone": "node.zone",
            "region": "node.region",
            "pods": _PODS_ON,
            "uid": "node.uid",
        },
        conditions={"": part_of("node.name"), "node": named("node.name"), "status": named(_NODE_STATUS)},
    ),
    "workloads": Source(
        table=(
            "jsonb_to_recordset(%(rows)s::jsonb) AS workload (cluster_id bigint, uid text, kind text, namespace text,"
            " name text, status text, created timestamptz, message text, wanted bigint, ready bigint, updated bigint,"
            " available bigint)"
        ),
        key=("namespace", "name", "kind"),
        made=workload_rows,
        columns={column.name: f"workload.{column.name}" for column in LISTS["workloads"].columns},
        orders={name: f"coalesce(workload.{name}, -1)" for name in ("wanted", "ready", "updated", "available")},
        conditions={
            **_of_object("workload.namespace", "workload.name", "workload.created"),
            "status": named("workload.status"),
            "kind": named("workload.kind"),
        },
    ),
    "events": Source(
        table=f"{EVENT} AS event",
        key=("id",),
        columns={
            "id": "event.id",
            "seen": "event.last_at",
            "type": "event.type",
            "reason": "event.reason",
            "kind": "event.regarding_kind",
            "namespace": "event.regarding_namespace",
            "name": "event.regarding_name",
            "times": "event.count",
            "message": "event.note",
            "uid": "event.regarding_uid",
        },
        conditions={
            **_of_object("event.regarding_namespace", "event.regarding_name || ' ' || event.note", "event.last_at"),
            "type": named("event.type"),
            "kind": named("event.regarding_kind"),
            "reason": part_of("event.reason"),
        },
    ),
    "changes": Source(
        table=f"{CHANGE} AS change",
        key=("rv",),
        only=f"change.kind NOT IN ({_CONFIDENTIAL})",
        columns={
            "rv": "change.rv",
            "seen": "change.at",
            "operation": "change.operation",
            "kind": "change.kind",
            "namespace": "change.namespace",
            "name": "change.name",
            "actor": "change.actor",
            "uid": "change.uid",
        },
        conditions={
            **_of_object("change.namespace", "change.name", "change.at"),
            "operation": named("change.operation"),
            "kind": named("change.kind"),
            "actor": named("change.actor"),
        },
    ),
}
