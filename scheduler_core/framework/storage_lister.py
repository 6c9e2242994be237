"""Claims, volumes, classes and CSI objects as the engine last saw them, typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from scheduler_core.api.derived import claim_not_found, storage_class_not_found, volume_not_found
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from scheduler_core.framework.handle import Handle

T = TypeVar("T", bound=KubeObject)


class ObjectMissingError(LookupError):
    """An object somebody refers to is not there; the text is upstream's lookup text."""


class StorageLister:
    """Looks into the store of the scheduler the handle belongs to."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def _find(self, cls: type[T], key: str) -> T | None:
        return cast(T | None, self._handle.lister.get(cls.kind, key))

    def _all(self, cls: type[T]) -> Sequence[T]:
        return cast(Sequence[T], self._handle.lister.list(cls.kind))

    def find(self, kind: str, key: str) -> KubeObject | None:
        """Any object, None when it is not there."""
        return self._handle.lister.get(kind, key)

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim:
        """Raises ObjectMissingError, as the next two do."""
        found = self._find(PersistentVolumeClaim, f"{namespace}/{name}")
        if found is None:
            raise ObjectMissingError(claim_not_found(name))
        return found

    def volume(self, name: str) -> PersistentVolume:
        found = self._find(PersistentVolume, name)
        if found is None:
            raise ObjectMissingError(volume_not_found(name))
        return found

    def storage_class(self, name: str) -> StorageClass:
        found = self._find(StorageClass, name)
        if found is None:
            raise ObjectMissingError(storage_class_not_found(name))
        return found

    def volumes(self) -> Sequence[PersistentVolume]:
        return self._all(PersistentVolume)

    def volumes_version(self) -> int:
        """Raised by every change of a volume."""
        return self._handle.lister.version(PersistentVolume.kind)

    def csi_node(self, node_name: str) -> CSINode | None:
        return self._find(CSINode, node_name)

    def csi_nodes(self) -> Sequence[CSINode]:
        return self._all(CSINode)

    def csi_nodes_version(self) -> int:
        """Raised by every change of a CSINode."""
        return self._handle.lister.version(CSINode.kind)

    def csi_driver(self, name: str) -> CSIDriver | None:
        return self._find(CSIDriver, name)

    def storage_capacities(self) -> Sequence[CSIStorageCapacity]:
        return self._all(CSIStorageCapacity)

    def volume_attachments(self) -> Sequence[VolumeAttachment]:
        return self._all(VolumeAttachment)
