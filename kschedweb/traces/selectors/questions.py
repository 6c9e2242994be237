"""Questions over many attempts, each one request: who was refused on a node, what took longest.

The summary index (`refused`, `last_seen_at`, `duration_us`) leaves few attempts; only of those a matrix is opened, and
of a matrix only what it says of one node. A question that would take too long answers with what it has found, and from
where to go on.
"""

import time
from collections.abc import Callable

from django.db import transaction
from django.db.models import QuerySet

from kschedweb.traces import adapters
from kschedweb.traces.models import Attempt
from kschedweb.traces.selectors.attempts import LAST_ATTEMPT, AttemptFilter, attempts, order_names
from kschedweb.traces.selectors.now import refusals_now
from kschedweb.views import NodeRefusal, NodeRefusals

QUESTION_SECONDS = 0.7
ROWS_AT_ONCE = 500
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
