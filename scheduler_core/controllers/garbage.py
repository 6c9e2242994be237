"""The garbage collector: deletes what owners leave behind, and answers the finalizers that say what becomes of it.

    owner gone                              its dependents are deleted, or lose the reference when another owner is left
    owner marked, finalizer `orphan`        dependents lose the reference, then the finalizer goes
    owner marked, `foregroundDeletion`      dependents are deleted; when none is left that blocks, the finalizer goes

A dependent that has dependents of its own is deleted with `foregroundDeletion` too. Where one of those waits already,
they may own each other in a circle: then the dependent blocks its owners no longer.

An owner counts as gone when its deletion was seen, never because it was not there: dumps of clusters have pods whose
ReplicaSets they leave out. So a new collector is told of deletions that an older one may not have answered.
Source: kubernetes v1.34.1, pkg/controller/garbagecollector.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from scheduler_core.api.meta import KubeObject, ObjectMeta, OwnerReference
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, PatchType, Propagation, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
# Requests of one step, which share a transaction.
BATCH: Final = 500


class _Item(msgspec.Struct, frozen=True, gc=False):
    """An object that has owners, or that is marked and waits for its dependents."""

    key: ObjectKey
    uid: str
    references: tuple[OwnerReference, ...]
    finalizers: tuple[str, ...]
    is_marked: bool

    @property
    def owners(self) -> list[str]:
        """The uids of its owners."""
        return [reference.uid for reference in self.references]

    @property
    def waits(self) -> bool:
        """Whether it is gone only after its dependents."""
        return self.is_marked and FOREGROUND in self.finalizers

    def blocks(self, uid: str) -> bool:
        """Return whether that owner waits for it."""
        return any(reference.block_owner_deletion for reference in self.references if reference.uid == uid)

    def is_as(self, meta: ObjectMeta) -> bool:
        """Return whether it says nothing else now."""
        return (
            self.references == (meta.owner_references or ())
            and self.finalizers == _answered(meta)
            and self.is_marked == (meta.deletion_timestamp is not None)
        )


class GarbageCollector:
    """The garbage collector of one cluster."""

    name, actor, group = "garbage-collector", "garbage-collector", "garbage"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._there: set[str] = set()  # uids of all objects
        self._items: dict[str, _Item] = {}  # by uid
        self._dependents: dict[str, dict[str, None]] = {}  # uids by owner's uid, in the order they came
        self._todo: dict[str, None] = {}  # uids of owners to look at
        self._left: list[Request] = []  # asked for in a later step

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what becomes of dependents and owners."""
        for change in changes:
            if isinstance(change, ObjectPut):
                self._put(change.obj)
            elif isinstance(change, ObjectDeleted) and change.uid:
                self._remove(change.uid)
        todo, self._todo = self._todo, {}
        requests = [*self._left, *self._answers(todo)]
        self._left = requests[BATCH:]
        return requests[:BATCH]

    def next_due(self) -> int | None:
        """Return a time that has come when requests are left."""
        return 0 if self._left else None

    def _put(self, obj: KubeObject) -> None:
        meta = obj.metadata
        self._there.add(meta.uid)
        before = self._items.get(meta.uid)
        if before is not None:
            if before.is_as(meta):
                return
            self._forget(before)
        references, finalizers = meta.owner_references or (), _answered(meta)
        is_marked = meta.deletion_timestamp is not None
        if not references and not (is_marked and finalizers):
            return
        item = _Item(ObjectKey(obj.kind, meta.namespace, meta.name), meta.uid, references, finalizers, is_marked)
        self._items[item.uid] = item
        for owner in item.owners:
            self._dependents.setdefault(owner, {})[item.uid] = None
            if owner in self._items and self._items[owner].waits:
                self._todo[owner] = None
        if is_marked and finalizers:
            self._todo[item.uid] = None

    def _remove(self, uid: str) -> None:
        self._there.discard(uid)
        item = self._items.get(uid)
        if item is not None:
            self._forget(item)
        self._todo[uid] = None  # its dependents may be told of after it

    def _forget(self, item: _Item) -> None:
        del self._items[item.uid]
        for owner in item.owners:
            dependents = self._dependents.get(owner, {})
            dependents.pop(item.uid, None)
            if not dependents:
                self._dependents.pop(owner, None)
            if owner in self._items and self._items[owner].waits:
                self._todo[owner] = None

    def _answers(self, owners: Iterable[str]) -> Iterator[Request]:
        for uid in owners:
            owner = self._items.get(uid)
            dependents = [self._items[each] for each in self._dependents.get(uid, ())]
            if uid not in self._there:
                for dependent in dependents:
                    yield from self._released(dependent)
            elif owner is None or not owner.is_marked:
                continue
            elif ORPHAN in owner.finalizers:
                yield from (_without_owners(dependent, [uid]) for dependent in dependents)
                yield _without_finalizer(owner, ORPHAN)
            elif FOREGROUND in owner.finalizers:
                for dependent in dependents:
                    if not dependent.is_marked:
                        yield from self._released(dependent)
                if not any(dependent.blocks(uid) for dependent in dependents):
                    yield _without_finalizer(owner, FOREGROUND)

    def _released(self, dependent: _Item) -> Iterator[Request]:
        """What becomes of an object one of whose owners is gone or going."""
        going = [uid for uid in dependent.owners if uid not in self._there or self._waits(uid)]
        if len(going) < len(dependent.owners):
            yield _without_owners(dependent, going)
        elif not dependent.is_marked:
            propagation = self._propagation(dependent)
            if propagation is Propagation.FOREGROUND and any(map(self._waits, self._dependents.get(dependent.uid, ()))):
                yield from _unblocked(dependent)
            yield Delete(dependent.key, propagation=propagation, uid=dependent.uid)

    def _waits(self, uid: str) -> bool:
        item = self._items.get(uid)
        return item is not None and item.waits

    def _propagation(self, dependent: _Item) -> Propagation:
        if ORPHAN in dependent.finalizers:
            return Propagation.ORPHAN
        is_chain = any(map(self._waits, dependent.owners)) and dependent.uid in self._dependents
        if FOREGROUND in dependent.finalizers or is_chain:
            return Propagation.FOREGROUND
        return Propagation.BACKGROUND


def _answered(meta: ObjectMeta) -> tuple[str, ...]:
    """The finalizers that this controller answers."""
    return tuple(each for each in meta.finalizers if each in (ORPHAN, FOREGROUND)) if meta.finalizers else ()


def _without_owners(dependent: _Item, owners: Iterable[str]) -> Patch:
    references = [{"$patch": "delete", "uid": uid} for uid in owners]
    body = {"metadata": {"ownerReferences": references}}
    return Patch(dependent.key, body, PatchType.STRATEGIC, uid=dependent.uid)


def _unblocked(dependent: _Item) -> Iterator[Patch]:
    """The references of an object without what makes its owners wait for it."""
    blocking = [one.uid for one in dependent.references if one.block_owner_deletion]
    if blocking:
        references = [{"uid": uid, "blockOwnerDeletion": False} for uid in blocking]
        body = {"metadata": {"ownerReferences": references}}
        yield Patch(dependent.key, body, PatchType.STRATEGIC, uid=dependent.uid)


def _without_finalizer(owner: _Item, finalizer: str) -> Patch:
    body = {"metadata": {"$deleteFromPrimitiveList/finalizers": [finalizer]}}
    return Patch(owner.key, body, PatchType.STRATEGIC, uid=owner.uid)
