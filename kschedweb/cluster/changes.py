"""The one writer of the change log: numbers are dense, never taken back, and visible in their order.

A transaction locks the rows of the current state that it changes, in the order of their ids, and calls
`changes_commit` as its last statement. There the cluster's counter gives n numbers and with them its row lock, which
lasts until the commit that follows at once: a rollback leaves no hole, and no reader at 6 can have missed 5. Rows are
inserted and changed then, each once and with its number; so nobody who waits for the counter has one in the making
that another could wait for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, Self

import orjson
from django.db import connection, transaction

from kschedweb.common import bulk, packing, wake
from kschedweb.common.errors import ClusterGoneError, ReadOnlyError
from scheduler_core.api.times import moment_of
from scheduler_core.apiserver.store import Operation

_OF_OBJECTS = frozenset(map(str, Operation))
_COLUMNS = ("cluster_id", "rv", "kind", "namespace", "name", "uid", "operation", "object", "actor", "at")


@dataclass(frozen=True, slots=True)
class Written:
    """What the log says of a row: its number, and its manifest as JSON and compressed."""

    rv: int
    text: bytes
    content: bytes


class StateRow(Protocol):
    """A new or changed row of the current state, whose table is written when its number is known."""

    @classmethod
    def write(cls, cluster_id: int, numbered: Sequence[tuple[Self, Written]]) -> None:
        """Write the rows."""
        ...


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """One entry to be: `payload` is the object's manifest (a deleted one's last), the verdict, or the setting; bytes
    are its JSON already.

    A `row` is written with it.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    operation: str
    payload: Mapping[str, Any] | bytes
    actor: str = "system"
    row: StateRow | None = None


# Who listens is told by the statement that locks the row: a statement of its own would cost as much as either.
_TOLD = "(SELECT count(pg_notify(channel, c.id::text)) FROM unnest(%s::text[]) channel)"
_COLUMNS_READ = f"c.rv, c.is_mirror OR c.is_record, c.name, c.is_record, {_TOLD}"
_COUNT = f"UPDATE cluster_cluster c SET rv = rv + %s::int WHERE id = %s RETURNING {_COLUMNS_READ}"
_LOOK = f"SELECT {_COLUMNS_READ} FROM cluster_cluster c WHERE id = %s"


def changes_commit(
    *,
    cluster_id: int,
    entries: Sequence[ChangeEntry],
    now: int,
    follows_source: bool = False,
    is_expected: bool = False,
    tell: Sequence[str] = (),
) -> int:
    """Append the entries to the cluster's log, as the last statement of the transaction; the log's new end.

    Followers of the log and whoever listens to the channels `tell` hear of the commit. `is_expected`: it is what the
    scheduler ordered, so that its leader may wait for more.

    `now` is the cluster's time. NotFoundError when the cluster is gone. ReadOnlyError for an object of a mirror, unless
    the entries tell what happened in the cluster it follows, and for one of a history from a file.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("changes_commit ends a transaction, and there is none")
    texts = [each.payload if isinstance(each.payload, bytes) else orjson.dumps(each.payload) for each in entries]
    contents = [packing.compressed_object(text) for text in texts]
    at = moment_of(now)
    channels = [wake.EXPECTED_CHANNEL if is_expected else wake.READERS_CHANNEL, *tell]
    if entries:
        rows = bulk.read_rows(_COUNT, [len(entries), cluster_id, channels])
    else:
        rows = bulk.read_rows(_LOOK, [channels, cluster_id])
    if not rows:
        raise ClusterGoneError(cluster_id)
    last, is_read_only, cluster, is_record, _ = rows[0]
    if is_read_only and not follows_source and any(str(each.operation) in _OF_OBJECTS for each in entries):
        raise read_only(cluster_id, cluster, is_record=is_record)
    first = last - len(entries) + 1
    if entries:
        with bulk.together(len(entries)):
            bulk.copy_rows(
                "cluster_change",
                _COLUMNS,
                [
                    (cluster_id, rv, e.kind, e.namespace, e.name, e.uid, str(e.operation), content, e.actor, at)
                    for rv, (e, content) in enumerate(zip(entries, contents, strict=True), first)
                ],
            )
            _write_state(cluster_id, entries, map(Written, count(first), texts, contents))
    return int(last)


def read_only(cluster_id: int, name: str, *, is_record: bool = False) -> ReadOnlyError:
    """The refusal of everything that would change an object of a mirror, or anything of a history from a file."""
    what = "is a history from a file" if is_record else "mirrors a cluster elsewhere"
    message = f"cluster {name} {what} and is only read here; make a copy of it to change things"
    return ReadOnlyError(message, cluster=cluster_id)


def unpack(content: bytes | memoryview) -> Any:
    """What `Change.object` holds."""
    return packing.unpacked(content)


def _write_state(cluster_id: int, entries: Sequence[ChangeEntry], written: Iterable[Written]) -> None:
    """Write the rows that entries bring, in the order of the log; of several entries for one row the last counts."""
    found: dict[type[StateRow], dict[int, tuple[StateRow, Written]]] = {}
    for entry, each in zip(entries, written, strict=True):
        row = entry.row
        if row is not None:
            found.setdefault(type(row), {})[id(row)] = (row, each)
    for kind, rows in found.items():
        kind.write(cluster_id, list(rows.values()))
