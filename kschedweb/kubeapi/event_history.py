"""Events as the Kubernetes API sees them: those that clients wrote and those of the scheduler, as one store.

Clients' events are objects with a position in the change log (`rv`); the scheduler's are rows with a position in the
engine log (`seq`), written with the step that they belong to. Since a step knows where the change log ended before its
own changes, both have resource versions in one order with all other objects (`cluster.versions`). An event of the
scheduler is shown for an hour, as upstream; one that a client changes becomes an object, one that it deletes goes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kschedweb.cluster.history import ForgottenError, PostgresHistory, is_cut, logged, place_now
from kschedweb.cluster.versions import Place, entries_of, rv_of
from kschedweb.common import bulk
from kschedweb.scheduling.past.rows import event_counts_at
from scheduler_core.api.times import moment_of
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import Logged, ObjectChange, Operation, Stored, key_of

KIND: Final = "Event"
KEPT: Final = timedelta(hours=1)
BATCH: Final = 20_000  # entries of each log that are looked through at once
EVENT_BYTES: Final = 1_000  # about, of an event of the scheduler
_LARGEST_SEQ: Final = 2**63 - 1
# An event with its place; steps that were cut away leave their events to the oldest one, or else to the cluster.
_ROWS: Final = """
SELECT event.seq, event.namespace, event.name, event.type, event.reason, event.action, event.note,
    event.regarding_kind, event.regarding_namespace, event.regarding_name, event.regarding_uid, event.reporter,
    event.count, event.first_at, event.last_at, coalesce(step.rv, cluster.step_rv),
    coalesce(step.seq_at_rv, cluster.step_seq)
FROM cluster_event AS event JOIN cluster_cluster AS cluster ON cluster.id = event.cluster_id
LEFT JOIN LATERAL (
    SELECT rv, seq_at_rv FROM traces_enginestep WHERE cluster_id = event.cluster_id AND seq_to >= event.seq
    ORDER BY seq_to, rv LIMIT 1
) AS step ON true
WHERE event.cluster_id = %s AND event.seq > 0 AND """
_COUNT, _FIRST_AT, _LAST_AT = 12, 13, 14  # columns of these


class EventHistory(PostgresHistory):
    """The events of one cluster at `now`."""

    def __init__(self, cluster_id: int, actor: str, now: int, selector: str = "") -> None:
        super().__init__(cluster_id, actor)
        self._since = moment_of(now) - KEPT
        self._about = _selected_uid(selector)
        self._of_engine: dict[ObjectKey, int] = {}  # locked: the rows' seq

    def oldest_position(self) -> int:
        oldest = _oldest_step(self.cluster_id)
        return max(super().oldest_position(), 0 if oldest is None else oldest.version)

    def get(self, key: ObjectKey) -> Stored | None:
        found = super().get(key)
        return self._row(key, locked=False) if found is None and key.kind == KIND else found

    def list(self, *kinds: str, namespace: str = "") -> Sequence[Stored]:
        found = super().list(*kinds, namespace=namespace)
        return sorted([*found, *self._rows(namespace, _LARGEST_SEQ)], key=key_of) if kinds == (KIND,) else found

    def lock(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, Stored]:
        keys = list(keys)
        found = super().lock(keys)
        for key in keys:
            row = self._row(key, locked=True) if key.kind == KIND and key not in found else None
            if row is not None:
                found[key] = row
                self._of_engine[key] = _seq_of(key)
        return found

    def commit(self, changes: Sequence[ObjectChange], now: int, verdicts: Sequence[Any] = (), **told: Any) -> int:
        """As any store; events of the scheduler that were changed or deleted are none of it any more."""
        taken = [self._of_engine[change.key] for change in changes if change.key in self._of_engine]
        if taken:
            bulk.execute(
                "DELETE FROM cluster_event WHERE cluster_id = %s AND seq = ANY (%b::bigint[])", [self.cluster_id, taken]
            )
        return super().commit(changes, now, verdicts, **told)

    def list_at(self, kind: str, namespace: str, rv: int) -> Sequence[Stored]:
        place = _place_at(self.cluster_id, rv)
        if place is None:
            raise ForgottenError
        found = [*self.objects_at(kind, namespace, place.rv), *self._rows(namespace, place.seq)]
        return sorted(found, key=key_of)

    def part_at(
        self, kind: str, namespace: str, rv: int, after: str, limit: int
    ) -> tuple[Sequence[Stored], int] | None:
        return None

    def logged_after(self, kind: str, rv: int) -> Sequence[Logged]:
        place = _place_at(self.cluster_id, rv)
        if place is None:
            raise ForgottenError
        return _logged(self.cluster_id, place, None)

    def _rows(self, namespace: str, up_to: int) -> Sequence[Stored]:
        where, values = "event.seq <= %s AND event.last_at > %s", [up_to, self._since]
        if namespace:
            where, values = f"{where} AND event.namespace = %s", [*values, namespace]
        if self._about:
            where, values = f"{where} AND event.regarding_uid = %s", [*values, self._about]
        return [_manifest(self.cluster_id, row) for row in _read(self.cluster_id, where, values)]

    def _row(self, key: ObjectKey, *, locked: bool) -> Stored | None:
        where = "event.seq = %s AND event.namespace = %s AND event.name = %s AND event.last_at > %s"
        values = [_seq_of(key), key.namespace, key.name, self._since]
        rows = _read(self.cluster_id, where + (" FOR UPDATE OF event" if locked else ""), values)
        return _manifest(self.cluster_id, rows[0]) if rows else None


def read_range(cluster_id: int, after: int) -> tuple[int | None, list[Logged]]:
    """(the version where the range ends, its entries); None: there is no such cluster, or the range has been cut."""
    head = place_now(cluster_id)
    if head is None:
        return None, []
    if head.version <= after:
        return after, []
    start = _place_at(cluster_id, after)
    if start is None or (head.rv > start.rv and is_cut(cluster_id, start.rv)):
        return None, []
    end = head
    if end.rv > start.rv + BATCH:
        began, _ = _entries_at(cluster_id, start.rv + BATCH)
        end = Place(start.rv + BATCH, began, began)
    if end.seq > start.seq + BATCH:
        end = _place_of_entry(cluster_id, start.seq + BATCH)
    return end.version, _logged(cluster_id, start, end)


def version_then(cluster_id: int, rv: int, seq: int) -> int:
    """The version of all that was there when both logs had come so far."""
    began, ended = _entries_at(cluster_id, rv)
    return Place(rv, max(began, min(seq, ended)), began).version


def told_then(cluster_id: int, now: int, last: tuple[int, int], selector: str = "") -> list[Stored]:
    """The scheduler's events as they were shown at `now`, after its last step: (end of the engine log, time).

    What has been repeated since is counted as often as it had been by then.
    """
    seq, stepped_at = last
    since, ended = moment_of(now) - KEPT, moment_of(stepped_at)
    where, values = "event.seq <= %s AND event.last_at > %s", list[Any]([seq, since])
    if about := _selected_uid(selector):
        where, values = f"{where} AND event.regarding_uid = %s", [*values, about]
    found = [list(row) for row in _read(cluster_id, where, values)]
    repeated = [row for row in found if row[_COUNT] > 1 and row[_LAST_AT] >= ended]
    counts = event_counts_at(cluster_id, [row[0] for row in repeated], seq)
    for row in repeated:
        row[_COUNT], row[_LAST_AT] = counts.get(row[0], (1, row[_FIRST_AT]))
    return [_manifest(cluster_id, row) for row in found if row[_LAST_AT] > since]


def _logged(cluster_id: int, after: Place, to: Place | None) -> list[Logged]:
    """The entries of both logs between two places, in the order of their versions."""
    found = logged(cluster_id, after.rv, None if to is None else to.rv, kind=KIND)
    values = [after.seq, _LARGEST_SEQ if to is None else to.seq]
    for row in _read(cluster_id, "event.seq > %s AND event.seq <= %s", values):
        manifest = _manifest(cluster_id, row)
        version = int(manifest["metadata"]["resourceVersion"])
        found.append(Logged(version, Operation.CREATED, manifest, None, EVENT_BYTES))
    return sorted(found, key=lambda entry: entry.rv)


def _place_at(cluster_id: int, version: int) -> Place | None:
    """How far both logs had come at a version; None when the engine log has been cut after it."""
    oldest = _oldest_step(cluster_id)
    if oldest is not None and version < oldest.version:
        return None
    rv = rv_of(version)
    began, ended = _entries_at(cluster_id, rv)
    return Place(rv, min(began + entries_of(version), ended), began)


def _oldest_step(cluster_id: int) -> Place | None:
    """Where the oldest step that is kept began; None when none has been cut away."""
    rows = bulk.read_rows(
        "SELECT rv, seq_from, seq_at_rv FROM traces_enginestep WHERE cluster_id = %s ORDER BY seq_to, rv LIMIT 1",
        [cluster_id],
    )
    return Place(*rows[0]) if rows and rows[0][1] else None


def _entries_at(cluster_id: int, rv: int) -> tuple[int, int]:
    """Where the engine log ended when the change log came to `rv`, and when it went on from there."""
    rows = bulk.read_rows(
        "SELECT CASE WHEN rv = %s THEN seq_at_rv ELSE seq_to END, seq_to FROM traces_enginestep AS step"
        " WHERE cluster_id = %s AND rv <= %s ORDER BY rv DESC, step.seq_to DESC LIMIT 1",
        [rv, cluster_id, rv],
    ) or bulk.read_rows(
        "SELECT seq, seq FROM (SELECT coalesce("
        "(SELECT seq_from FROM traces_enginestep WHERE cluster_id = %s ORDER BY seq_to, rv LIMIT 1),"
        " (SELECT seq FROM cluster_cluster WHERE id = %s)) AS seq) AS found",
        [cluster_id, cluster_id],
    )
    began, ended = rows[0]
    return began, ended


def _place_of_entry(cluster_id: int, seq: int) -> Place:
    """The place right after an entry of the engine log."""
    rows = bulk.read_rows(
        "SELECT rv, %s::bigint, seq_at_rv FROM traces_enginestep WHERE cluster_id = %s AND seq_to >= %s"
        " ORDER BY seq_to, rv LIMIT 1",
        [seq, cluster_id, seq],
    )
    return Place(*rows[0])


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


def _read(cluster_id: int, where: str, values: Sequence[Any]) -> list[Any]:
    """The scheduler's events that meet a condition."""
    return list(bulk.read_rows(_ROWS + where, [cluster_id, *values]))


def _manifest(cluster_id: int, row: Sequence[Any]) -> Stored:
    """An event of the scheduler in the form in which events are stored, as kube-scheduler writes them."""
    (seq, namespace, name, type_, reason, action, note, kind, of_namespace, of_name, of_uid, reporter, count, first_at,
     last_at, rv, seq_at_rv) = row  # fmt: skip
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
            "resourceVersion": str(Place(rv, seq, seq_at_rv).version),
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
