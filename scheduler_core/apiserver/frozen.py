"""A store of one version: objects as they were then, which the rules read like any others. Nothing comes after it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import Logged, ObjectChange, Stored
from scheduler_core.errors import CoreError


class FrozenStore:
    """`objects` carry their resourceVersions, and may be made when they are asked for; no version but theirs is kept.

    Whoever answers from it refuses writes before the rules see them: here they are a CoreError.
    """

    def __init__(self, version: int, objects: Mapping[ObjectKey, Stored]) -> None:
        self._version = version
        self._objects = objects

    def get(self, key: ObjectKey) -> Stored | None:
        return self._objects.get(key)

    def list(self, *kinds: str, namespace: str = "") -> Sequence[Stored]:
        wanted = frozenset(kinds)
        found = (key for key in self._objects if key.kind in wanted and namespace in ("", key.namespace))
        return [self._objects[key] for key in sorted(found)]

    def position(self) -> int:
        return self._version

    def oldest_position(self) -> int:
        return self._version

    def list_at(self, kind: str, namespace: str, rv: int) -> Sequence[Stored]:
        return self.list(kind, namespace=namespace)

    def part_at(
        self, kind: str, namespace: str, rv: int, after: str, limit: int
    ) -> tuple[Sequence[Stored], int] | None:
        places = {
            f"{key.namespace}/{key.name}" if key.namespace else key.name: key
            for key in self._objects
            if key.kind == kind and namespace in ("", key.namespace)
        }
        order = sorted(places)
        first = bisect_right(order, after) if after else 0
        part = order[first : first + limit]
        return [self._objects[places[place]] for place in part], len(order) - first - len(part)

    def logged_after(self, kind: str, rv: int) -> Sequence[Logged]:
        return ()

    def version_of(self, position: int) -> str:
        raise CoreError("no change makes a version of a frozen store")

    def lock(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, Stored]:
        raise CoreError("a frozen store is only read")

    def commit(self, changes: Sequence[ObjectChange], now: int) -> int:
        raise CoreError("a frozen store is only read")
