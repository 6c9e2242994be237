"""Who owns which fields of an object: `metadata.managedFields` read and written, and what a write changes of it.

A manager is a name with an operation, the subresource it wrote to and, when it updates, the version it wrote in. What
an update changes becomes its manager's; what an apply mentions does, and what the same manager applied before and does
not mention any more goes, unless somebody else owns it too.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal; structured-merge-diff
v6.3.0, merge/update.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.apiserver.ownership import sets
from scheduler_core.apiserver.ownership.comparing import Comparison, compare, fields_of, named_fields
from scheduler_core.apiserver.ownership.merging import merged, removed
from scheduler_core.apiserver.ownership.sets import FieldSet, Path
from scheduler_core.apiserver.ownership.shapes import Shape, shape_of

Entry = dict[str, Any]
Manifest = Mapping[str, Any]
APPLY: Final = "Apply"
UPDATE: Final = "Update"
UNKNOWN: Final = "unknown"
BEFORE_FIRST_APPLY: Final = "before-first-apply"
ANCIENT: Final = "ancient-changes"
MOST_UPDATERS: Final = 10
_FIELDS_TYPE: Final = "FieldsV1"
# Never owned.
_STRIPPED: Final = sets.of_paths(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(("f:metadata", f"f:{name}") for name in (
        "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
        "resourceVersion",
    )),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manager:
    """Who owns; `api_version` is empty for those who apply."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def order(self) -> str:
        """What managers are sorted by in messages."""
        found = {"manager": self.name, "operation": self.operation, "apiVersion": self.api_version}
        found["subresource"] = self.subresource
        return json.dumps({key: value for key, value in found.items() if value}, separators=(",", ":"))

    def __str__(self) -> str:
        text = json.dumps(self.name, ensure_ascii=False)
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


@dataclass(frozen=True, slots=True)
class Owned:
    """The fields of one manager, in the version it wrote them."""

    fields: FieldSet
    api_version: str
    time: str = ""


Owners = dict[Manager, Owned]


class ConflictError(Exception):
    """An apply would change what others own; `conflicts` are paths by manager, managers in order."""

    def __init__(self, conflicts: Sequence[tuple[Manager, Path]]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, and to what: the version and kind of the request, and the part of the object.

    `hidden` is the set of fields that the part says it does not write. Of kinds that a cluster defines, `own_shape` is
    that of their objects, and `versions` are those in which the same fields have the same places.
    """

    name: str
    api_version: str
    kind: str
    subresource: str = ""
    hidden: FieldSet = field(default_factory=dict)
    own_shape: Shape | None = None
    versions: frozenset[str] = frozenset()

    def filtered(self, found: FieldSet) -> FieldSet:
        return sets.without(found, self.hidden) if self.hidden else found

    @property
    def shape(self) -> Shape:
        return self.own_shape or shape_of(self.api_version, self.kind)

    def is_like(self, api_version: str) -> bool:
        """Whether fields of this version are where they are in the version of the request."""
        return api_version == self.api_version or api_version in self.versions


def decode(entries: Any) -> Owners:
    """The owners as an object lists them; ValueError when an entry is wrong."""
    owners: Owners = {}
    for entry in entries or ():
        operation, version = entry.get("operation"), entry.get("apiVersion") or ""
        if operation not in (APPLY, UPDATE) or not version or entry.get("fieldsType") != _FIELDS_TYPE:
            raise ValueError("an entry of managedFields is wrong")
        named = "" if operation == APPLY else version
        manager = Manager(entry.get("manager") or "", operation, named, entry.get("subresource") or "")
        owners[manager] = Owned(sets.known(entry.get("fieldsV1") or {}), version, entry.get("time") or "")
    return owners


def decoded(entries: Any) -> Owners:
    """The same; nobody when an entry is wrong."""
    try:
        return decode(entries)
    except (ValueError, AttributeError, TypeError):
        return {}


def encode(owners: Owners) -> list[Entry]:
    """The owners as an object lists them: who applied, then who updated, the oldest first."""
    ordered = sorted(
        owners.items(),
        key=lambda each: (
            each[0].operation, each[1].time, each[0].name, each[1].api_version, each[0].subresource,
        ),
    )  # fmt: skip
    return list(_entries(ordered))


def _entries(ordered: Sequence[tuple[Manager, Owned]]) -> Iterator[Entry]:
    for manager, owned in ordered:
        entry: Entry = {"manager": manager.name, "operation": manager.operation, "apiVersion": owned.api_version}
        if not manager.name:
            del entry["manager"]
        if owned.time:
            entry["time"] = owned.time
        entry |= {"fieldsType": _FIELDS_TYPE, "fieldsV1": sets.in_order(owned.fields)}
        if manager.subresource:
            entry["subresource"] = manager.subresource
        yield entry


def after_update(live: Manifest, new: Manifest, owners: Owners, writer: Writer, time: str) -> Owners:
    """The owners once the new object is stored in place of the live one; OwnershipError when that cannot be told."""
    owners, comparison = _settled(live, new, owners, writer, None, is_forced=True)
    taken = writer.filtered(sets.union(comparison.modified, comparison.added))
    taken = sets.difference(taken, _STRIPPED)
    if taken:
        me = Manager(writer.name or UNKNOWN, UPDATE, writer.api_version, writer.subresource)
        before = owners.get(me)
        owners[me] = Owned(sets.union(taken, before.fields) if before else taken, writer.api_version, time)
    return _capped(owners)


def after_apply(
    live: Manifest, applied: Manifest, owners: Owners, writer: Writer, time: str, *, is_forced: bool
) -> tuple[Manifest | None, Owners]:
    """(the live object with the applied fields, None when nothing changes; the owners); ConflictError."""
    shape, version = writer.shape, writer.api_version
    me = Manager(writer.name, APPLY, "", writer.subresource)
    last = owners.get(me)
    owners = {**owners, me: Owned(writer.filtered(fields_of(applied, shape)), version, last.time if last else "")}
    new = merged(live, applied, shape)
    if last is not None and last.fields and writer.is_like(last.api_version):
        new = _pruned(new, owners, last.fields, writer)
    owners, _ = _settled(live, new, owners, writer, me, is_forced=is_forced)
    if me in owners:
        kept = sets.difference(owners[me].fields, _STRIPPED)
        if kept:
            owners[me] = Owned(kept, version, owners[me].time)
        else:
            del owners[me]
    if new == live:
        return None, owners
    if me in owners:
        owners[me] = Owned(owners[me].fields, version, time)
    return new, owners


def _settled(
    live: Manifest, new: Manifest, owners: Owners, writer: Writer, me: Manager | None, *, is_forced: bool
) -> tuple[Owners, Comparison]:
    """What others keep when the new object replaces the live one, and how the two differ."""
    found = compare(live, new, writer.shape)
    own = Comparison(*map(writer.filtered, (found.removed, found.modified, found.added)))
    changed = sets.union(own.modified, own.added)
    kept: Owners = {}
    conflicts: list[tuple[Manager, FieldSet]] = []
    for manager, owned in owners.items():
        if manager == me:
            kept[manager] = owned
            continue
        if not writer.is_like(owned.api_version):
            continue  # of a version that the object does not have, or not in this group
        lost = sets.intersection(owned.fields, changed)
        if lost:
            conflicts.append((manager, lost))
        left = sets.difference(sets.difference(owned.fields, lost), own.removed)
        if left:
            kept[manager] = Owned(left, owned.api_version, owned.time)
    if conflicts and not is_forced:
        conflicts.sort(key=lambda each: each[0].order)
        raise ConflictError([(manager, path) for manager, lost in conflicts for path in sets.paths(lost)])
    if me in kept and not kept[me].fields:
        del kept[me]
    return kept, own


def _pruned(new: Manifest, owners: Owners, last: FieldSet, writer: Writer) -> Any:
    """The object without what was applied before and nobody owns any more."""
    shape = writer.shape
    last_named = named_fields(last, shape)
    pruned = removed(new, last_named, shape)
    everything: FieldSet = {}
    for owned in owners.values():
        if writer.is_like(owned.api_version):
            everything = sets.union(everything, owned.fields)
    all_named = named_fields(fields_of(new, shape), shape)
    kept = sets.union(named_fields(fields_of(pruned, shape), shape), named_fields(everything, shape))
    pruned = removed(new, sets.difference(all_named, kept), shape)
    # What the manager had not applied itself is not its to take away.
    gone = sets.difference(all_named, named_fields(fields_of(pruned, shape), shape))
    return removed(new, sets.intersection(gone, last_named), shape)


def _capped(owners: Owners) -> Owners:
    """So many that updated are told apart; the oldest become one for each version."""
    updaters = [manager for manager in owners if manager.operation == UPDATE]
    left = len(updaters)
    if left <= MOST_UPDATERS:
        return owners
    updaters.sort(key=lambda manager: (owners[manager].time, manager.order))
    capped = dict(owners)
    first: dict[str, Manager] = {}
    for manager in updaters:
        if left <= MOST_UPDATERS:
            break
        owned = capped[manager]
        bucket = Manager(ANCIENT, UPDATE, owned.api_version)
        if owned.api_version not in first:
            first[owned.api_version] = manager
            continue
        if bucket not in capped:
            capped[bucket] = capped.pop(first[owned.api_version])
        together = sets.union(owned.fields, capped[bucket].fields)
        capped.pop(manager)
        capped[bucket] = Owned(together, owned.api_version, owned.time)
        left -= 1
    return capped
