"""Writes of the controllers: effects carried out through the services any user's request goes through."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.changes import changes_commit
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.services import ObjectPatch, PutOptions, StatusUpdate
from kschedweb.common import wake
from kschedweb.common.errors import NotFoundError

KUBELET_ACTOR = "kubelet"
SCRIPT_ACTOR = "sample"
VOLUME_ACTOR = "volumes"
DISRUPTION_ACTOR = "disruption"


@dataclass(slots=True)
class Orders:
    """What controllers ask for, by kind, in the order asked."""

    updates: list[StatusUpdate] = field(default_factory=list)
    removals: list[str] = field(default_factory=list)  # pod uids
    deletions: list[tuple[str, str, str]] = field(default_factory=list)  # namespace, name, uid
    creations: list[dict[str, Any]] = field(default_factory=list)
    cordons: list[tuple[str, bool]] = field(default_factory=list)
    patches: list[ObjectPatch] = field(default_factory=list)
    object_removals: list[tuple[str, str, str, str]] = field(default_factory=list)  # kind, namespace, name, uid

    def __bool__(self) -> bool:
        work = (self.updates, self.removals, self.deletions, self.creations, self.cordons, self.patches)
        return any(work) or bool(self.object_removals)


def orders_carry_out(*, cluster_id: int, orders: Orders, actor: str, now: datetime) -> None:
    """Write it all; what is gone already, or there already, is passed over. Wakes the scheduler."""
    # One transaction each: pods are locked in the order of their ids, which holds within one call only.
    if orders.updates:
        with transaction.atomic():
            entries = cluster_services.pods_status_update(
                cluster_id=cluster_id, updates=orders.updates, actor=actor, now=now
            )
            changes_commit(cluster_id=cluster_id, entries=entries)
    if orders.removals:
        with transaction.atomic():
            entries = cluster_services.pods_remove(cluster_id=cluster_id, uids=orders.removals, actor=actor)
            changes_commit(cluster_id=cluster_id, entries=entries)
    for name, unschedulable in orders.cordons:
        _unless_gone(cluster_services.node_update, cluster_id, name=name, unschedulable=unschedulable, actor=actor)
    for namespace, name, uid in orders.deletions:
        _unless_gone(cluster_services.pod_delete, cluster_id, namespace=namespace, name=name, uid=uid, actor=actor)
    if orders.creations:
        items = [
            Item(Place(actor), manifest, str(manifest["apiVersion"]), str(manifest["kind"]))
            for manifest in orders.creations
        ]
        # `partial`: one that exists already is no reason to refuse the others.
        cluster_services.objects_put(
            cluster_id=cluster_id, items=items, options=PutOptions(create=True, partial=True), actor=actor
        )
    if orders.patches:
        with transaction.atomic():
            entries = cluster_services.objects_patch(cluster_id=cluster_id, patches=orders.patches, actor=actor)
            changes_commit(cluster_id=cluster_id, entries=entries)
    for kind, namespace, name, uid in orders.object_removals:
        _unless_gone(
            cluster_services.object_delete, cluster_id, kind=kind, namespace=namespace, name=name, uid=uid, actor=actor
        )
    if orders:
        wake.send("scheduling.ensure_leader", cluster_id=cluster_id)


def _unless_gone(service: Any, cluster_id: int, **arguments: Any) -> None:
    try:
        service(cluster_id=cluster_id, **arguments)
    except NotFoundError:
        return
