"""The objects of one cluster in PostgreSQL, as the rules of the API server see them; within a transaction."""

from collections.abc import Iterable, Sequence

import orjson

from kschedweb.cluster import state
from kschedweb.cluster.changes import ChangeEntry, StateRow, changes_commit
from kschedweb.cluster.state import Rewrite
from kschedweb.cluster.versions import version_text
from scheduler_core.api.manifests import decode
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import ObjectChange, Operation, Stored


class PostgresStore:
    """The objects of a cluster. `commit` is the last statement of a transaction; `actor` makes its changes."""

    def __init__(self, cluster_id: int, actor: str) -> None:
        self._cluster_id = cluster_id
        self._actor = actor
        self._locked: dict[ObjectKey, state.Stored] = {}

    def get(self, key: ObjectKey) -> Stored | None:
        """The object, not locked."""
        rows = state.stored_under(self._cluster_id, [key], locked=False)
        return manifest_of(rows[0]) if rows else None

    def list(self, *kinds: str, namespace: str = "") -> Sequence[Stored]:
        """The objects of these kinds, ordered by kind, namespace and name."""
        return [manifest_of(row) for row in sorted(state.stored_of_kinds(self._cluster_id, kinds, namespace), key=_key)]

    def lock(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, Stored]:
        """The objects that are there, their rows locked in the order of `LockOrder`."""
        rows = {ObjectKey(*row.key): row for row in state.stored_under(self._cluster_id, keys)}
        self._locked |= rows
        return {key: manifest_of(row) for key, row in rows.items()}

    def commit(
        self,
        changes: Sequence[ObjectChange],
        now: int,
        verdicts: Sequence[ChangeEntry] = (),
        *,
        is_expected: bool = False,
        tell: Sequence[str] = (),
    ) -> int:
        """Write the changes, then the verdicts on them, to state and log; the log's new end.

        `is_expected`, `tell`: see `changes_commit`.
        """
        entries = [*self._entries(changes), *verdicts]
        self._locked.clear()
        return changes_commit(cluster_id=self._cluster_id, entries=entries, now=now, is_expected=is_expected, tell=tell)

    def version_of(self, position: int) -> str:
        """The resourceVersion of the change at a position of the log."""
        return version_text(position)

    def _entries(self, changes: Sequence[ObjectChange]) -> Sequence[ChangeEntry]:
        """Delete rows of what goes; the entries, of which the last one of an object brings its row."""
        rows = dict(self._locked)
        last = {change.key: place for place, change in enumerate(changes)}
        gone: list[state.Stored] = []
        entries = []
        for place, change in enumerate(changes):
            key, manifest = change.key, _unnumbered(change.manifest)
            row = rows.get(key)
            written: StateRow | None = None
            text = b""
            if change.operation == Operation.DELETED:
                if row is not None:
                    gone.append(rows.pop(key))
            elif place == last[key]:
                if row is not None:
                    written = Rewrite(row.pk, key.kind, state.changing_columns(key.kind, manifest))
                else:
                    written = draft = state.draft(key.kind, manifest, decode(manifest, kind=key.kind))
                    text = draft.text
            metadata = manifest["metadata"]
            entries.append(
                ChangeEntry(
                    key.kind,
                    key.namespace,
                    key.name,
                    metadata["uid"],
                    change.operation,
                    text or orjson.dumps(manifest),
                    self._actor,
                    written,
                )
            )
        state.delete(gone)
        return entries


def _key(row: state.Stored) -> state.Key:
    return row.key


def manifest_of(row: state.Stored) -> Stored:
    """The manifest of a row, with its resourceVersion."""
    manifest: Stored = row.manifest
    manifest["metadata"]["resourceVersion"] = version_text(row.rv)
    return manifest


def _unnumbered(manifest: Stored) -> Stored:
    """The manifest as it is stored: the column has its resourceVersion."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
    return {**manifest, "metadata": metadata}
