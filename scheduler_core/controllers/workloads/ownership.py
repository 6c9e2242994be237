"""Owners of one kind and what they control: an index that each change moves in constant time.

    controlled   has a controller reference to an owner of the kind, whether that is known or not
    orphan       has no controller; an owner of its namespace that selects its labels may adopt it

What others control is looked up once and passed over. Owners whose objects changed are `touched`.
Source: kubernetes v1.34.1, pkg/controller/controller_ref_manager.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from scheduler_core.api.derived import controller_of
from scheduler_core.api.meta import KubeObject, OwnerReference
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType
from scheduler_core.controllers.workloads.selection import SelectorIndex
from scheduler_core.controllers.workloads.templates import controller_reference
from scheduler_core.model.changes import ObjectDeleted

O = TypeVar("O", bound=KubeObject)  # noqa: E741 - owner
D = TypeVar("D", bound=KubeObject)

_ORPHAN = "/"  # with a namespace in place of the uid of an owner


class Ownership(Generic[O, D]):
    """The owners of one kind in a cluster, and the objects of another kind that they control or may adopt."""

    def __init__(self, owner: type[O], dependent: type[D]) -> None:
        self.owners: dict[str, O] = {}  # by uid
        self.dependent = dependent
        self._owner = owner
        self._group = owner.api_version.partition("/")[0]
        self._owner_uids: dict[str, str] = {}  # by key
        self._selectors = SelectorIndex()
        self._controlled: dict[str, dict[str, D]] = {}  # by uid of the owner and their own, in the order they came
        self._orphans: dict[str, dict[str, D]] = {}  # by namespace and uid
        self._adoptable: dict[str, dict[str, D]] = {}  # by uid of the owner and their own
        self._places: dict[str, str] = {}  # by uid: the owner's uid, or _ORPHAN and the namespace
        self._touched: dict[str, None] = {}  # uids of owners

    def touch(self, uid: str) -> None:
        """Have an owner looked at."""
        if uid in self.owners:
            self._touched[uid] = None

    def touch_all(self) -> None:
        """Have all owners looked at."""
        self._touched.update(dict.fromkeys(self.owners))

    @property
    def has_touched(self) -> bool:
        return bool(self._touched)

    def take_touched(self) -> Iterator[O]:
        """Yield the owners to look at, in the order they were touched; whoever stops early leaves the rest."""
        while self._touched:
            uid = next(iter(self._touched))
            del self._touched[uid]
            owner = self.owners.get(uid)
            if owner is not None:
                yield owner

    def put_owner(self, owner: O) -> O | None:
        """Take over an owner as it is now; return it as it was."""
        uid = owner.uid
        before = self.owners.get(uid)
        self.owners[uid] = owner
        self._owner_uids[owner.key] = uid
        self._touched[uid] = None
        if self._selectors.put(owner):
            self._adoptable.pop(uid, None)
            matcher = self._selectors[uid]
            for orphan in self._orphans.get(owner.namespace, {}).values():
                if matcher.matches(orphan.labels):
                    self._adoptable.setdefault(uid, {})[orphan.uid] = orphan
        return before

    def remove_owner(self, change: ObjectDeleted) -> O | None:
        """Forget an owner that is gone; return it as it was last."""
        key = f"{change.namespace}/{change.name}"
        uid = change.uid or self._owner_uids.get(key, "")
        if self._owner_uids.get(key) == uid:
            del self._owner_uids[key]
        self._selectors.drop(uid)
        self._adoptable.pop(uid, None)
        return self.owners.pop(uid, None)

    def put(self, obj: D) -> None:
        """Take over an object as it is now."""
        uid = obj.uid
        reference = controller_of(obj)
        if reference is None:
            place: str | None = _ORPHAN + obj.namespace
        else:
            place = reference.uid if self._is_owner(reference) else None
        before = self._places.get(uid)
        if place is None and before is None:
            return
        if place != before and before is not None:
            self._take_out(uid, before)
        if place is None:
            return
        self._places[uid] = place
        if place.startswith(_ORPHAN):
            self._put_orphan(obj)
        else:
            self._controlled.setdefault(place, {})[uid] = obj
            self.touch(place)

    def remove(self, change: ObjectDeleted) -> D | None:
        """Forget an object that is gone; return it as it was last."""
        uid = change.uid or self._uid_named(change.namespace, change.name)
        place = self._places.get(uid)
        return None if place is None else self._take_out(uid, place)

    def controlled(self, uid: str) -> list[D]:
        """Return what an owner controls, in the order it came."""
        return list(self._controlled.get(uid, {}).values())

    def selecting(self, obj: KubeObject) -> list[O]:
        """Return the owners of the object's namespace that select its labels."""
        return [self.owners[uid] for uid in self._selectors.selecting(obj.namespace, obj.labels)]

    def claimed(self, owner: O, considered: Callable[[D], bool]) -> tuple[list[D], list[Patch]]:
        """Return the considered objects that are the owner's from now on, and the patches that make it so.

        Orphans it selects are adopted; what it controls and selects no longer is released. An owner that is being
        deleted does neither.
        """
        matcher = self._selectors[owner.uid]
        is_going = owner.metadata.deletion_timestamp is not None
        kept: list[D] = []
        patches: list[Patch] = []
        for obj in self.controlled(owner.uid):
            if not considered(obj):
                continue
            if matcher.matches(obj.labels):
                kept.append(obj)
            elif not is_going:
                patches.append(_patch(obj, {"$patch": "delete", "uid": owner.uid}))
                self.put(_without_owner(obj, owner.uid))
        if is_going:
            return kept, patches
        for obj in list(self._adoptable.get(owner.uid, {}).values()):
            if considered(obj) and obj.metadata.deletion_timestamp is None:
                patches.append(_patch(obj, controller_reference(owner)))
                adopted = _with_owner(obj, owner)
                self.put(adopted)
                kept.append(adopted)
        return kept, patches

    def _is_owner(self, reference: OwnerReference) -> bool:
        return reference.kind == self._owner.kind and reference.api_version.partition("/")[0] == self._group

    def _put_orphan(self, obj: D) -> None:
        known = self._orphans.setdefault(obj.namespace, {})
        before = known.get(obj.uid)
        known[obj.uid] = obj
        for uid in self._selectors.selecting(obj.namespace, obj.labels):
            self._adoptable.setdefault(uid, {})[obj.uid] = obj
            self.touch(uid)
        if before is not None and before.labels != obj.labels:
            for uid in self._selectors.selecting(before.namespace, before.labels):
                if not self._selectors[uid].matches(obj.labels):
                    self._adoptable.get(uid, {}).pop(obj.uid, None)

    def _take_out(self, uid: str, place: str) -> D:
        del self._places[uid]
        if not place.startswith(_ORPHAN):
            objects = self._controlled[place]
            obj = objects.pop(uid)
            if not objects:
                del self._controlled[place]
            self.touch(place)
            return obj
        namespace = place.removeprefix(_ORPHAN)
        orphans = self._orphans[namespace]
        obj = orphans.pop(uid)
        if not orphans:
            del self._orphans[namespace]
        for owner in self._selectors.selecting(namespace, obj.labels):
            self._adoptable.get(owner, {}).pop(uid, None)
        return obj

    def _uid_named(self, namespace: str, name: str) -> str:
        """The uid of an object whose deletion does not say it."""
        for found in (*self._controlled.values(), self._orphans.get(namespace, {})):
            for uid, obj in found.items():
                if (obj.namespace, obj.name) == (namespace, name):
                    return uid
        return ""


def _patch(obj: KubeObject, reference: dict[str, Any]) -> Patch:
    body = {"metadata": {"ownerReferences": [reference]}}
    return Patch(ObjectKey(obj.kind, obj.namespace, obj.name), body, PatchType.STRATEGIC, uid=obj.uid)


def _with_owner(obj: D, owner: KubeObject) -> D:
    reference = OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid, True, True)
    return _with_references(obj, (*(obj.metadata.owner_references or ()), reference))


def _without_owner(obj: D, uid: str) -> D:
    return _with_references(obj, tuple(each for each in obj.metadata.owner_references or () if each.uid != uid))


def _with_references(obj: D, references: tuple[OwnerReference, ...]) -> D:
    metadata = msgspec.structs.replace(obj.metadata, owner_references=references or None)
    return msgspec.structs.replace(obj, metadata=metadata)
