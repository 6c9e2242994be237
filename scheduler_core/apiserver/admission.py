"""Admission with the classes and ranges of one cluster, which it has to know before it can default and refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scheduler_core.admission import AdmissionContext, admit_create, admit_update
from scheduler_core.api.manifests import decode
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.policy import LimitRange, PriorityClass, RuntimeClass
from scheduler_core.api.storage import StorageClass
from scheduler_core.apiserver.kinds import ADMISSION_KINDS
from scheduler_core.apiserver.store import Store, Stored


class Admission:
    """What objects go through on their way in. `new_uid` names what is created.

    `is_simulated`: see `AdmissionContext`.
    """

    def __init__(
        self, new_uid: Callable[[], str], known: Iterable[KubeObject] = (), *, is_simulated: bool = True
    ) -> None:
        self.new_uid = new_uid
        self.is_simulated = is_simulated
        self.allocate: Callable[[dict[str, Any], dict[str, Any] | None], None] | None = None
        self._priority_classes: dict[str, PriorityClass] = {}
        self._runtime_classes: dict[str, RuntimeClass] = {}
        self._limit_ranges: dict[str, list[LimitRange]] = {}
        self._storage_classes: dict[str, StorageClass] = {}
        for obj in known:
            self.remember(obj)

    @staticmethod
    def of_store(store: Store, new_uid: Callable[[], str], *, is_simulated: bool = True) -> Admission:
        """Admission that knows what the store has."""
        return Admission(new_uid, map(decode, store.list(*ADMISSION_KINDS)), is_simulated=is_simulated)

    def create(self, manifest: Mapping[str, Any], uid: str, now: int) -> Stored:
        """The manifest as its creation stores it; raises AdmissionError or DecodeError."""
        return admit_create(dict(manifest), manifest["kind"], self._context(uid), now=now)

    def update(self, stored: Stored, new: Stored, now: int, subresource: str = "", *, is_read: bool = False) -> Stored:
        """The manifest as its update stores it; raises AdmissionError or DecodeError. `is_read`: see `admit_update`."""
        return admit_update(
            stored, new, stored["kind"], self._context(""), now=now, subresource=subresource, is_read=is_read
        )

    def _context(self, uid: str) -> AdmissionContext:
        return AdmissionContext(
            new_uid=lambda: uid,
            priority_classes=self._priority_classes,
            runtime_classes=self._runtime_classes,
            limit_ranges=self._limit_ranges,
            storage_classes=self._storage_classes,
            is_simulated=self.is_simulated,
            allocate=self.allocate,
        )

    def remember(self, obj: KubeObject) -> None:
        """Admit by this class or range from now on, in place of a namesake."""
        if isinstance(obj, PriorityClass):
            self._priority_classes[obj.name] = obj
        elif isinstance(obj, RuntimeClass):
            self._runtime_classes[obj.name] = obj
        elif isinstance(obj, StorageClass):
            self._storage_classes[obj.name] = obj
        elif isinstance(obj, LimitRange):
            ranges = self._limit_ranges.setdefault(obj.namespace, [])
            ranges[:] = [*(one for one in ranges if one.name != obj.name), obj]

    def forget(self, kind: str, namespace: str, name: str) -> None:
        """The class or range is deleted."""
        if kind == PriorityClass.kind:
            self._priority_classes.pop(name, None)
        elif kind == RuntimeClass.kind:
            self._runtime_classes.pop(name, None)
        elif kind == StorageClass.kind:
            self._storage_classes.pop(name, None)
        elif kind == LimitRange.kind:
            ranges = self._limit_ranges.get(namespace, [])
            ranges[:] = [one for one in ranges if one.name != name]
