"""Claims and volumes as they will be once the decisions made here are written.

An assumption stands on the stored object it was made from: it ends with `restore`, or when the store has another one.
Source: kubernetes v1.34.1, pkg/scheduler/util/assumecache.
"""

from __future__ import annotations

from typing import TypeVar

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.api.volumes import volume_class_name
from scheduler_core.framework.storage_lister import StorageLister

T = TypeVar("T", bound=KubeObject)


class AssumeCache:
    """The store, with assumed objects in the place of stored ones."""

    def __init__(self, storage: StorageLister) -> None:
        self.storage = storage
        self._assumed: dict[tuple[str, str], tuple[KubeObject, KubeObject]] = {}  # (stored, assumed) by (kind, key)
        self._by_class: dict[str, list[PersistentVolume]] = {}  # stored ones by name, as of the version
        self._sorted_version = -1

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim:
        """Raises ObjectMissingError, as the next one does."""
        return self._now(self.storage.claim(namespace, name))

    def volume(self, name: str) -> PersistentVolume:
        return self._now(self.storage.volume(name))

    def volumes_of_class(self, class_name: str) -> tuple[PersistentVolume, ...]:
        """By name: upstream's order is that of a map."""
        version = self.storage.volumes_version()
        if self._sorted_version != version:
            self._by_class.clear()
            for volume in sorted(self.storage.volumes(), key=lambda one: one.name):
                self._by_class.setdefault(volume_class_name(volume), []).append(volume)
            self._sorted_version = version
        return tuple(map(self._now, self._by_class.get(class_name, ())))

    def assume_volume(self, volume: PersistentVolume) -> None:
        """Take the volume to be so. ObjectMissingError when it is not stored, as for the next one."""
        self._assumed[volume.kind, volume.key] = self.storage.volume(volume.name), volume

    def assume_claim(self, claim: PersistentVolumeClaim) -> None:
        self._assumed[claim.kind, claim.key] = self.storage.claim(claim.namespace, claim.name), claim

    def assumes_volume(self, name: str) -> bool:
        """Whether something is assumed of the volume, standing on what is stored now; so for a claim."""
        return self._stands(PersistentVolume.kind, name)

    def assumes_claim(self, namespace: str, name: str) -> bool:
        return self._stands(PersistentVolumeClaim.kind, f"{namespace}/{name}")

    def restore(self, kind: str, key: str) -> None:
        """The stored object counts again."""
        self._assumed.pop((kind, key), None)

    def _now(self, stored: T) -> T:
        if not self._assumed:
            return stored
        entry = self._assumed.get((stored.kind, stored.key))
        if entry is None:
            return stored
        base, assumed = entry
        if base is not stored:
            del self._assumed[stored.kind, stored.key]
            return stored
        assert isinstance(assumed, type(stored))
        return assumed

    def _stands(self, kind: str, key: str) -> bool:
        entry = self._assumed.get((kind, key))
        return entry is not None and entry[0] is self.storage.find(kind, key)
