"""A store in memory, for simulations, benchmarks and tests; its log is what the scheduler and controllers follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler_core.api.manifests import decode
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import ObjectChange, Operation, Stored
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut


class MemoryStore:
    """Objects in dicts by kind; `rv` is the position of the last change."""

    def __init__(self) -> None:
        self.rv = 0
        self._objects: dict[str, dict[ObjectKey, Stored]] = {}
        self._log: list[Change] = []
        self._cleared = 0  # position of the last change that is no longer in the log

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
            if change.operation == Operation.DELETED:
                objects.pop(key, None)
                self._log.append(ObjectDeleted(key.kind, key.namespace, key.name, metadata["uid"], self.rv))
            else:
                stored = {**change.manifest, "metadata": {**metadata, "resourceVersion": str(self.rv)}}
                objects[key] = stored
                self._log.append(ObjectPut(decode(stored), self.rv))
        return self.rv

    def changes_after(self, rv: int) -> Sequence[Change]:
        """Every change after a position, in order; none before it may have been cleared."""
        return self._log[rv - self._cleared :]

    def clear_log(self, rv: int) -> None:
        """Drop the changes up to a position, which nobody asks for again."""
        del self._log[: rv - self._cleared]
        self._cleared = rv
