"""What each list is read from. Tables that are joined have an alias, and are joined where a statement names it.

Every column but those in `orders` is never null, so that rows can be compared with the last one of a page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kschedweb.cluster.models import ApiObject, Cluster, Pod
from kschedweb.query import Term
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

POD, QUEUE, ATTEMPT, OBJECT, CLUSTER = (
    model._meta.db_table for model in (Pod, QueueState, Attempt, ApiObject, Cluster)
)
# As Attempt.last_attempt and Attempt.last_duration_us.
_NUMBER = "coalesce(({0}.last_repeat->>'attempt')::int, {0}.attempt + {0}.repeat_count)"
_DURATION = (
    "coalesce((attempt.last_repeat->>'duration_us')::bigint,"
    " CASE WHEN attempt.repeat_count = 0 THEN attempt.duration_us END)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """`table` with its alias; `key`: the columns that tell rows apart; `orders`: by what columns are sorted instead of
    themselves; `rejections`: where plugin and reason are looked for, and where only."""

    table: str
    key: Sequence[str]
    columns: Mapping[str, str]
    conditions: Mapping[str, Condition]
    joins: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    rejections: str = ""
    rejected: str = "true"

    @property
    def alias(self) -> str:
        return self.table.rpartition(" ")[2]

    def where(self, terms: Sequence[Term], parameters: Parameters) -> str:
        """The condition of all terms."""
        together = [term for term in terms if term.key in ("plugin", "reason") and not term.negated]
        rest = [term for term in terms if term not in together]
        found = [f"{self.alias}.cluster_id = %(cluster)s"]
        if together:
            found.append(self._rejected(together, parameters))
        for term in rest:
            if term.key in ("plugin", "reason"):
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
            "": part_of("(pod.namespace || '/' || pod.name)"),
            "status": _pod_status,
            "ns": named("pod.namespace"),
            "node": named("pod.node_name"),
            "owner": _pod_owner,
            "profile": named("pod.scheduler_name"),
            "priority": compared("pod.priority"),
            "age": aged("pod.created_at"),
            "attempts": compared("coalesce(last.number, 0)"),
            "result": named("coalesce(last.result, '')"),
        },
    ),
    "attempts": Source(
        table=f"{ATTEMPT} AS attempt",
        key=("seq",),
        columns={
            "seq": "attempt.seq",
            "seen": "attempt.last_seen_at",
            "namespace": "attempt.namespace",
            "name": "attempt.name",
            "attempt": _NUMBER.format("attempt"),
            "times": "attempt.repeat_count + 1",
            "result": "attempt.result",
            "node": "attempt.node_name",
            "nominated": "coalesce(attempt.nominated_node_name, '')",
            "profile": "attempt.profile",
            "evaluated": "attempt.evaluated",
            "feasible": "attempt.feasible",
            "duration": _DURATION,
            "message": "attempt.message",
            "uid": "attempt.pod_uid",
        },
        orders={"duration": f"coalesce({_DURATION}, -1)"},
        rejections="attempt.rejections",
        conditions={
            "": part_of("(attempt.namespace || '/' || attempt.name)"),
            "ns": named("attempt.namespace"),
            "node": named("attempt.node_name"),
            "profile": named("attempt.profile"),
            "age": aged("attempt.last_seen_at"),
            "attempts": compared(_NUMBER.format("attempt")),
            "result": named("attempt.result"),
        },
    ),
}
