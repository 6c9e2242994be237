"""A cluster in PostgreSQL that can be read as it was: lists at earlier positions, and the log for watches.

What an object was before a change is the entry before it in the log; where retention has cut that away, the past of the
object is not known any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from kschedweb.cluster import follow, state
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.store import PostgresStore, manifest_of
from kschedweb.cluster.versions import Place, rv_of, version_of, version_text
from kschedweb.common import bulk, packing
from kschedweb.common.errors import ClusterGoneError
from scheduler_core.api import manifests
from scheduler_core.api.custom import stored_kind
from scheduler_core.api.sharing import Sharing
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import Logged, Operation, Stored
from scheduler_core.model import changes as core

_OPERATIONS = tuple(str(each) for each in Operation)


class ForgottenError(Exception):
    """The past that was asked for has been cut away."""


class PostgresHistory(PostgresStore):
    """The store of one cluster with its past; reads belong into one REPEATABLE READ transaction."""

    def __init__(self, cluster_id: int, actor: str) -> None:
        super().__init__(cluster_id, actor)
        self.cluster_id = cluster_id

    def position(self) -> int:
        place = place_now(self.cluster_id)
        if place is None:
            raise ClusterGoneError(self.cluster_id)
        return place.version

    def oldest_position(self) -> int:
        """The version before the oldest entry of the log; that of the last change when the log is empty.

        Never that of no change at all: a number below was no version of this cluster.
        """
        (found,) = bulk.read_rows(
            "SELECT coalesce((SELECT rv - 1 FROM cluster_change WHERE cluster_id = %s ORDER BY rv LIMIT 1),"
            " (SELECT rv FROM cluster_cluster WHERE id = %s))",
            [self.cluster_id, self.cluster_id],
        )
        return version_of(max(1, found[0]))

    def list_at(self, kind: str, namespace: str, rv: int) -> Sequence[Stored]:
        """The objects as they were: today's, with the changes since taken back; ForgottenError."""
        return self.objects_at(kind, namespace, rv_of(rv))

    def objects_at(self, kind: str, namespace: str, rv: int) -> Sequence[Stored]:
        """The stored objects as they were when the change log had come so far; ForgottenError."""
        entries = logged(self.cluster_id, rv, None, kind=kind, is_exact=True)
        objects = {_key(manifest): manifest for manifest in PostgresStore.list(self, kind, namespace=namespace)}
        for entry in reversed(entries):
            key = _key(entry.manifest)
            if namespace not in ("", key.namespace):
                continue
            if entry.before is None:
                objects.pop(key, None)
            else:
                objects[key] = entry.before
        return [objects[key] for key in sorted(objects)]

    def part_at(
        self, kind: str, namespace: str, rv: int, after: str, limit: int
    ) -> tuple[Sequence[Stored], int] | None:
        """Read from today's objects, when none of the kind has changed since."""
        changed = bulk.read_rows(
            "SELECT 1 FROM cluster_change WHERE cluster_id = %s AND kind = %s AND rv > %s LIMIT 1",
            [self.cluster_id, kind, rv_of(rv)],
        )
        if changed:
            return None
        rows, left = state.stored_part(self.cluster_id, kind, namespace, after, limit)
        return [manifest_of(row) for row in rows], left

    def logged_after(self, kind: str, rv: int) -> Sequence[Logged]:
        return logged(self.cluster_id, rv_of(rv), None, kind=kind)


def place_now(cluster_id: int) -> Place | None:
    """How far both logs have come; None when there is no such cluster."""
    found = Cluster.objects.filter(pk=cluster_id).values_list("rv", "seq", "step_rv", "step_seq").first()
    if found is None:
        return None
    rv, seq, step_rv, step_seq = found
    return Place(rv, seq, step_seq if step_rv == rv else seq)


def is_cut(cluster_id: int, rv: int) -> bool:
    """Whether the entry after a position of the change log, which has been written, has been cleared away."""
    return not bulk.read_rows("SELECT 1 FROM cluster_change WHERE cluster_id = %s AND rv = %s", [cluster_id, rv + 1])


def logged(cluster_id: int, after: int, to: int | None, *, kind: str = "", is_exact: bool = False) -> list[Logged]:
    """The changes of objects of a kind, or of all, in (after, to] of the change log, in order.

    Where the state before a change is not known, that after it stands for it; with `is_exact`: ForgottenError.
    """
    of_kind, values = ("AND kind = %s", [kind]) if kind else ("", [])
    up_to, ends = ("AND rv <= %s", [to]) if to is not None else ("", [])
    rows = bulk.read_rows(
        "SELECT rv, uid, operation, object FROM cluster_change"
        f" WHERE cluster_id = %s AND rv > %s {up_to} {of_kind} AND operation = ANY (%b::text[]) ORDER BY rv",
        [cluster_id, after, *ends, *values, list(_OPERATIONS)],
    )
    before = _states_at(cluster_id, after, _first_changed(rows))
    found = []
    for rv, uid, operation, content in rows:
        text = packing.decompressed(content)
        manifest = _numbered(orjson.loads(text), rv)
        earlier = before.get(uid)
        if earlier is None and operation != Operation.CREATED:
            if is_exact:
                raise ForgottenError
            earlier = manifest
        is_new = operation == Operation.CREATED
        found.append(Logged(version_of(rv), Operation(operation), manifest, None if is_new else earlier, len(text)))
        before[uid] = manifest
    return found


def changes_at(*, cluster_id: int, rv: int, sharing: Sharing | None = None) -> list[core.Change] | None:
    """Every object as it was at an earlier position; None when its past is not known any more."""
    now = {_place_of(each): each for each in follow.stored_changes(cluster_id=cluster_id, sharing=sharing)}
    try:
        entries = logged(cluster_id, rv, None, is_exact=True)
    except ForgottenError:
        return None
    for entry in reversed(entries):
        metadata = entry.manifest["metadata"]
        namespace = metadata.get("namespace", "")
        kind = stored_kind(entry.manifest)
        place = kind, f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
        if entry.before is None:
            now.pop(place, None)
        elif kind in manifests.KINDS:
            now[place] = core.ObjectPut(manifests.decode(dict(entry.before), kind=place[0]), rv)
    kinds = {"Node": 0, "Pod": 2}
    return sorted(now.values(), key=lambda each: kinds.get(_place_of(each)[0], 1))


def _place_of(change: core.Change) -> tuple[str, str]:
    assert isinstance(change, core.ObjectPut)
    return change.obj.kind, change.obj.key


def _first_changed(rows: Iterable[Sequence[Any]]) -> list[str]:
    """The uids whose first entry is not their creation."""
    first: dict[str, str] = {}
    for _, uid, operation, _ in rows:
        first.setdefault(uid, operation)
    return [uid for uid, operation in first.items() if operation != Operation.CREATED]


def _states_at(cluster_id: int, rv: int, uids: Sequence[str]) -> dict[str, Stored]:
    """The last entry of each of these objects up to a position."""
    if not uids:
        return {}
    rows = bulk.read_rows(
        "SELECT DISTINCT ON (uid) uid, rv, object FROM cluster_change"
        " WHERE cluster_id = %s AND uid = ANY (%b::text[]) AND rv <= %s AND operation = ANY (%b::text[])"
        " ORDER BY uid, rv DESC",
        [cluster_id, list(uids), rv, list(_OPERATIONS)],
    )
    return {uid: _numbered(packing.unpacked(content), at) for uid, at, content in rows}


def _numbered(manifest: Mapping[str, Any], rv: int) -> Stored:
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version_text(rv)}}


def _key(manifest: Stored) -> ObjectKey:
    metadata = manifest["metadata"]
    return ObjectKey(stored_kind(manifest), metadata.get("namespace", ""), metadata["name"])
