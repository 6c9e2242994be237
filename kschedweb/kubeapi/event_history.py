"""Events as the Kubernetes API sees them: those that clients wrote and those of the scheduler, as one store.

Clients' events are objects with a position in the change log (`rv`); the scheduler's are rows with a position in the
engine log (`seq`), written with the step that they belong to. Events have numbers of their own, the sum of both: it
grows with either log, and since a step knows where the change log ended before its own changes, every change and every
event of a step has one number, in the order of the commits. An event of the scheduler is shown for an hour, as
upstream; one that a client changes becomes an object, one that it deletes goes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kschedweb.cluster.history import PostgresHistory, logged
from kschedweb.cluster.models import Cluster
from kschedweb.common import bulk
from scheduler_core.api.times import moment_of
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import Logged, ObjectChange, Operation, Stored, key_of

KIND: Final = "Event"
KEPT: Final = timedelta(hours=1)
BATCH: Final = 2_000
_LARGEST_SEQ: Final = 2**63 - 1
# An event with its number; steps that were cut away leave their events with those of the oldest one.
_ROWS: Final = """
SELECT event.seq, event.namespace, event.name, event.type, event.reason, event.action, event.note,
    event.regarding_kind, event.regarding_namespace, event.regarding_name, event.regarding_uid, event.reporter,
    event.count, event.first_at, event.last_at, event.seq + step.rv
FROM cluster_event AS event CROSS JOIN LATERAL (
    SELECT rv FROM traces_enginestep WHERE cluster_id = event.cluster_id AND seq_to >= event.seq ORDER BY seq_to LIMIT 1
) AS step
WHERE event.cluster_id = %s AND event.seq > 0 AND """
_BASE: Final = (
    "coalesce((SELECT seq_from FROM traces_enginestep WHERE cluster_id = %s ORDER BY seq_to LIMIT 1),"
    " (SELECT seq FROM cluster_cluster WHERE id = %s))"
)


class EventHistory(PostgresHistory):
    """The events of one cluster at `now`. Their resourceVersions are their numbers."""

    def __init__(self, cluster_id: int, actor: str, now: int, selector: str = "") -> None:
        super().__init__(cluster_id, actor)
        self._since = moment_of(now) - KEPT
        self._about = _selected_uid(selector)
        self._of_engine: dict[ObjectKey, int] = {}  # locked: the rows' seq

    def position(self) -> int:
        rv, seq = Cluster.objects.values_list("rv", "seq").get(pk=self.cluster_id)
        return rv + seq

    def oldest_position(self) -> int:
        oldest = super().oldest_position()
        return oldest + _seq_at(self.cluster_id, [oldest + 1])[oldest + 1]

    def get(self, key: ObjectKey) -> Stored | None:
        if key.kind != KIND:
            return super().get(key)
        found = super().get(key)
        return _numbered(self.cluster_id, [found])[0] if found is not None else self._row(key, locked=False)

    def list(self, *kinds: str, namespace: str = "") -> Sequence[Stored]:
        if kinds != (KIND,):
            return super().list(*kinds, namespace=namespace)
        found = [
            *_numbered(self.cluster_id, super().list(KIND, namespace=namespace)),
            *self._rows(namespace, _LARGEST_SEQ),
        ]
        return sorted(found, key=key_of)

    def lock(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, Stored]:
        keys = list(keys)
        found = super().lock(keys)
        events = [key for key in keys if key.kind == KIND]
        numbered = _numbered(self.cluster_id, [found[key] for key in events if key in found])
        found |= {key_of(manifest): manifest for manifest in numbered}
        for key in events:
            row = self._row(key, locked=True) if key not in found else None
            if row is not None:
                found[key] = row
                self._of_engine[key] = _seq_of(key)
        return found

    def commit(self, changes: Sequence[ObjectChange], now: int, verdicts: Sequence[Any] = ()) -> int:
        """As any store; events of the scheduler that were changed or deleted are none of it any more."""
        taken = [self._of_engine[change.key] for change in changes if change.key in self._of_engine]
        if taken:
            bulk.execute(
                "DELETE FROM cluster_event WHERE cluster_id = %s AND seq = ANY (%b::bigint[])", [self.cluster_id, taken]
            )
        end = super().commit(changes, now, verdicts)
        return end + Cluster.objects.values_list("seq", flat=True).get(pk=self.cluster_id)

    def list_at(self, kind: str, namespace: str, rv: int) -> Sequence[Stored]:
        at, seq = _split(self.cluster_id, rv)
        objects = PostgresHistory(self.cluster_id, "").list_at(kind, namespace, at)
        found = [*_numbered(self.cluster_id, objects), *self._rows(namespace, seq)]
        return sorted(found, key=key_of)

    def logged_after(self, kind: str, rv: int, *, is_exact: bool = False) -> Sequence[Logged]:
        return _logged(self.cluster_id, _split(self.cluster_id, rv), None)

    def _rows(self, namespace: str, up_to: int) -> Sequence[Stored]:
        where, values = "event.seq <= %s AND event.last_at > %s", [up_to, self._since]
        if namespace:
            where, values = f"{where} AND event.namespace = %s", [*values, namespace]
        if self._about:
            where, values = f"{where} AND event.regarding_uid = %s", [*values, self._about]
        return [_manifest(self.cluster_id, row) for row in bulk.read_rows(_ROWS + where, [self.cluster_id, *values])]

    def _row(self, key: ObjectKey, *, locked: bool) -> Stored | None:
        where = "event.seq = %s AND event.namespace = %s AND event.name = %s AND event.last_at > %s"
        values = [self.cluster_id, _seq_of(key), key.namespace, key.name, self._since]
        rows = bulk.read_rows(_ROWS + where + (" FOR UPDATE OF event" if locked else ""), values)
        return _manifest(self.cluster_id, rows[0]) if rows else None


def read_range(cluster_id: int, after: int) -> tuple[int | None, list[Logged]]:
    """(the number where the range ends, its entries); None when there is no such cluster, or the range has been cut."""
    head = Cluster.objects.filter(pk=cluster_id).values_list("rv", "seq").first()
    if head is None:
        return None, []
    end = sum(head)
    if end <= after:
        return after, []
    start = _split(cluster_id, after)
    if end > after + BATCH:
        end = after + BATCH
        head = _split(cluster_id, end)
    if head[0] > start[0]:
        first = [cluster_id, start[0] + 1]
        if not bulk.read_rows("SELECT rv FROM cluster_change WHERE cluster_id = %s AND rv = %s", first):
            return None, []
    return end, _logged(cluster_id, start, head)


def _logged(cluster_id: int, after: tuple[int, int], to: tuple[int, int] | None) -> list[Logged]:
    """The entries of both logs between two positions (rv, seq), in the order of their numbers."""
    changes = logged(cluster_id, after[0], None if to is None else to[0], kind=KIND)
    before = _seq_at(cluster_id, [entry.rv for entry in changes])
    found = [
        Logged(entry.rv + before[entry.rv], entry.operation, _with_number(entry.manifest, entry.rv + before[entry.rv]),
               entry.before)
        for entry in changes
    ]  # fmt: skip
    values = [cluster_id, after[1], _LARGEST_SEQ if to is None else to[1]]
    for row in bulk.read_rows(_ROWS + "event.seq > %s AND event.seq <= %s", values):
        manifest = _manifest(cluster_id, row)
        found.append(Logged(row[-1], Operation.CREATED, manifest, None))
    return sorted(found, key=lambda entry: entry.rv)


def _numbered(cluster_id: int, manifests: Sequence[Stored]) -> list[Stored]:
    """Events of clients with their numbers in place of their positions."""
    positions = [int(manifest["metadata"]["resourceVersion"]) for manifest in manifests]
    before = _seq_at(cluster_id, positions)
    return [_with_number(one, rv + before[rv]) for one, rv in zip(manifests, positions, strict=True)]


def _seq_at(cluster_id: int, positions: Sequence[int]) -> dict[int, int]:
    """By position of the change log: where the engine log ended when that change was made."""
    if not positions:
        return {}
    rows = bulk.read_rows(
        "SELECT given.rv, coalesce((SELECT seq_to FROM traces_enginestep WHERE cluster_id = %s AND rv < given.rv"
        f" ORDER BY rv DESC, seq_to DESC LIMIT 1), {_BASE}) FROM unnest(%b::bigint[]) AS given (rv)",
        [cluster_id, cluster_id, cluster_id, list(positions)],
    )
    return dict(rows)


def _split(cluster_id: int, number: int) -> tuple[int, int]:
    """How far both logs had come at a number: (rv, seq)."""
    rows = bulk.read_rows(
        "SELECT rv, seq_to FROM traces_enginestep WHERE cluster_id = %s AND rv + seq_from < %s"
        " ORDER BY seq_to DESC LIMIT 1",
        [cluster_id, number],
    )
    if not rows:
        ((base,),) = bulk.read_rows(f"SELECT {_BASE}", [cluster_id, cluster_id])
        return number - base, base
    rv, seq = rows[0]
    return (rv, number - rv) if number <= rv + seq else (number - seq, seq)


def _seq_of(key: ObjectKey) -> int:
    """The position that the name of a scheduler's event ends with; 0 where it is none."""
    end = key.name.rpartition(".")[2]
    try:
        return min(int(end, 16), _LARGEST_SEQ) if end.isalnum() else 0
    except ValueError:
        return 0


def _selected_uid(selector: str) -> str:
    """The uid of the one object whose events a field selector selects; empty when it selects by other means."""
    for term in selector.split(","):
        field, _, value = term.partition("=")
        if field.strip() in ("involvedObject.uid", "regarding.uid"):
            return value.removeprefix("=").strip()
    return ""


def _with_number(manifest: Stored, number: int) -> Stored:
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(number)}}


def _manifest(cluster_id: int, row: Sequence[Any]) -> Stored:
    """An event of the scheduler in the form in which events are stored, as kube-scheduler writes them."""
    (seq, namespace, name, type_, reason, action, note, kind, of_namespace, of_name, of_uid, reporter, count, first_at,
     last_at, number) = row  # fmt: skip
    involved = {"kind": kind, "namespace": of_namespace, "name": of_name, "uid": of_uid}
    involved["apiVersion"] = KINDS[kind].cls.api_version if kind in KINDS else "v1"
    made: Stored = {
        "kind": KIND,
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"event {cluster_id} {seq}")),
            "creationTimestamp": _utc(first_at).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "resourceVersion": str(number),
        },
        "involvedObject": {field: value for field, value in involved.items() if value},
        "reason": reason,
        "message": note,
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "type": type_,
        "eventTime": _micro(first_at),
        "action": action,
        "reportingComponent": reporter,
        "reportingInstance": reporter,
    }
    if count > 1:
        made["series"] = {"count": count, "lastObservedTime": _micro(last_at)}
    return made


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _micro(moment: datetime) -> str:
    return _utc(moment).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
