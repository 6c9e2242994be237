"""The objects of the cluster as the engine last saw them, by kind and key.

Succeeded and Failed pods are not stored: to the scheduler they are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod

StoredChange = tuple[KubeObject | None, KubeObject | None]
"""An object before and after; None where it was or is not there."""
_LONGEST_JOURNAL: Final = 10_000


class ObjectStore:
    """Objects in order of arrival; a replaced object keeps its place."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, KubeObject]] = {}
        self._pod_keys: dict[str, str] = {}  # by uid
        self._versions: dict[str, int] = {}  # by kind
        self._journals: dict[str, list[StoredChange]] = {}  # of kinds somebody follows

    def get(self, kind: str, key: str) -> KubeObject | None:
        return self._kinds.get(kind, {}).get(key)

    def list(self, kind: str) -> Sequence[KubeObject]:
        return list(self._kinds.get(kind, {}).values())

    def version(self, kind: str) -> int:
        """Raised by every change of an object of the kind."""
        return self._versions.get(kind, 0)

    def changes(self, kind: str, since: int) -> Sequence[StoredChange] | None:
        """What changed of the kind since this version, in order; None when that is not kept: the first time always."""
        journal = self._journals.setdefault(kind, [])
        back = self.version(kind) - since
        return None if since < 0 or back > len(journal) else journal[len(journal) - back :]

    def pod(self, key: str) -> Pod | None:
        return cast(Pod | None, self.get(Pod.kind, key))

    def pod_by_uid(self, uid: str) -> Pod | None:
        key = self._pod_keys.get(uid)
        return self.pod(key) if key is not None else None

    def put(self, obj: KubeObject) -> KubeObject | None:
        """Keep the object; the one it replaces."""
        kind, key = obj.kind, obj.key
        objects = self._kinds.setdefault(kind, {})
        old = objects.get(key)
        objects[key] = obj
        self._note(kind, old, obj)
        if kind == Pod.kind:
            if old is not None and old.uid != obj.uid:
                self._pod_keys.pop(old.uid, None)
            self._pod_keys[obj.uid] = key
        return old

    def remove(self, kind: str, key: str, uid: str = "") -> KubeObject | None:
        """Drop the object; None when it is not here, or is a namesake with another uid."""
        objects = self._kinds.get(kind, {})
        old = objects.get(key)
        if old is None or (uid and old.uid and uid != old.uid):
            return None
        del objects[key]
        if not objects:
            del self._kinds[kind]  # kinds are in order of arrival, too
        self._note(kind, old, None)
        if kind == Pod.kind:
            self._pod_keys.pop(old.uid, None)
        return old

    def _note(self, kind: str, old: KubeObject | None, new: KubeObject | None) -> None:
        self._versions[kind] = self._versions.get(kind, 0) + 1
        journal = self._journals.get(kind)
        if journal is not None:
            journal.append((old, new))
            if len(journal) > 2 * _LONGEST_JOURNAL:
                del journal[:-_LONGEST_JOURNAL]

    def __iter__(self) -> Iterator[KubeObject]:
        for objects in self._kinds.values():
            yield from objects.values()
