"""Objects of a cluster elsewhere, stored as they are: no admission, the foreign uid, versions of our own log.

Every change is an entry of its own, also where one transaction takes several of one object: followers see each. What is
there already, and says the same, is no change.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from django.db import connection

from kschedweb.cluster import adapters, state
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.state import Draft, Key, Rewrite, Stored
from kschedweb.common import wake
from scheduler_core.apiserver.requests import ObjectKey

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Copied:
    """An object as it is elsewhere, or the last state of one that is gone."""

    manifest: Manifest
    is_deleted: bool = False

    @property
    def key(self) -> Key:
        metadata = self.manifest["metadata"]
        return self.manifest["kind"], metadata.get("namespace", ""), metadata["name"]


@dataclass(slots=True)
class CopyReport:
    """How many objects of each kind were changed, and those that cannot be read here, with the reason."""

    changed: Counter[str] = field(default_factory=Counter)
    unreadable: list[tuple[Key, str]] = field(default_factory=list)


def objects_copy(*, cluster_id: int, copied: Sequence[Copied], actor: str, now: int) -> CopyReport:
    """Bring the objects of a mirror up to date, inside the caller's transaction; its last statement but for the
    caller's own tables. Wakes the scheduler.
    """
    report = CopyReport()
    rows = {row.key: row for row in state.stored_under(cluster_id, {ObjectKey(*each.key) for each in copied})}
    current = {key: _Current(row, row.uid, row.manifest) for key, row in rows.items()}
    entries: list[ChangeEntry] = []
    gone: list[Stored] = []
    last: dict[Key, int] = {}  # place of the entry that says what the object is now
    for each in copied:
        key, there = each.key, current.get(each.key)
        uid = each.manifest["metadata"]["uid"]
        if each.is_deleted:
            if there is not None and there.uid == uid:
                _delete(key, current, gone, entries, last, actor)
                report.changed[key[0]] += 1
            continue
        if there is not None and there.uid != uid:
            _delete(key, current, gone, entries, last, actor)
            there = None
        if there is not None and there.manifest == each.manifest:
            continue
        try:
            draft = _draft(each.manifest)
        except adapters.REFUSALS as error:
            report.unreadable.append((key, f"{error.path}: {error.detail}" if error.path else error.detail))
            continue
        operation = Operation.CREATED if there is None else Operation.UPDATED
        last[key] = len(entries)
        entries.append(ChangeEntry(*key, uid, operation, draft.text, actor))
        current[key] = _Current(there.row if there is not None else None, uid, each.manifest, draft)
        report.changed[key[0]] += 1
    for key, place in last.items():
        entries[place] = _with_row(entries[place], current[key])
    state.delete(gone)
    changes_commit(cluster_id=cluster_id, entries=entries, now=now, follows_source=True)
    if entries:
        wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    return report


def missing_of(*, cluster_id: int, kind: str, namespace: str, listed: Iterable[tuple[str, str]]) -> list[Copied]:
    """What is stored of a kind, in a namespace unless that is empty, and not among the (namespace, name) listed."""
    present = set(listed)
    gone = [key for key in state.keys_of_kind(cluster_id, kind, namespace) if key not in present]
    rows = state.stored_under(cluster_id, {ObjectKey(kind, *key) for key in gone}, locked=False) if gone else []
    return [Copied(row.manifest, is_deleted=True) for row in rows]


def synced_set(*, cluster_id: int, is_synced: bool) -> None:
    """Say whether all objects of a mirror are here; the scheduler waits while they are not."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE cluster_cluster SET is_synced = %s WHERE id = %s AND is_mirror AND is_synced <> %s",
            [is_synced, cluster_id, is_synced],
        )
        if cursor.rowcount:
            wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)


@dataclass(frozen=True, slots=True)
class _Current:
    """What is known of an object in the course of a batch; `row`: where it is stored, if it is."""

    row: Stored | None
    uid: str
    manifest: Manifest
    draft: Draft | None = None


def _delete(
    key: Key,
    current: dict[Key, _Current],
    gone: list[Stored],
    entries: list[ChangeEntry],
    last: dict[Key, int],
    actor: str,
) -> None:
    was = current.pop(key)
    last.pop(key, None)
    if was.row is not None:
        gone.append(was.row)
    entries.append(ChangeEntry(*key, was.uid, Operation.DELETED, orjson.dumps(was.manifest), actor))


def _draft(manifest: Manifest) -> Draft:
    """The row of the object; one of REFUSALS when it cannot be read here."""
    if problem := adapters.storage_problem(manifest):
        raise adapters.ManifestError("", problem)
    if not manifest["metadata"].get("creationTimestamp"):
        raise adapters.ManifestError("metadata.creationTimestamp", "is required")
    return state.draft(manifest["kind"], manifest, adapters.decode(manifest))


def _with_row(entry: ChangeEntry, now: _Current) -> ChangeEntry:
    """The entry that leaves the object as it is, with the row to be written."""
    draft = now.draft
    assert draft is not None
    row: Draft | Rewrite = draft
    if now.row is not None:
        row = Rewrite(now.row.pk, draft.kind, draft.columns)
    return replace(entry, row=row)
