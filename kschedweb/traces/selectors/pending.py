"""What keeps pending pods from nodes: their last attempts, added up by reason. Where pods are is what queues say."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

from kschedweb.cluster.choices import TERMINAL_PHASES
from kschedweb.cluster.models import Cluster
from kschedweb.common.reading import PRESENT, Tables
from kschedweb.traces import adapters
from kschedweb.views import Pending, PendingAmounts, PendingPod, PendingReason, Unqueued

EXAMPLES = 5
SUBJECTS = 3  # of one reason

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


# Amounts stand in the order of the rejections, each as scheduler_core.model.amounts packs it: [kind, subject, nodes,
# asked, there, ...].
PENDING_AMOUNTS = """
    WITH asked AS (
        SELECT pod.uid, pod.namespace || '/' || pod.name AS key, pod.created_at, reason.plugin, reason.reason, about,
               CASE WHEN (about->>0)::int = ANY (%s) THEN (about->>3)::bigint END AS asked, (about->>4)::bigint AS there
        FROM cluster_pod AS pod
        CROSS JOIN LATERAL (
            SELECT rejections, amounts FROM traces_attempt AS attempt
            WHERE attempt.cluster_id = pod.cluster_id AND attempt.pod_uid = pod.uid
            ORDER BY attempt.seq DESC LIMIT 1
        ) AS last
        CROSS JOIN LATERAL ROWS FROM (
            jsonb_to_recordset(last.rejections) AS (plugin text, reason text), json_array_elements(last.amounts)
        ) AS reason (plugin, reason, amounts)
        CROSS JOIN LATERAL json_array_elements(reason.amounts) AS about
        WHERE pod.cluster_id = %s AND pod.node_name = '' AND NOT pod.phase = ANY (%s)
          AND pod.scheduler_name = ANY (%s)
    )
    SELECT plugin, reason, count(DISTINCT uid), min(asked), max(asked),
           (array_agg(key ORDER BY asked - there, created_at, key))[1],
           (array_agg(about ORDER BY asked - there, created_at, key))[1]
    FROM asked GROUP BY plugin, reason, about->>0, about->>1 ORDER BY 3 DESC, about->>1
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
        values = pending_values(cluster_id, profiles)
        cursor.execute(tables.under(PENDING_AMOUNTS), [*tables.values, adapters.ASKED_IN_AMOUNTS, *values])
        amounts = _amounts(cursor.fetchall())
        cursor.execute(tables.under(PENDING_REASONS), [*tables.values, *values, EXAMPLES, limit])
        reasons = [
            PendingReason(plugin, reason, pods, nodes, share, examples, amounts.get((plugin, reason), ()))
            for plugin, reason, pods, nodes, share, examples in cursor
        ]
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


def pending_values(cluster_id: int, profiles: Sequence[str]) -> list[Any]:
    """Which pods PENDING_REASONS and PENDING_AMOUNTS are about."""
    return [cluster_id, _ended(), list(profiles)]


def _amounts(rows: Sequence[Sequence[Any]]) -> Mapping[tuple[str, str], Sequence[PendingAmounts]]:
    """Rows of PENDING_AMOUNTS by plugin and reason, the first subjects of each."""
    found: defaultdict[tuple[str, str], list[PendingAmounts]] = defaultdict(list)
    for plugin, reason, pods, least, most, key, packed in rows:
        kept = found[plugin, reason]
        if len(kept) < SUBJECTS:
            kept += [PendingAmounts(pods, least, most, key, each) for each in adapters.amounts_views([packed])]
    return found


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
