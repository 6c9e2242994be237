"""Admission with the classes, ranges and namespaces of one cluster, which it has to know to default and refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from scheduler_core.admission import AdmissionContext, admit_create, admit_update
from scheduler_core.admission.optional import DEFAULT_PLUGINS
from scheduler_core.api.manifests import decode
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.policy import LimitRange, PriorityClass, RuntimeClass
from scheduler_core.api.storage import StorageClass
from scheduler_core.api.workload import Namespace
from scheduler_core.apiserver.kinds import ADMISSION_KINDS
from scheduler_core.apiserver.store import Store, Stored

# Kinds whose changes are admitted by what else there is.
_LOOKING_UP: Final = frozenset(
    {
        "PriorityClass", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job",
        "CronJob", "PodTemplate",
    }
)  # fmt: skip


class Admission:
    """What objects go through on their way in. `new_uid` names what is created.

    `is_simulated` and `plugins`: see `AdmissionContext`. `warnings` is what clients are told of what was let through;
    who hands it on clears it.
    """

    def __init__(
        self,
        new_uid: Callable[[], str],
        known: Iterable[KubeObject] = (),
        *,
        is_simulated: bool = True,
        plugins: frozenset[str] = DEFAULT_PLUGINS,
    ) -> None:
        self.new_uid = new_uid
        self.is_simulated = is_simulated
        self.plugins = plugins
        self.warnings: list[str] = []
        self._store: Store | None = None  # what it has is not known yet
        self._pods_in: Callable[[str], Sequence[Stored]] = lambda namespace: ()
        self.allocate: Callable[[dict[str, Any], dict[str, Any] | None], None] | None = None
        self._priority_classes: dict[str, PriorityClass] = {}
        self._runtime_classes: dict[str, RuntimeClass] = {}
        self._limit_ranges: dict[str, list[LimitRange]] = {}
        self._storage_classes: dict[str, StorageClass] = {}
        self._namespace_labels: dict[str, Mapping[str, str]] = {}
        self._leaving: set[str] = set()  # namespaces that are being deleted
        for obj in known:
            self.remember(obj)

    @staticmethod
    def of_store(
        store: Store,
        new_uid: Callable[[], str],
        *,
        is_simulated: bool = True,
        plugins: frozenset[str] = DEFAULT_PLUGINS,
    ) -> Admission:
        """Admission that knows what the store has; it is read when a request first needs it."""
        admission = Admission(new_uid, is_simulated=is_simulated, plugins=plugins)
        admission._store = store
        admission._pods_in = lambda namespace: store.list("Pod", namespace=namespace)
        return admission

    def _read_store(self) -> None:
        if self._store is not None:
            store, self._store = self._store, None
            for manifest in store.list(*ADMISSION_KINDS):
                self.remember(decode(manifest))

    def create(self, manifest: Mapping[str, Any], uid: str, now: int) -> Stored:
        """The manifest as its creation stores it; raises AdmissionError or DecodeError."""
        self._read_store()
        return admit_create(dict(manifest), manifest["kind"], self._context(uid), now=now)

    def update(self, stored: Stored, new: Stored, now: int, subresource: str = "", *, is_read: bool = False) -> Stored:
        """The manifest as its update stores it; raises AdmissionError or DecodeError. `is_read`: see `admit_update`."""
        if _looks_up(stored, new, subresource):
            self._read_store()
        return admit_update(
            stored, new, stored["kind"], self._context(""), now=now, subresource=subresource, is_read=is_read
        )

    def is_leaving(self, namespace: str) -> bool:
        """Whether the namespace is being deleted."""
        self._read_store()
        return namespace in self._leaving

    def _context(self, uid: str) -> AdmissionContext:
        return AdmissionContext(
            new_uid=lambda: uid,
            priority_classes=self._priority_classes,
            runtime_classes=self._runtime_classes,
            limit_ranges=self._limit_ranges,
            storage_classes=self._storage_classes,
            namespace_labels=self._namespace_labels,
            is_simulated=self.is_simulated,
            plugins=self.plugins,
            allocate=self.allocate,
            pods_in=self._pods_in,
            warn=self.warnings.append,
        )

    def remember(self, obj: KubeObject) -> None:
        """Admit by this class, range or namespace from now on, in place of a namesake."""
        self._read_store()
        if isinstance(obj, Namespace):
            self._namespace_labels[obj.name] = obj.labels
            is_leaving = obj.metadata.deletion_timestamp is not None
            (self._leaving.add if is_leaving else self._leaving.discard)(obj.name)
        elif isinstance(obj, PriorityClass):
            self._priority_classes[obj.name] = obj
        elif isinstance(obj, RuntimeClass):
            self._runtime_classes[obj.name] = obj
        elif isinstance(obj, StorageClass):
            self._storage_classes[obj.name] = obj
        elif isinstance(obj, LimitRange):
            ranges = self._limit_ranges.setdefault(obj.namespace, [])
            ranges[:] = [*(one for one in ranges if one.name != obj.name), obj]

    def forget(self, kind: str, namespace: str, name: str) -> None:
        """The class, range or namespace is deleted."""
        self._read_store()
        if kind == Namespace.kind:
            self._namespace_labels.pop(name, None)
            self._leaving.discard(name)
        elif kind == PriorityClass.kind:
            self._priority_classes.pop(name, None)
        elif kind == RuntimeClass.kind:
            self._runtime_classes.pop(name, None)
        elif kind == StorageClass.kind:
            self._storage_classes.pop(name, None)
        elif kind == LimitRange.kind:
            ranges = self._limit_ranges.get(namespace, [])
            ranges[:] = [one for one in ranges if one.name != name]


def _looks_up(stored: Stored, new: Stored, subresource: str) -> bool:
    """Whether a change can depend on classes, ranges or namespaces: changes of status and metadata do not."""
    kind = stored["kind"]
    if kind == "ResourceClaim" and subresource == "status":
        return _uses_admin_access(new.get("status"))
    if subresource not in ("", "resize", "ephemeralcontainers"):
        return False
    if kind in ("Pod", "PersistentVolumeClaim"):
        return bool(new.get("spec") != stored.get("spec"))
    return kind in _LOOKING_UP


def _uses_admin_access(status: Any) -> bool:
    """Whether the status of a claim, as it was sent, may have devices for which the namespace has to be asked."""
    return "adminAccess" in str(status)
