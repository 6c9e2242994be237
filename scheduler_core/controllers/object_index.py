"""Objects of one kind as they are now: by name, by what controls them, and those that nothing controls.

A change that an index takes over becomes an `Update`, which also says what the object was before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from scheduler_core.api.meta import KubeObject
from scheduler_core.model.changes import ObjectDeleted

K = TypeVar("K", bound=KubeObject)

ORPHANS: Final = "/"  # with a namespace in place of the uid of a controller, which has no such character


class Update(msgspec.Struct, Generic[K], frozen=True, gc=False):
    """An object as it is now and as it was, None when it is new; one that is gone as it was last.

    `controllers` are the uids of what controls it and of what did; ORPHANS and the namespace where nothing does.
    """

    old: K | None
    obj: K
    controllers: tuple[str, ...]
    is_gone: bool = False


class ObjectIndex(Generic[K]):
    """The objects of one kind in a cluster."""

    def __init__(self, kind: type[K]) -> None:
        self.kind = kind
        self._objects: dict[str, dict[str, K]] = {}  # by namespace and name
        self._controlled: dict[str, dict[str, K]] = {}  # by uid of the controller, or ORPHANS and namespace; by uid

    def put(self, obj: K) -> Sequence[Update[K]]:
        """Take over an object as it is now; of a namesake that was not known to be gone, return that first."""
        meta = obj.metadata
        objects = self._objects.get(meta.namespace)
        if objects is None:
            objects = self._objects[meta.namespace] = {}
        old = objects.get(meta.name)
        objects[meta.name] = obj
        if old is not None and old.metadata.uid != meta.uid:
            return self._gone(old), self._moved(None, obj)
        return (self._moved(old, obj),)

    def remove(self, change: ObjectDeleted) -> Sequence[Update[K]]:
        """Forget an object that is gone; return nothing when it is not known, or only a namesake that came since."""
        objects = self._objects.get(change.namespace, {})
        old = objects.get(change.name)
        if old is None or change.uid not in ("", old.metadata.uid):
            return ()
        del objects[change.name]
        if not objects:
            del self._objects[change.namespace]
        return (self._gone(old),)

    def get(self, key: str) -> K | None:
        """Return the object `namespace/name`."""
        namespace, _, name = key.rpartition("/")
        return self._objects.get(namespace, {}).get(name)

    def in_namespace(self, namespace: str) -> Collection[K]:
        """Return the objects of a namespace, in the order they came."""
        return self._objects.get(namespace, {}).values()

    def controlled_by(self, uid: str) -> Collection[K]:
        """Return what an object controls, in the order it came under control."""
        return self._controlled.get(uid, {}).values()

    def orphans(self, namespace: str) -> Collection[K]:
        """Return the objects of a namespace that nothing controls, in the order they came to be so."""
        return self._controlled.get(ORPHANS + namespace, {}).values()

    def _moved(self, old: K | None, obj: K) -> Update[K]:
        """Keep the object at the place that it has now."""
        place = _place_of(obj)
        was = place if old is None or old.metadata.owner_references == obj.metadata.owner_references else _place_of(old)
        join(self._controlled, place, obj)
        if old is None or was == place:
            return Update(old, obj, (place,))
        leave(self._controlled, was, old)
        return Update(old, obj, (was, place))

    def _gone(self, obj: K) -> Update[K]:
        place = _place_of(obj)
        leave(self._controlled, place, obj)
        return Update(obj, obj, (place,), True)


def join(groups: dict[str, dict[str, K]], group: str, obj: K) -> None:
    """Put an object into a group, by its uid."""
    objects = groups.get(group)
    if objects is None:
        objects = groups[group] = {}
    objects[obj.metadata.uid] = obj


def leave(groups: dict[str, dict[str, K]], group: str, obj: K) -> None:
    """Take an object out of its group, and the group away when it is empty."""
    objects = groups[group]
    del objects[obj.metadata.uid]
    if not objects:
        del groups[group]


def _place_of(obj: KubeObject) -> str:
    meta = obj.metadata
    for reference in meta.owner_references or ():
        if reference.controller:
            return reference.uid
    return ORPHANS + meta.namespace
