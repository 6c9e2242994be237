"""Where objects are kept: what the rules need of a store, whatever is behind it.

Manifests that a store gives carry their `resourceVersion`, which grows with the position of their last change in the
log. Nobody changes a manifest in place: rules make new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from scheduler_core.api.custom import stored_kind
from scheduler_core.apiserver.requests import ObjectKey

Stored = dict[str, Any]


class Operation(StrEnum):
    """What a change does to its object."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


class ObjectChange(msgspec.Struct, frozen=True):
    """One object as it is after a change; of a deleted one the last state. Its resourceVersion is the one before."""

    operation: Operation
    manifest: Stored

    @property
    def key(self) -> ObjectKey:
        return key_of(self.manifest)


def key_of(manifest: Mapping[str, Any]) -> ObjectKey:
    """The key of a manifest whose identity is complete."""
    metadata = manifest["metadata"]
    return ObjectKey(stored_kind(manifest), metadata.get("namespace", ""), metadata["name"])


class Store(Protocol):
    """Objects by key, and a log in which every change has a number; numbers are dense."""

    def get(self, key: ObjectKey) -> Stored | None:
        """The object, None when there is none."""
        ...

    def list(self, *kinds: str, namespace: str = "") -> Sequence[Stored]:
        """The objects of these kinds, of one namespace unless that is empty, ordered by kind, namespace and name."""
        ...

    def lock(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, Stored]:
        """Return the objects that exist and lock them until this transaction ends. Call once per transaction."""
        ...

    def commit(self, changes: Sequence[ObjectChange], now: int) -> int:
        """Write the changes of locked or new objects, numbered in their order; the position the log then ends at."""
        ...

    def version_of(self, position: int) -> str:
        """The resourceVersion of the object that the change at a position of the log made."""
        ...


class Logged(msgspec.Struct, frozen=True):
    """One entry of the log: the object after it (of a deleted one the last state) and before it, None when new.

    `rv` is its version. Both carry the resourceVersion they had; a deleted object carries that of its deletion. `size`
    is about how many bytes the first takes as JSON, 0 where nobody counts them.
    """

    rv: int
    operation: Operation
    manifest: Stored
    before: Stored | None
    size: int = 0


class History(Store, Protocol):
    """A store that can be read as it was, for lists and watches. Positions are versions here."""

    def position(self) -> int:
        """The version of all that is there."""
        ...

    def oldest_position(self) -> int:
        """The first version at which the store can still be read."""
        ...

    def list_at(self, kind: str, namespace: str, rv: int) -> Sequence[Stored]:
        """The objects of a kind as they were at a position that is not too old, in order."""
        ...

    def part_at(
        self, kind: str, namespace: str, rv: int, after: str, limit: int
    ) -> tuple[Sequence[Stored], int] | None:
        """So many objects after a place (`namespace/name`), in the order of places, and how many are left then.

        None when only the whole list tells.
        """
        ...

    def logged_after(self, kind: str, rv: int) -> Sequence[Logged]:
        """Every change of objects of the kind after a position that is not too old, in order."""
        ...
