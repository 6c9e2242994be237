"""Requests of the API server on a cluster's objects: one transaction each, decided by the rules of the core.

Whoever has more to write in the same transaction uses `server_of` and its store, as the scheduler does.
"""

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from kschedweb.cluster import clock, follow
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Cluster, Node
from kschedweb.cluster.store import PostgresStore
from kschedweb.common import wake
from kschedweb.common.errors import (
    ApplicationError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    TooManyError,
    UnsupportedError,
)
from scheduler_core.api.custom import is_custom
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.pods import EVICTED
from scheduler_core.apiserver.requests import Delete, Evict, ObjectKey, Patch, Propagation, Request
from scheduler_core.apiserver.server import Answer, ApiServer
from scheduler_core.apiserver.store import Operation
from scheduler_core.controllers.drain import DRAIN, REQUESTED
from scheduler_core.controllers.node_agent import KUBELET, KUBELET_SINCE, KUBELET_UNTIL, AgentState

_ERRORS = {
    400: InvalidError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    422: InvalidError,
    429: TooManyError,
    500: UnsupportedError,
}


def server_of(cluster_id: int, actor: str, *, keeps_namespaces: bool = False) -> ApiServer[PostgresStore]:
    """The API server of a cluster for the transaction under way."""
    return ApiServer(
        PostgresStore(cluster_id, actor),
        new_uid,
        keeps_namespaces=keeps_namespaces,
        plugins=settings.ADMISSION_PLUGINS,
    )


def requests_carry_out(
    *, cluster_id: int, requests: Sequence[Request], actor: str, now: int, keeps_namespaces: bool = False
) -> list[Answer]:
    """Carry out the requests in one transaction and wake the scheduler; the answers, in their order.

    `keeps_namespaces`: a controller empties namespaces that are deleted.
    ConflictError when an object was created by another transaction at the same moment.
    """
    if not requests:
        return []
    try:
        with transaction.atomic():
            server = server_of(cluster_id, actor, keeps_namespaces=keeps_namespaces)
            answers = server.carry_out(requests, now)
            wake.once_after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    except IntegrityError as error:
        raise ConflictError("another request made one of these objects at the same moment") from error
    return answers


def object_delete(
    *,
    cluster_id: int,
    kind: str,
    namespace: str,
    name: str,
    actor: str,
    uid: str = "",
    grace_seconds: int | None = None,
) -> bool:
    """Delete an object, as kubectl does; whether it is gone already. NotFoundError, ConflictError for another uid."""
    if kind not in KINDS and not is_custom(kind):
        raise NotFoundError(f"{kind} is not understood", kind=kind)
    request = Delete(ObjectKey(kind, namespace, name), grace_seconds, Propagation.BACKGROUND, uid)
    outcome = _carry_out(cluster_id, request, actor)
    return any(change.operation == Operation.DELETED for change in outcome.changes)


def pod_delete(
    *, cluster_id: int, namespace: str, name: str, actor: str, grace_seconds: int | None = None, uid: str = ""
) -> bool:
    """Delete a pod; see `object_delete`."""
    return object_delete(
        cluster_id=cluster_id,
        kind="Pod",
        namespace=namespace,
        name=name,
        actor=actor,
        uid=uid,
        grace_seconds=grace_seconds,
    )


def pod_evict(
    *, cluster_id: int, namespace: str, name: str, actor: str, grace_seconds: int | None = None, uid: str = ""
) -> bool:
    """Evict a pod as the eviction API does; whether it is gone already. TooManyError when a budget keeps it."""
    key = ObjectKey("Pod", namespace, name)
    request = Evict(key, *EVICTED, uid, grace_seconds=grace_seconds, asks_budgets=True)
    outcome = _carry_out(cluster_id, request, actor)
    return any(change.operation == Operation.DELETED for change in outcome.changes)


def node_update(
    *,
    cluster_id: int,
    name: str,
    unschedulable: bool | None = None,
    taints: Sequence[dict[str, Any]] | None = None,
    actor: str,
    **actions: Any,
) -> Node:
    """Cordon or uncordon a node, replace its taints; what is None stays. For `actions` see `node_annotations`."""
    body: dict[str, Any] = {"spec": {}}
    if unschedulable is not None:
        body["spec"]["unschedulable"] = unschedulable or None
    if taints is not None:
        body["spec"]["taints"] = [dict(taint) for taint in taints] or None
    annotations = node_annotations(clock.now_of(cluster_id), **actions)
    if annotations:
        if not _is_simulated(cluster_id):
            raise ConflictError("nothing happens to the nodes of a frozen cluster", cluster=cluster_id)
        body["metadata"] = {"annotations": annotations}
    _carry_out(cluster_id, Patch(ObjectKey(Node.__name__, "", name), body), actor)
    return Node.objects.get(cluster_id=cluster_id, name=name)


def node_annotations(
    now: int, *, kubelet: str | None = None, kubelet_seconds: int | None = None, drain: bool | None = None
) -> dict[str, str | None]:
    """The annotations by which a node's controllers are told what to do; InvalidError for a time without a state."""
    annotations: dict[str, str | None] = {}
    if kubelet is not None:
        is_back = kubelet == AgentState.RUNNING
        annotations = {KUBELET: kubelet, KUBELET_SINCE: None if is_back else time_text(now), KUBELET_UNTIL: None}
    if kubelet_seconds is not None:
        if kubelet in (None, AgentState.RUNNING):
            raise InvalidError("only a kubelet that is not running can come back", field="kubelet_seconds")
        annotations[KUBELET_UNTIL] = time_text(now + kubelet_seconds * follow.MICROSECOND)
    if drain is not None:
        annotations[DRAIN] = REQUESTED if drain else None
    return annotations


def error_of(status: Status) -> ApplicationError:
    """The error of a refused request."""
    extra: dict[str, Any] = {"kind": status.kind, "name": status.name}
    if status.causes and status.causes[0].field:
        extra["field"] = status.causes[0].field
    if status.code == TooManyError.status_code:
        extra |= {"reason": status.causes[0].message, "retry_after_seconds": status.retry_after_seconds}
    return _ERRORS.get(status.code, ApplicationError)(status.message, **extra)


def _is_simulated(cluster_id: int) -> bool:
    return Cluster.objects.filter(pk=cluster_id, lifecycle_mode=LifecycleMode.SIMULATE).exists()


def _carry_out(cluster_id: int, request: Delete | Patch | Evict, actor: str) -> Outcome:
    is_simulated = request.key.kind == "Namespace" and _is_simulated(cluster_id)
    (answer,) = requests_carry_out(
        cluster_id=cluster_id,
        requests=[request],
        actor=actor,
        now=clock.now_of(cluster_id),
        keeps_namespaces=is_simulated,
    )
    if isinstance(answer, Refused):
        raise error_of(answer.status)
    return answer


def new_uid() -> str:
    """The uid of a new object."""
    return str(uuid.uuid4())
