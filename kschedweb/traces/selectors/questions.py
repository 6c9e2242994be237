"""Questions over many attempts, each one request: who was refused on a node, what pods wait for, what took longest.

The summary index (`refused`, `last_seen_at`, `duration_us`) leaves few attempts; only of those a matrix is opened, and
of a matrix only what it says of one node. A question that would take too long answers with what it has found, and from
where to go on.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from kschedweb.cluster.choices import TERMINAL_PHASES
from kschedweb.cluster.models import Cluster
from kschedweb.common.reading import PRESENT, Tables
from kschedweb.traces import adapters
from kschedweb.traces.models import Attempt
from kschedweb.traces.selectors.attempts import LAST_ATTEMPT, AttemptFilter, attempts, order_names
from kschedweb.traces.selectors.now import refusals_now
from kschedweb.views import NodeRefusal, NodeRefusals, Pending, PendingPod, PendingReason, Unqueued

QUESTION_SECONDS = 0.7
ROWS_AT_ONCE = 500
EXAMPLES = 5
_ATTEMPT_COLUMNS = ("namespace", "name", "seq", "last_number", "result", "last_seen_at", "repeat_count")


def node_refusals(
    cluster_id: int,
    node: str,
    wanted: AttemptFilter,
    *,
    limit: int,
    before: int | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> NodeRefusals:
    """Pods rejected on the node, by `wanted.plugin` and for `wanted.reason` where given; each pod once."""
    ends_at = monotonic() + QUESTION_SECONDS
    found: dict[str, NodeRefusal] = {}
    places: dict[str, int | None] = {}  # of the node in each order of nodes
    examined = 0
    # Tuples, as making an object of each row would take longer than reading its matrix.
    asked = refused_attempts(cluster_id, wanted, before).annotate(last_number=LAST_ATTEMPT)
    rows = asked.values_list("pod_uid", "node_order", "matrix", *_ATTEMPT_COLUMNS)
    with transaction.atomic():  # a cursor of the server lives in a transaction; nothing is fetched before it is needed
        for pod_uid, node_order, matrix, *columns in rows.iterator(chunk_size=ROWS_AT_ONCE):
            if len(found) >= limit or monotonic() > ends_at:
                before = columns[_ATTEMPT_COLUMNS.index("seq")] + 1
                return NodeRefusals(refusals_now(cluster_id, node, found.values()), examined, before)
            if pod_uid in found or matrix is None:
                continue
            if node_order not in places:
                names = order_names(cluster_id, node_order)
                places[node_order] = names.index(node) if node in names else None
            place = places[node_order]
            if place is None:
                continue
            examined += 1
            refusal = adapters.refusal_view(bytes(matrix), place)
            if refusal is None or (wanted.plugin and refusal.plugin != wanted.plugin):
                continue
            if wanted.reason and wanted.reason not in refusal.reasons:
                continue
            namespace, name, seq, attempt, result, seen_at, repeats = columns
            found[pod_uid] = NodeRefusal(
                pod_uid=pod_uid,
                namespace=namespace,
                name=name,
                seq=seq,
                attempt=attempt,
                result=result,
                seen_at=seen_at,
                times=repeats + 1,
                plugin=refusal.plugin,
                code=refusal.code,
                reasons=refusal.reasons,
                now=None,
            )
    return NodeRefusals(refusals_now(cluster_id, node, found.values()), examined, None)


def refused_attempts(cluster_id: int, wanted: AttemptFilter, before: int | None = None) -> QuerySet[Attempt]:
    """The attempts the summary index leaves, the newest first, with their matrices."""
    found = attempts(cluster_id, wanted).exclude(refused=[]).order_by("-seq")
    if before is not None:
        found = found.filter(seq__lt=before)
    return found.defer(None)


def slowest_attempts(cluster_id: int, wanted: AttemptFilter) -> QuerySet[Attempt]:
    """The attempts that took longest, the slowest first."""
    return attempts(cluster_id, wanted).order_by("-duration_us", "-seq")


PENDING_REASONS = """
    WITH rejected AS (
        SELECT pod.uid, pod.namespace || '/' || pod.name AS key, pod.created_at, reason.plugin, reason.reason,
               sum(reason.count) AS nodes, least(1, sum(reason.count) / greatest(last.evaluated, 1)) AS share
        FROM cluster_pod AS pod
        CROSS JOIN LATERAL (
            SELECT rejections, evaluated FROM traces_attempt AS attempt
            WHERE attempt.cluster_id = pod.cluster_id AND attempt.pod_uid = pod.uid
            ORDER BY attempt.seq DESC LIMIT 1
        ) AS last
        CROSS JOIN LATERAL jsonb_to_recordset(last.rejections) AS reason (plugin text, reason text, count bigint)
        WHERE pod.cluster_id = %s AND pod.node_name = '' AND NOT pod.phase = ANY (%s)
          AND pod.scheduler_name = ANY (%s)
        GROUP BY pod.uid, pod.namespace, pod.name, pod.created_at, last.evaluated, reason.plugin, reason.reason
    )
    SELECT plugin, reason, count(*), sum(nodes)::bigint, round(sum(share), 3)::float8,
           (array_agg(key ORDER BY created_at, key))[1:%s]
    FROM rejected GROUP BY plugin, reason ORDER BY 5 DESC, plugin, reason LIMIT %s
"""


PENDING_PLACES = """
    WITH state AS (SELECT cluster_id, pod_uid, queue FROM traces_queuestate)
    SELECT coalesce(state.queue, ''), pod.scheduler_name, count(*)
    FROM cluster_pod AS pod
    LEFT JOIN state ON state.cluster_id = pod.cluster_id AND state.pod_uid = pod.uid
    WHERE pod.cluster_id = %s AND pod.node_name = '' AND NOT pod.phase = ANY (%s)
    GROUP BY 1, 2 ORDER BY 1, 2
"""


def pending_summary(
    cluster_id: int, limit: int = 50, *, tables: Tables = PRESENT, profiles: Sequence[str] | None = None
) -> Pending:
    """Count the unassigned pods: by where they are, each once, and by the reasons of their last rejection.

    First comes what keeps most nodes from them. `profiles`: those of then, with the `tables` of then. Pods that no
    profile has are none of the scheduler's: what rejected them while one had them keeps nothing from them now.
    """
    profiles = _profiles(cluster_id) if profiles is None else profiles
    with connection.cursor() as cursor:
        cursor.execute(tables.under(PENDING_PLACES), [*tables.values, cluster_id, _ended()])
        places = cursor.fetchall()
        cursor.execute(tables.under(PENDING_REASONS), [*tables.values, *pending_values(cluster_id, profiles, limit)])
        reasons = [PendingReason(*row) for row in cursor]
    queues: Counter[str] = Counter()
    no_profile: Counter[str] = Counter()
    unseen = 0
    for queue, scheduler, pods in places:
        if queue:
            queues[queue] += pods
        elif scheduler in profiles:
            unseen += pods
        else:
            no_profile[scheduler] += pods
    return Pending(
        pods=queues.total() + no_profile.total() + unseen,
        queues=dict(queues),
        unqueued=Unqueued(no_profile=dict(no_profile), unseen=unseen),
        profiles=profiles,
        reasons=reasons,
    )


def pending_values(cluster_id: int, profiles: Sequence[str], limit: int) -> list[Any]:
    """Parameters of PENDING_REASONS."""
    return [cluster_id, _ended(), list(profiles), EXAMPLES, limit]


PENDING_PODS = """
    WITH pod AS (SELECT * FROM cluster_pod)
    SELECT pod.uid, pod.namespace, pod.name, pod.created_at, last.seq, last.number, last.last_seen_at, last.message,
           sum(reason.count)::bigint
    FROM pod
    CROSS JOIN LATERAL (
        SELECT seq, coalesce((last_repeat->>'attempt')::int, attempt.attempt + repeat_count) AS number, last_seen_at,
               message, rejections
        FROM traces_attempt AS attempt
        WHERE attempt.cluster_id = pod.cluster_id AND attempt.pod_uid = pod.uid
        ORDER BY attempt.seq DESC LIMIT 1
    ) AS last
    CROSS JOIN LATERAL jsonb_to_recordset(last.rejections) AS reason (plugin text, reason text, count bigint)
    WHERE pod.cluster_id = %s AND pod.node_name = '' AND NOT pod.phase = ANY (%s)
      AND pod.scheduler_name = ANY (%s) AND (reason.plugin = %s OR %s = '') AND (reason.reason = %s OR %s = '')
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY pod.created_at, pod.namespace, pod.name LIMIT %s
"""


def pending_pods(
    cluster_id: int,
    *,
    plugin: str,
    reason: str,
    limit: int,
    tables: Tables = PRESENT,
    profiles: Sequence[str] | None = None,
) -> list[PendingPod]:
    """The unassigned pods last rejected by this plugin and for this reason, longest pending first."""
    names = list(_profiles(cluster_id) if profiles is None else profiles)
    with connection.cursor() as cursor:
        values: list[Any] = [cluster_id, _ended(), names, plugin, plugin, reason, reason, limit]
        cursor.execute(tables.under(PENDING_PODS), [*tables.values, *values])
        return [PendingPod(*row) for row in cursor]


def _ended() -> list[str]:
    return [str(phase) for phase in TERMINAL_PHASES]


def _profiles(cluster_id: int) -> Sequence[str]:
    """Names of the profiles the scheduler has."""
    return Cluster.objects.filter(pk=cluster_id).values_list("profiles", flat=True).first() or ()
