"""Calls of the API carried out on a cluster in PostgreSQL: in a transaction, then shown in the form agreed on.

Reads see one state of the database and lock nothing, or the state that a moment of the past had (`past`). A write that
collides with another one is decided anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from django.conf import settings
from django.db import IntegrityError, OperationalError, transaction

from kschedweb.cluster import adapters, clock, gone
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.history import ForgottenError, PostgresHistory
from kschedweb.cluster.services.requests import new_uid
from kschedweb.common import wake
from kschedweb.common.errors import ClusterGoneError
from kschedweb.common.reading import one_state
from kschedweb.kubeapi import decoding, event_history, kubelet, media, past
from kschedweb.kubeapi.access import Principal
from kschedweb.kubeapi.defined import route_of, served
from kschedweb.kubeapi.event_history import EventHistory
from kschedweb.kubeapi.exchange import (
    METHOD_NOT_ALLOWED,
    NO_SUCH_RESOURCE,
    Answer,
    RefusedError,
    Request,
    page_not_found,
)
from kschedweb.kubeapi.media import Form
from kschedweb.kubeapi.showing import included, shown
from scheduler_core.api.custom import DEFINITION
from scheduler_core.apiserver import calls, lists
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.bodies import Body
from scheduler_core.apiserver.bootstrap import bootstrap_requests
from scheduler_core.apiserver.calls import Call
from scheduler_core.apiserver.custom.definitions import Definitions
from scheduler_core.apiserver.custom.routes import custom_route, may_be_custom
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.options import first
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.routes import EVENTS_GROUP, Route, route
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import History, key_of
from scheduler_core.apiserver.watch import Watch

TRIES: Final = 5
GROUPS: Final = {kind.group for kind in KINDS.values()} | {
    EVENTS_GROUP,
    "authorization.k8s.io",
    "authentication.k8s.io",
}
_SERIALIZATION, _DEADLOCK = "40001", "40P01"
_PART_KINDS: Final = {
    "binding": ("v1", "Binding"),
    "eviction": ("policy/v1", "Eviction"),
    "scale": ("autoscaling/v1", "Scale"),
}


class Begun(msgspec.Struct):
    """A watch to be streamed: what it watches, in which form, and where the log ended when it began.

    `at` is the time of a moment of the past, after which nothing comes; None in the present.
    """

    watch: Watch
    head: int
    route: Route
    form: Form
    include: str
    at: int | None = None


class Asked(msgspec.Struct, frozen=True):
    """A request that has been read: its place, its call, and the form its client wants."""

    route: Route
    call: Call
    form: Form
    include: str


def answer(request: Request, who: Principal) -> Answer | Begun:
    """Answer a request about objects; RefusedError when it is refused before the rules see it. Blocking."""
    with _existing(who.cluster_id):
        if request.at is not None and may_be_custom(request.path):
            then = past.then(who.cluster_id, request, DEFINITION, custom=True)
            found = custom_route(Definitions(then.store), request.path)
            return _answer_then(request, _asked(request, found, (), who), then, who)
        asked = read(request, who)
        if isinstance(asked, Answer):
            return asked
        if request.method != "GET":
            (written,) = _written([asked], who)
            return written
        if request.at is not None:
            return _answer_then(request, asked, past.then(who.cluster_id, request, asked.route.kind.name), who)
        ensure_bootstrapped(who)
        reply, head = _read(asked.call, who)
        if isinstance(reply, Watch):
            return Begun(reply, head, asked.route, asked.form, included(asked.include))
        return shown(reply, asked.form, asked.include, clock.now_of(who.cluster_id))


def _answer_then(request: Request, asked: Asked | Answer, then: past.Then, who: Principal) -> Answer | Begun:
    """The answer that the API would have given at a moment of the past."""
    if isinstance(asked, Answer):
        return asked
    reply = calls.answer(_server_of(then.store, who), asked.call, then.now)
    if isinstance(reply, Watch):
        head = then.store.position()
        return Begun(reply, head, asked.route, asked.form, included(asked.include), then.now)
    answer = shown(reply, asked.form, asked.include, then.now)
    answer.headers += then.headers
    return answer


@contextmanager
def _existing(cluster_id: int) -> Iterator[None]:
    """One RefusedError in the place of whatever is found, or fails, within the block while the cluster is deleted."""
    try:
        with gone.noticed(cluster_id):
            yield
            gone.check(cluster_id)  # only now is it sure that nothing was missing when it was read
    except ClusterGoneError:
        raise RefusedError(Status(404, "NotFound", "the cluster does not exist")) from None


def read(request: Request, who: Principal) -> Asked | Answer:
    """What a request asks, or the answer of what is no object; RefusedError. Blocking."""
    found = route_of(request, who)
    groups = () if found is not None else {each.group for each in served(request, who)}
    return _asked(request, found, groups, who)


def _asked(request: Request, found: Route | None, groups: Collection[str], who: Principal) -> Asked | Answer:
    """The same of what the path names; `groups` are those of kinds that the cluster defines."""
    if found is None or not found.methods():
        parts = request.path.split("/")
        if found is None and len(parts) > 3 and parts[1] == "apis" and parts[2] not in {*GROUPS, *groups}:
            return page_not_found()
        raise RefusedError(NO_SUCH_RESOURCE)
    if found.name in (".", ".."):
        raise RefusedError(
            Status(400, "BadRequest", f"Name parameter invalid: \"{found.name}\": may not be '{found.name}'")
        )
    if request.method not in found.methods():
        raise RefusedError(METHOD_NOT_ALLOWED)
    if "\0" in request.path:
        raise RefusedError(NO_SUCH_RESOURCE)
    if found.subresource in kubelet.PARTS:
        if request.at is not None:
            return kubelet.answer(past.then(who.cluster_id, request, "Pod", "Node").store, found, request.query)
        with one_state():
            return kubelet.answer(PostgresHistory(who.cluster_id, who.actor), found, request.query)
    is_collection = request.method == "GET" and not found.name
    form = media.form(request.header("accept"), is_list=is_collection)
    return Asked(found, _call(request, found), form, first(request.query, "includeObject") or "Metadata")


def write(together: Sequence[Asked], who: Principal) -> list[Answer]:
    """Carry out writes in one transaction, a single one or several of different objects; their answers. Blocking.

    Several: those that `grouping.object_of` has objects for.
    """
    with _existing(who.cluster_id):
        return _written(together, who)


def _written(together: Sequence[Asked], who: Principal) -> list[Answer]:
    ensure_bootstrapped(who)
    replies, now = _write([asked.call for asked in together], who)
    return [shown(reply, each.form, each.include, now) for each, reply in zip(together, replies, strict=True)]


def _call(request: Request, found: Route) -> Call:
    body, patch_type = Body(), PatchType.MERGE
    if request.method in ("POST", "PUT"):
        body = decoding.read_body(
            request, *_body_kind(found), reads_protobuf=found.definition is None and found.kind.name != DEFINITION
        )
    elif request.method == "PATCH":
        body, patch_type = decoding.read_patch(request)
    elif request.method == "DELETE":
        body = decoding.read_options(request)
    if body.value is not None:
        values = body.value if isinstance(body.value, Mapping) else {"patch": body.value}
        if problem := adapters.storage_problem(values):
            raise RefusedError(Status(400, "BadRequest", problem))
    return Call(request.method, request.path, request.query, body, patch_type, request.header("user-agent"))


def _body_kind(found: Route) -> tuple[str, str]:
    """The version and kind of what is sent to a path."""
    if found.is_bindings:
        return "v1", "Binding"
    return _PART_KINDS.get(found.subresource, (found.api_version, found.kind.said_kind))


def _read(call: Call, who: Principal) -> tuple[Reply | Watch, int]:
    """The reply, and where the log ended then."""
    try:
        with one_state():
            server = _server(who, call)
            reply = calls.answer(server, call, clock.now_of(who.cluster_id))
            return reply, server.store.position() if isinstance(reply, Watch) else 0
    except ForgottenError:
        raise RefusedError(lists.too_old(first(call.query, "continue")).status) from None


def _write(together: Sequence[Call], who: Principal) -> tuple[list[Reply], int]:
    """The replies, and the cluster's time that the calls were carried out at."""
    for left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                now = clock.now_of(who.cluster_id)
                replies = _replies(together, who, now)
                wake.once_after_commit("scheduling.ensure_leader", cluster_id=who.cluster_id)
                if who.lifecycle_mode == LifecycleMode.SIMULATE and any(map(_concerns_controllers, together)):
                    wake.after_commit("lifecycle.tick", cluster_id=who.cluster_id)
            return replies, now
        except IntegrityError:
            # Somebody made the object at the same moment: the next try finds it.
            if not left:
                raise
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") not in (_SERIALIZATION, _DEADLOCK) or not left:
                raise
    raise AssertionError("unreachable")


def _replies(together: Sequence[Call], who: Principal, now: int) -> list[Reply]:
    server = _server(who, together[0])
    if len(together) > 1:
        return calls.answer_together(server, together, now)
    reply = calls.answer(server, together[0], now)
    assert isinstance(reply, Reply)
    return [reply]


def _concerns_controllers(call: Call) -> bool:
    """Whether simulated controllers should look at once; what comes often is found by the sweep."""
    found = route(call.path)
    return found is None or (call.method == "DELETE" or found.kind.name not in ("Pod", "Event", "Lease"))


def _server(who: Principal, call: Call) -> ApiServer[History]:
    """The API server of the cluster for the transaction under way. Where controllers act, nodes are simulated too."""
    store: History
    found = route(call.path)
    if found is not None and found.kind.name == event_history.KIND:
        selector = first(call.query, "fieldSelector")
        store = EventHistory(who.cluster_id, who.actor, clock.now_of(who.cluster_id), selector)
    else:
        store = PostgresHistory(who.cluster_id, who.actor)
    return _server_of(store, who)


def _server_of(store: History, who: Principal) -> ApiServer[History]:
    return ApiServer(
        store,
        new_uid,
        is_simulated=who.lifecycle_mode == LifecycleMode.SIMULATE,
        keeps_namespaces=True,
        plugins=settings.ADMISSION_PLUGINS,
        node=who.node,
    )


_bootstrapped: set[int] = set()


def ensure_bootstrapped(who: Principal) -> None:
    """Make the namespaces and classes every cluster has, when the first request comes.

    A mirror has its source's, and a history from a file those there were.
    """
    if who.is_mirror or who.is_record or who.cluster_id in _bootstrapped:
        return
    missing = []
    with one_state():
        store = PostgresHistory(who.cluster_id, "system:apiserver")
        for request in bootstrap_requests(clock.now_of(who.cluster_id)):
            manifest = request.manifest
            if store.get(key_of(manifest)) is None:
                missing.append(request)
    for request in missing:
        try:
            with transaction.atomic():
                server = ApiServer(PostgresHistory(who.cluster_id, "system:apiserver"), new_uid, is_simulated=False)
                server.carry_out([request], clock.now_of(who.cluster_id))
        except IntegrityError:
            continue  # another process was faster
    _bootstrapped.add(who.cluster_id)
