"""Owners of one kind, what they control and what they may adopt.

    controlled   has a controller reference to an owner, whether that is known or not
    orphan       has no controller; an owner of its namespace that selects its labels may adopt it

Owners whose objects changed are `touched`; a change of what others control costs a look-up.
Source: kubernetes v1.34.1, pkg/controller/controller_ref_manager.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from scheduler_core.api.derived import controller_of
from scheduler_core.api.meta import KubeObject, OwnerReference
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType
from scheduler_core.controllers.object_index import ORPHANS, ObjectIndex, Update
from scheduler_core.controllers.workloads.selection import SelectorIndex
from scheduler_core.controllers.workloads.templates import controller_reference
from scheduler_core.model.changes import ObjectDeleted

O = TypeVar("O", bound=KubeObject)  # noqa: E741 - owner
D = TypeVar("D", bound=KubeObject)


class Ownership(Generic[O, D]):
    """The owners of one kind in a cluster, and the objects of another kind that they control or may adopt.

    Those are looked up in an index, which may be shared. What own requests made of them is `expected` until a change
    of the object says how it is.
    """

    def __init__(self, owner: type[O], objects: ObjectIndex[D]) -> None:
        self.owners: dict[str, O] = {}  # by uid
        self._objects = objects
        self._owner_uids: dict[str, str] = {}  # by key
        self._selectors = SelectorIndex()
        self._adoptable: dict[str, dict[str, D]] = {}  # by uid of the owner and their own
        self._expected: dict[str, D | None] = {}  # by uid
        self._touched: dict[str, None] = {}  # uids of owners
        self._selecting_anew: dict[str, set[str]] = {}  # uids of owners whose selector is new, by namespace

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
            self._selecting_anew.setdefault(owner.namespace, set()).add(uid)
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
        """Take over an object as it is now, where the index is not shared."""
        for update in self._objects.put(obj):
            self.changed(update)

    def remove(self, change: ObjectDeleted) -> D | None:
        """Forget an object that is gone, where the index is not shared; return it as it was last."""
        updates = self._objects.remove(change)
        for update in updates:
            self.changed(update)
        return updates[0].old if updates else None

    def changed(self, update: Update[D]) -> None:
        """Take over what the index says of a change."""
        if self._expected:
            self._expected.pop(update.obj.uid, None)
        for uid in update.controllers:
            if uid in self.owners:
                self._touched[uid] = None
            elif self._selectors.by_namespace and uid.startswith(ORPHANS):
                self._orphan_changed(update)

    def expect(self, obj: D) -> None:
        """Count on an object to be what a request made, or will make, of it."""
        self._expected[obj.uid] = obj
        controller = controller_of(obj)
        if controller is not None:
            self.touch(controller.uid)
        for uid in self._selectors.selecting(obj.namespace, obj.labels):
            if controller is None:
                self._adoptable.setdefault(uid, {})[obj.uid] = obj
                self.touch(uid)
            elif uid in self._adoptable:
                self._adoptable[uid].pop(obj.uid, None)

    def expect_gone(self, uid: str) -> None:
        """Count on an object to be gone."""
        self._expected[uid] = None
        for orphans in self._adoptable.values():
            orphans.pop(uid, None)

    def controlled(self, uid: str) -> list[D]:
        """Return what an owner controls, in the order it came."""
        known = self._objects.controlled_by(uid)
        if not self._expected:
            return list(known)
        expected = {each.uid: each for each in known} | self._expected
        return [obj for obj in expected.values() if obj is not None and _is_controlled_by(obj, uid)]

    def selecting(self, obj: KubeObject) -> list[O]:
        """Return the owners of the object's namespace that select its labels."""
        return [self.owners[uid] for uid in self._selectors.selecting(obj.namespace, obj.labels)]

    def claimed(self, owner: O, considered: Callable[[D], bool]) -> tuple[list[D], list[Patch]]:
        """Return the considered objects that are the owner's from now on, and the patches that make it so.

        Orphans it selects are adopted; what it controls and selects no longer is released. An owner that is being
        deleted does neither.
        """
        self._find_orphans()
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
                self.expect(_without_owner(obj, owner.uid))
        if is_going:
            return kept, patches
        for obj in list(self._adoptable.get(owner.uid, {}).values()):
            if considered(obj) and obj.metadata.deletion_timestamp is None:
                patches.append(_patch(obj, controller_reference(owner)))
                adopted = _with_owner(obj, owner)
                self.expect(adopted)
                kept.append(adopted)
        return kept, patches

    def _find_orphans(self) -> None:
        """Offer the orphans that are there to owners whose selector is new: one pass for all that came in a step."""
        for namespace, uids in self._selecting_anew.items():
            for orphan in self._objects.orphans(namespace):
                for uid in self._selectors.selecting(namespace, orphan.labels):
                    if uid in uids and orphan.uid not in self._expected:
                        self._adoptable.setdefault(uid, {})[orphan.uid] = orphan
        self._selecting_anew.clear()

    def _orphan_changed(self, update: Update[D]) -> None:
        """Offer an orphan to the owners that select it, and no more to those that do so no longer."""
        was, now = self._selecting_orphan(update.old), self._selecting_orphan(None if update.is_gone else update.obj)
        for uid in was:
            if uid not in now and uid in self._adoptable:
                self._adoptable[uid].pop(update.obj.uid, None)
        for uid in now:
            self._adoptable.setdefault(uid, {})[update.obj.uid] = update.obj
            self.touch(uid)

    def _selecting_orphan(self, obj: D | None) -> Sequence[str]:
        if obj is None or controller_of(obj) is not None:
            return ()
        return self._selectors.selecting(obj.namespace, obj.labels)


def _is_controlled_by(obj: KubeObject, uid: str) -> bool:
    controller = controller_of(obj)
    return controller is not None and controller.uid == uid


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
