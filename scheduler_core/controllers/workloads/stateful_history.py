"""The history of StatefulSets: which revision is current, which one pods are updated to, and what is forgotten.

Source: kubernetes v1.34.1, pkg/controller/statefulset/stateful_set_control.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from scheduler_core.api.stored import ControllerRevision
from scheduler_core.api.workload import StatefulSet
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.controllers.object_index import ObjectIndex
from scheduler_core.controllers.workloads.ownership import Ownership
from scheduler_core.controllers.workloads.revisions import (
    equal_revisions,
    in_order,
    new_revision,
    next_number,
    revision_data,
    revision_hash,
)
from scheduler_core.model.changes import ObjectDeleted

HASH = "controller.kubernetes.io/hash"
_DEFAULT_LIMIT = 10


@dataclass(frozen=True, slots=True)
class Revisions:
    """The revisions of one set; `collisions` is how often the name of a new one was taken."""

    all: tuple[ControllerRevision, ...]  # older ones first
    current: ControllerRevision
    update: ControllerRevision
    collisions: int


class History:
    """The revisions of all StatefulSets of one cluster."""

    def __init__(self) -> None:
        self._owned = Ownership(StatefulSet, ObjectIndex(ControllerRevision))
        self._collisions: dict[str, int] = {}  # by uid of the set, since this was made

    def put(self, revision: ControllerRevision) -> None:
        self._owned.put(revision)

    def remove(self, change: ObjectDeleted) -> None:
        self._owned.remove(change)

    def put_owner(self, owner: StatefulSet) -> None:
        self._owned.put_owner(owner)

    def remove_owner(self, owner: StatefulSet) -> None:
        self._owned.remove_owner(ObjectDeleted(owner.kind, owner.namespace, owner.name, owner.uid))
        self._collisions.pop(owner.uid, None)

    def take_touched(self) -> Iterator[str]:
        """Yield the uids of sets whose revisions changed."""
        return (owner.uid for owner in self._owned.take_touched())

    def collided(self, owner: StatefulSet) -> None:
        """The name of the revision to create was taken by another one."""
        self._collisions[owner.uid] = self._collisions.get(owner.uid, 0) + 1

    def look(self, owner: StatefulSet) -> tuple[Revisions | None, list[Request]]:
        """Return the set's revisions; None while the one to update to is made, with what makes it."""
        claimed, patches = self._owned.claimed(owner, lambda revision: True)
        revisions = in_order(claimed)
        collisions = (owner.status.collision_count or 0) + self._collisions.get(owner.uid, 0)
        assert owner.spec.template is not None
        equal = equal_revisions(revisions, owner.spec.template)
        if owner.metadata.deletion_timestamp is not None and (not equal or equal[-1] is not revisions[-1]):
            return None, list(patches)  # the garbage collector takes them away
        if not equal:
            return None, [*patches, Create(self._new(owner, next_number(revisions), collisions))]
        update = equal[-1]
        if update is not revisions[-1]:
            key = ObjectKey(update.kind, update.namespace, update.name)
            return None, [*patches, Patch(key, {"revision": next_number(revisions)}, uid=update.uid)]
        current = next((one for one in revisions if one.name == owner.status.current_revision), update)
        return Revisions(tuple(revisions), current, update, collisions), list(patches)

    def beyond_limit(self, owner: StatefulSet, revisions: Revisions, live: Collection[str]) -> list[Delete]:
        """Delete the oldest revisions that neither the set nor a pod needs, and for which history has no room."""
        limit = owner.spec.revision_history_limit
        needed = {*live, revisions.current.name, revisions.update.name}
        old = [one for one in revisions.all if one.name not in needed]
        room = _DEFAULT_LIMIT if limit is None else limit
        gone = old[: max(0, len(old) - room)] if room >= 0 else []
        return [Delete(ObjectKey(one.kind, one.namespace, one.name), uid=one.uid) for one in gone]

    def _new(self, owner: StatefulSet, number: int, collisions: int) -> dict[str, object]:
        assert owner.spec.template is not None
        template = owner.spec.template
        value = revision_hash(revision_data(template), collisions)
        return new_revision(owner, template, number, HASH, value)
