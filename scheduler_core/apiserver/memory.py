"""A store in memory, for simulations, benchmarks and tests; its log is what the scheduler and controllers follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from scheduler_core.api.manifests import convert, decode
from scheduler_core.api.meta import KubeObject, ObjectMeta
from scheduler_core.api.pod import Pod, PodStatus
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import Logged, ObjectChange, Operation, Stored, key_of
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut


class MemoryStore:
    """Objects in dicts by kind; `rv` is the position of the last change.

    `keeps_history`: it can be read as it was, which simulations do not need.
    """

    def __init__(self, *, keeps_history: bool = False) -> None:
        self.rv = 0
        self._objects: dict[str, dict[ObjectKey, Stored]] = {}
        self._pods: dict[ObjectKey, Pod] = {}  # as last told in the log
        self._log: list[Change] = []
        self._cleared = 0  # position of the last change that is no longer in the log
        self._history: list[Logged] | None = [] if keeps_history else None

    def get(self, key: ObjectKey) -> Stored | None:
        return self._objects.get(key.kind, {}).get(key)

    def list(self, *kinds: str, namespace: str = "") -> Sequence[Stored]:
        return [
            self._objects[kind][key]
            for kind in sorted(kinds)
            for key in sorted(self._objects.get(kind, ()))
            if namespace in ("", key.namespace)
        ]

    def lock(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, Stored]:
        return {key: stored for key in keys if (stored := self.get(key)) is not None}

    def commit(self, changes: Sequence[ObjectChange], now: int) -> int:
        for change in changes:
            self.rv += 1
            key, metadata = change.key, change.manifest["metadata"]
            objects = self._objects.setdefault(key.kind, {})
            before = objects.get(key)
            version = self.version_of(self.rv)
            if change.operation == Operation.DELETED:
                objects.pop(key, None)
                self._pods.pop(key, None)
                self._log.append(ObjectDeleted(key.kind, key.namespace, key.name, metadata["uid"], self.rv))
                stored = {**change.manifest, "metadata": {**metadata, "resourceVersion": version}}
            else:
                stored = {**change.manifest, "metadata": {**metadata, "resourceVersion": version}}
                self._log.append(ObjectPut(self._typed(key, stored), self.rv))
                objects[key] = stored
            if self._history is not None:
                self._history.append(Logged(self.rv, change.operation, stored, before))
        return self.rv

    def version_of(self, position: int) -> str:
        return str(position)

    def position(self) -> int:
        return self.rv

    def oldest_position(self) -> int:
        return self.rv if self._history is None else 0

    def logged_after(self, kind: str, rv: int) -> Sequence[Logged]:
        return [entry for entry in (self._history or ())[rv:] if key_of(entry.manifest).kind == kind]

    def list_at(self, kind: str, namespace: str, rv: int) -> Sequence[Stored]:
        objects = dict(self._objects.get(kind, {}))
        for entry in reversed(self.logged_after(kind, rv)):
            key = key_of(entry.manifest)
            if entry.before is None:
                objects.pop(key, None)
            else:
                objects[key] = entry.before
        return [objects[key] for key in sorted(objects) if namespace in ("", key.namespace)]

    def part_at(
        self, kind: str, namespace: str, rv: int, after: str, limit: int
    ) -> tuple[Sequence[Stored], int] | None:
        return None

    def _typed(self, key: ObjectKey, stored: Stored) -> KubeObject:
        """Decode the manifest; a pod whose spec stays, or only gets its node, keeps the typed spec it had."""
        if key.kind != Pod.kind:
            return decode(stored, kind=key.kind)
        pod, before = self._pods.get(key), self.get(key)
        if pod is None or before is None or not _differs_in_node_only(stored["spec"], before["spec"]):
            made = decode(stored)
            assert isinstance(made, Pod)
        else:
            node_name = stored["spec"].get("nodeName", "")
            made = replace(
                pod if pod.spec.node_name == node_name else pod.on_node(node_name),
                metadata=convert(stored["metadata"], ObjectMeta, path="metadata"),
                status=convert(stored.get("status") or {}, PodStatus, path="status"),
            )
        self._pods[key] = made
        return made

    def changes_after(self, rv: int) -> Sequence[Change]:
        """Every change after a position, in order; none before it may have been cleared."""
        return self._log[rv - self._cleared :]

    def clear_log(self, rv: int) -> None:
        """Drop the changes up to a position, which nobody asks for again."""
        del self._log[: rv - self._cleared]
        self._cleared = rv


def _differs_in_node_only(spec: Stored, before: Stored) -> bool:
    """Compare by identity: rules make new maps only of what they change."""
    if spec is before:
        return True
    names = spec.keys() | before.keys()
    return all(spec.get(name) is before.get(name) for name in names if name != "nodeName")
