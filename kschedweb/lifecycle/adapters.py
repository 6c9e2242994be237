"""Requests of controllers, carried out by the services that any user's request goes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.services import ObjectPatch, PutOptions, StatusUpdate
from kschedweb.common import wake
from kschedweb.common.errors import NotFoundError
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request


def requests_carry_out(*, cluster_id: int, requests: Sequence[Request], actor: str, now: datetime) -> None:
    """Carry out the requests and wake the scheduler; skip those whose object is gone, or there already."""
    statuses: list[StatusUpdate] = []
    removals: list[str] = []
    items: list[Item] = []
    patches: list[ObjectPatch] = []
    others: list[Callable[[], object]] = []
    for request in requests:
        match request:
            case Patch(key=ObjectKey(kind="Pod")):
                statuses.append(_status_update(request))
            case Patch(key=ObjectKey(kind="Node", name=name), body=body):
                closed = bool(_mapping(body)["spec"]["unschedulable"])
                others.append(_node_update(cluster_id, name, closed, actor))
            case Patch(key=key):
                patches.append(ObjectPatch(key.kind, key.namespace, key.name, request.uid, _mapping(request.body)))
            case Delete(key=ObjectKey(kind="Pod"), grace_seconds=0):
                removals.append(request.uid)
            case Delete():
                others.append(_deletion(cluster_id, request, actor))
            case Create(manifest=manifest):
                items.append(Item(Place(actor), dict(manifest), str(manifest["apiVersion"]), str(manifest["kind"])))
            case _:
                raise TypeError(f"no service carries out {request!r}")
    # One transaction each: pods are locked in the order of their ids, which holds within one call only.
    if statuses:
        _commit(
            cluster_id,
            lambda: cluster_services.pods_status_update(cluster_id=cluster_id, updates=statuses, actor=actor, now=now),
        )
    if removals:
        _commit(cluster_id, lambda: cluster_services.pods_remove(cluster_id=cluster_id, uids=removals, actor=actor))
    for carry_out in others:
        try:
            carry_out()
        except NotFoundError:
            continue
    if items:
        # `partial`: one that exists already is no reason to refuse the others.
        cluster_services.objects_put(
            cluster_id=cluster_id, items=items, options=PutOptions(create=True, partial=True), actor=actor
        )
    if patches:
        _commit(cluster_id, lambda: cluster_services.objects_patch(cluster_id=cluster_id, patches=patches, actor=actor))
    if requests:
        wake.send("scheduling.ensure_leader", cluster_id=cluster_id)


def _commit(cluster_id: int, write: Callable[[], list[ChangeEntry]]) -> None:
    with transaction.atomic():
        changes_commit(cluster_id=cluster_id, entries=write())


def _node_update(cluster_id: int, name: str, unschedulable: bool, actor: str) -> Callable[[], object]:
    return lambda: cluster_services.node_update(
        cluster_id=cluster_id, name=name, unschedulable=unschedulable, actor=actor
    )


def _deletion(cluster_id: int, request: Delete, actor: str) -> Callable[[], object]:
    key, uid = request.key, request.uid
    if key.kind == "Pod":
        return lambda: cluster_services.pod_delete(
            cluster_id=cluster_id, namespace=key.namespace, name=key.name, uid=uid, actor=actor
        )
    return lambda: cluster_services.object_delete(
        cluster_id=cluster_id, kind=key.kind, namespace=key.namespace, name=key.name, uid=uid, actor=actor
    )


def _status_update(request: Patch) -> StatusUpdate:
    status = _mapping(request.body)["status"]
    started = status.get("startTime")
    conditions = {
        each["type"]: (each["status"], each.get("reason") or "", each.get("message") or "")
        for each in status.get("conditions", ())
    }
    return StatusUpdate(
        pod_uid=request.uid,
        phase=status.get("phase"),
        start_time=None if started is None else datetime.fromisoformat(started),
        conditions=conditions,
    )


def _mapping(body: Any) -> dict[str, Any]:
    assert not isinstance(body, list), "no controller sends a JSON patch"
    return dict(body)
