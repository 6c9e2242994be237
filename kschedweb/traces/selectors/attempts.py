"""Attempts: by what was found and when, one with its matrix in pages, searches for victims, and the digest over all.

A span of time means when an attempt was seen: a repeat is stored with the attempt it repeats, and counts when it was
seen last. Rows are read without matrices unless one is asked for.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import msgspec
import orjson
from django.db.models import Case, F, IntegerField, OuterRef, QuerySet, Subquery, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, JSONObject

from kschedweb import views
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.cluster.models import Pod
from kschedweb.common.errors import NotFoundError
from kschedweb.traces import adapters
from kschedweb.traces.models import Attempt, NodeOrder
from kschedweb.traces.selectors.now import matrix_now
from kschedweb.views import MatrixQuery, PreemptionQuery, view_of
from scheduler_core import typed

_HEAVY = ("matrix", "digest")
_WHOLE = MatrixQuery(limit=sys.maxsize)
EVERY_NODE = PreemptionQuery(limit=sys.maxsize)
# As Attempt.last_attempt.
LAST_ATTEMPT = Coalesce(
    Cast(KeyTextTransform("attempt", "last_repeat"), IntegerField()), F("attempt") + F("repeat_count")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFilter:
    """Which attempts; empty values and None match everything. `plugin` and `reason` are of a rejection."""

    namespace: str = ""
    name: str = ""
    node: str = ""
    result: str = ""
    profile: str = ""
    plugin: str = ""
    reason: str = ""
    since: datetime | None = None
    until: datetime | None = None
    min_duration_us: int = 0


def _stored(cluster_id: int) -> QuerySet[Attempt]:
    """The attempts of a cluster with what views tell of them; without matrices."""
    before = Attempt.objects.filter(
        cluster_id=OuterRef("cluster_id"),
        pod_uid=OuterRef("pod_uid"),
        seq__lt=OuterRef("seq"),
        nominated_node_name__isnull=False,
    )
    last = before.order_by("-seq")
    victims = Coalesce(Cast(KeyTextTransform("num_victims", "preemption"), IntegerField()), 0)
    told = last.values(told=JSONObject(seq="seq", attempt=LAST_ATTEMPT, num_victims=victims))[:1]
    is_of_it = When(tried_first=True, node_name=Subquery(last.values("nominated_node_name")[:1]), then=Subquery(told))
    found = Attempt.objects.defer(*_HEAVY).filter(cluster_id=cluster_id)
    return found.annotate(nominated_by=Case(is_of_it, default=None))


def attempts(cluster_id: int, wanted: AttemptFilter | None = None) -> QuerySet[Attempt]:
    """The attempts asked for, without matrices, in no order."""
    wanted = wanted or AttemptFilter()
    found = _stored(cluster_id)
    equal = {"namespace": "namespace", "name": "name", "node": "node_name", "result": "result", "profile": "profile"}
    found = found.filter(**{column: value for name, column in equal.items() if (value := getattr(wanted, name))})
    if words := [word for word in (wanted.plugin, wanted.reason) if word]:
        found = found.filter(refused__contains=words)
    if wanted.plugin and wanted.reason:
        # Both words may stand in different rejections.
        found = found.filter(rejections__contains=[{"plugin": wanted.plugin, "reason": wanted.reason}])
    if wanted.since is not None:
        found = found.filter(last_seen_at__gte=wanted.since)
    if wanted.until is not None:
        found = found.filter(started_at__lt=wanted.until)
    if wanted.min_duration_us:
        found = found.filter(duration_us__gte=wanted.min_duration_us)
    return found


def pod_attempts(cluster_id: int, namespace: str, name: str, attempt: int | None = None) -> QuerySet[Attempt]:
    """The attempts of the pod that has this name now, or of all that had it; those of a number; without matrices."""
    uid = Pod.objects.filter(cluster_id=cluster_id, namespace=namespace, name=name).values_list("uid", flat=True)
    return pod_attempts_of(cluster_id, namespace, name, uid.first(), attempt)


def pod_attempts_of(
    cluster_id: int, namespace: str, name: str, present: str | None, attempt: int | None = None
) -> QuerySet[Attempt]:
    """The same, where `present` is the uid of the pod that has the name; None: no pod has it."""
    attempts = _stored(cluster_id)
    if attempt is not None:
        attempts = attempts.alias(last_number=LAST_ATTEMPT).filter(attempt__lte=attempt, last_number__gte=attempt)
    return attempts.filter(pod_uid=present) if present is not None else attempts.filter(namespace=namespace, name=name)


def attempt_get(cluster_id: int, seq: int) -> Attempt:
    attempt = _stored(cluster_id).defer(None).filter(seq=seq).first()
    if attempt is None:
        raise NotFoundError("the attempt does not exist", seq=seq)
    return attempt


def attempt_view(attempt: Attempt) -> views.Attempt:
    """The attempt without its matrix."""
    told = view_of(views.Attempt, attempt)
    if not attempt.amounts:
        return told
    rejections = [
        msgspec.structs.replace(each, amounts=adapters.amounts_views(stored))
        for each, stored in zip(told.rejections, attempt.amounts, strict=True)
    ]
    return msgspec.structs.replace(told, rejections=rejections)


def attempt_detail(attempt: Attempt, query: MatrixQuery) -> views.AttemptDetail:
    """The attempt with one page of its matrix."""
    return views.AttemptDetail(
        **msgspec.structs.asdict(attempt_view(attempt)),
        seed=attempt_seed(attempt),
        digest=bytes(attempt.digest).hex(),
        matrix=attempt_matrix(attempt, query),
    )


def attempt_matrix(attempt: Attempt, query: MatrixQuery = _WHOLE) -> views.Matrix | None:
    """The attempt's matrix with one page of its nodes; None when none is stored."""
    if attempt.matrix is None:
        return None
    names = order_names(attempt.cluster_id, attempt.node_order)
    try:
        matrix = adapters.matrix_view(bytes(attempt.matrix), names, query)
    except adapters.TraceError as error:
        raise NotFoundError(f"the matrix of this attempt cannot be read: {error}", seq=attempt.seq) from error
    return matrix_now(attempt.cluster_id, attempt.pod_uid, matrix) if query.now else matrix


def attempt_preemption(attempt: Attempt, query: PreemptionQuery) -> views.PreemptionSearch:
    """The attempt's search for victims with one page of its nodes; NotFoundError when none is stored."""
    found = None
    if attempt.matrix is not None:
        names = order_names(attempt.cluster_id, attempt.node_order)
        try:
            found = adapters.preemption_search(bytes(attempt.matrix), names, query)
        except adapters.TraceError as error:
            raise NotFoundError(f"the matrix of this attempt cannot be read: {error}", seq=attempt.seq) from error
    if found is None:
        raise NotFoundError("no search for victims is kept of this attempt", seq=attempt.seq)
    return found


def attempt_seed(attempt: Attempt) -> int:
    """The seed of every draw in the attempt: its cluster's, which never changes."""
    return cluster_selectors.cluster_get(attempt.cluster_id).seed


def preemptions(cluster_id: int, wanted: AttemptFilter | None = None) -> QuerySet[Attempt]:
    """The attempts that looked for victims, with their matrices, in no order."""
    found = attempts(cluster_id, wanted).filter(preemption__isnull=False)
    return found.defer(None).defer("digest")


def preemption_attempts(
    found: Iterable[Attempt], query: PreemptionQuery | None = None
) -> Iterator[views.PreemptionAttempt]:
    """Each with its search for victims, and with the nodes `query` asks for, if given."""
    orders: dict[str, tuple[str, ...]] = {}
    for attempt in found:
        if attempt.matrix is not None and attempt.node_order not in orders:
            orders[attempt.node_order] = order_names(attempt.cluster_id, attempt.node_order)
        yield views.PreemptionAttempt(
            seq=attempt.seq,
            pod_uid=attempt.pod_uid,
            namespace=attempt.namespace,
            name=attempt.name,
            attempt=attempt.attempt,
            started_at=attempt.started_at,
            last_attempt=attempt.last_attempt,
            last_seen_at=attempt.last_seen_at,
            nominated_node_name=attempt.nominated_node_name,
            preemption=typed.convert(attempt.preemption, views.Preemption),
            detail=_preemption_detail(attempt, orders.get(attempt.node_order, ()), query),
        )


def _preemption_detail(
    attempt: Attempt, names: tuple[str, ...], query: PreemptionQuery | None
) -> views.PreemptionDetail | None:
    """The search for victims; None when the matrix is not stored or cannot be read."""
    if attempt.matrix is None:
        return None
    try:
        blob = bytes(attempt.matrix)
        return (
            adapters.preemption_view(blob, names) if query is None else adapters.preemption_search(blob, names, query)
        )
    except adapters.TraceError:
        return None


def order_names(cluster_id: int, digest: str) -> tuple[str, ...]:
    """The names of the nodes in the order attempts refer to; empty when it is not stored."""
    order = NodeOrder.objects.filter(cluster_id=cluster_id, digest=digest).first()
    return adapters.node_names(bytes(order.names)) if order is not None else ()


def first_attempts(cluster_id: int) -> views.Digest:
    """The digest over node and reasons of every pod's first attempt, by the pods' names: equal for equal decisions."""
    rows = (
        Attempt.objects.filter(cluster_id=cluster_id)
        .order_by("namespace", "name", "pod_uid", "seq")
        .distinct("namespace", "name", "pod_uid")
        .values_list("namespace", "name", "result", "node_name", "message", "rejections")
    )
    summed = hashlib.sha256()
    count = scheduled = 0
    for namespace, name, result, node_name, message, rejections in rows.iterator(chunk_size=2000):
        reasons = sorted((one["plugin"], one["reason"], one["count"]) for one in rejections)
        summed.update(orjson.dumps([namespace, name, result, node_name, message, reasons]) + b"\n")
        count += 1
        scheduled += bool(node_name)
    return views.Digest(digest=summed.hexdigest(), attempts=count, scheduled=scheduled)
