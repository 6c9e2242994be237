"""A span of a cluster's history, written into a file: all that is needed to make its steps again, and to ask of them
what is asked of the cluster.

What rows say that change later (how often an attempt was repeated, how often an event was seen) is taken back to the
end. What is confidential is not written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction

from kschedweb.cluster import follow
from kschedweb.cluster.adapters import CONFIDENTIAL_KINDS
from kschedweb.common import bulk, packing
from kschedweb.scheduling.past import files, journal, rows
from kschedweb.scheduling.past.contents import blot
from kschedweb.scheduling.past.errors import HistoryCutError
from kschedweb.scheduling.past.files import Part
from kschedweb.scheduling.past.planning import Plan, read
from kschedweb.traces.choices import LogKind
from kschedweb.traces.models import EngineLog
from scheduler_core.api.times import moment_of

ROWS_AT_ONCE = 4_000
CHANGES_AT_ONCE = 500
SECTION_BYTES = 4 << 20  # about: a section ends with the page that comes to so much
_LOG = EngineLog._meta.db_table


def written(plan: Plan) -> Iterator[bytes]:
    """The file, piece by piece. HistoryCutError where retention has cleared away meanwhile what was to be written."""
    writer = files.Writer()
    yield writer.head(plan.head)
    for part in files.PARTS:
        pages = iter([plan.fixed[part.name]]) if part.name in plan.fixed else _PAGES[part.name](plan)
        yield from sections(writer, part, pages)
    yield writer.end()


def sections(writer: files.Writer, part: Part, pages: Iterable[list[list[Any]]]) -> Iterator[bytes]:
    """Rows of a part in sections of a good size."""
    kept: list[list[Any]] = []
    size = 0
    for page in pages:
        kept += page
        size += _size(page)
        if size >= SECTION_BYTES:
            yield writer.rows(part, kept)
            kept, size = [], 0
    if kept:
        yield writer.rows(part, kept)


def _size(page: Sequence[Sequence[Any]]) -> int:
    """Roughly how many bytes rows take."""
    return sum(len(value) if isinstance(value, str | bytes) else 8 for row in page for value in row)


def _logged(
    plan: Plan, part: Part, key: str, after: int, until: int, most: int = ROWS_AT_ONCE
) -> Iterator[list[list[Any]]]:
    """Rows that are numbered without gaps; HistoryCutError where some are missing."""
    at = part.place(key)
    while after < until:
        page = read(
            part,
            f"cluster_id = %s AND {key} > %s AND {key} <= %s",
            [plan.cluster.pk, after, min(until, after + most)],
            key,
        )
        if len(page) < min(until, after + most) - after:
            raise HistoryCutError(*journal.begins(plan.cluster.pk))
        after = page[-1][at]
        yield page


def _changes(plan: Plan) -> Iterator[list[list[Any]]]:
    part = files.CHANGES
    kind, content = part.place("kind"), part.place("object")
    for page in _logged(plan, part, "rv", plan.head.start.rv, plan.head.end.rv, CHANGES_AT_ONCE):
        for row in page:
            if row[kind] in CONFIDENTIAL_KINDS:
                blot(row)
            else:
                row[content] = packing.decompressed(row[content])
        yield page


def _log(plan: Plan) -> Iterator[list[list[Any]]]:
    return _logged(plan, files.LOG, "seq", plan.head.start.seq, plan.head.end.seq)


def _steps(plan: Plan) -> Iterator[list[list[Any]]]:
    return _of_steps(plan, files.STEPS, "true")


def _draws(plan: Plan) -> Iterator[list[list[Any]]]:
    return _of_steps(plan, files.DRAWS, "draws IS NOT NULL")


def _of_steps(plan: Plan, part: Part, where: str) -> Iterator[list[list[Any]]]:
    start, end = plan.head.start, plan.head.end
    after = start.run, start.step
    run, step = part.place("run"), part.place("step")
    while page := read(
        part,
        f"cluster_id = %s AND (run, step) > (%s, %s) AND (run, step) <= (%s, %s) AND {where}",
        [plan.cluster.pk, *after, end.run, end.step],
        "run, step",
        ROWS_AT_ONCE,
    ):
        after = page[-1][run], page[-1][step]
        yield page


_OF_ATTEMPTS = "cluster_id = %s AND ((seq > %s AND seq <= %s) OR seq = ANY (%b::bigint[]))"


def _of_attempts(plan: Plan) -> list[Any]:
    return [plan.cluster.pk, plan.head.start.seq, plan.head.end.seq, list(plan.attempts)]


def _attempts(plan: Plan) -> Iterator[list[list[Any]]]:
    """With the repeats that there had been by the end."""
    part = files.ATTEMPTS
    names = ("seq", "pod_uid", "repeat_count", "started_at", "last_seen_at", "last_repeat")
    seq, uid, count, started, seen, last = map(part.place, names)
    cluster_id, end, after = plan.cluster.pk, plan.head.end.seq, -1
    while True:
        with transaction.atomic():
            follow.read_only_moment()  # rows and what is taken back of them belong together
            page = read(part, f"{_OF_ATTEMPTS} AND seq > %s", [*_of_attempts(plan), after], "seq", ROWS_AT_ONCE // 8)
            repeated = {row[seq]: row[uid] for row in page if row[count]}
            later = _repeats_after(cluster_id, repeated, end)
            then = rows.repeats_at(cluster_id, {each: repeated[each] for each in later}, end) if later else {}
        if not page:
            return
        for row in page:
            if row[seq] not in later:
                continue
            row[count] -= later[row[seq]]
            told = then.get(row[seq])
            row[seen] = row[started] if told is None else told[2]
            row[last] = None
            if told is not None:
                row[last] = files.json_text({"attempt": told[0], "duration_us": told[1], "durations": {}})
        after = page[-1][seq]
        yield page


def _repeats_after(cluster_id: int, attempts: Mapping[int, str], seq: int) -> dict[int, int]:
    """How often attempts, given with their pods, were repeated after a position."""
    if not attempts:
        return {}
    found = bulk.read_rows(
        f"SELECT (payload->>'repeats')::bigint, count(*) FROM {_LOG} WHERE cluster_id = %s AND seq > %s AND kind = %s"
        " AND pod_uid <> '' AND pod_uid = ANY (%b::text[]) AND (payload->>'repeats')::bigint = ANY (%b::bigint[])"
        " GROUP BY 1",
        [cluster_id, seq, LogKind.ATTEMPT.value, sorted(set(attempts.values())), list(attempts)],
    )
    return dict(found)


def _orders(plan: Plan) -> Iterator[list[list[Any]]]:
    found = bulk.read_rows(
        f"SELECT DISTINCT node_order FROM {files.ATTEMPTS.table} WHERE {_OF_ATTEMPTS} AND node_order <> ''",
        _of_attempts(plan),
    )
    wanted = sorted(digest for (digest,) in found)
    for first in range(0, len(wanted), 100):
        yield read(
            files.ORDERS,
            "cluster_id = %s AND digest = ANY (%b::text[])",
            [plan.cluster.pk, wanted[first : first + 100]],
            "digest",
        )


def _bindings(plan: Plan) -> Iterator[list[list[Any]]]:
    return _work(plan, files.BINDINGS)


def _evictions(plan: Plan) -> Iterator[list[list[Any]]]:
    return _work(plan, files.EVICTIONS)


def _work(plan: Plan, part: Part) -> Iterator[list[list[Any]]]:
    """Work that had ended by the end: where nothing happens any more none may be left to do."""
    found = bulk.read_rows(
        f"SELECT id FROM {part.table} WHERE cluster_id = %s AND finished_at >= %s AND finished_at <= %s ORDER BY id",
        [plan.cluster.pk, plan.start_at or moment_of(0), moment_of(plan.head.end.at_us)],
    )
    wanted = [pk for (pk,) in found]
    for first in range(0, len(wanted), ROWS_AT_ONCE):
        yield read(part, "id = ANY (%b::bigint[])", [wanted[first : first + ROWS_AT_ONCE]], "id")


def _events(plan: Plan) -> Iterator[list[list[Any]]]:
    """With the counts that there had been by the end."""
    part = files.EVENTS
    seq, count, first_at, last_at = map(part.place, ("seq", "count", "first_at", "last_at"))
    end = plan.head.end
    page = read(
        part,
        "cluster_id = %s AND ((seq > 0 AND seq <= %s) OR (seq = 0 AND first_at <= %s)) AND last_at >= %s",
        [plan.cluster.pk, end.seq, moment_of(end.at_us), plan.start_at or moment_of(0)],
        "id",
    )
    counted = {row[seq] for row in page if row[seq] and row[count] > 1}
    then: dict[int, tuple[int, datetime]] = {}
    if counted:
        told = bulk.read_rows(
            f"SELECT payload::text, at FROM {_LOG} WHERE cluster_id = %s AND seq > %s AND seq <= %s AND kind = %s"
            " AND pod_uid = '' ORDER BY seq",
            [plan.cluster.pk, min(counted), end.seq, LogKind.EVENT.value],
        )
        for payload, at in told:
            then |= {event: (number, at) for event, number in orjson.loads(payload).get("counts", ())}
    for row in page:
        if row[seq] in counted:
            row[count], row[last_at] = then.get(row[seq], (1, row[first_at]))
    if page:
        yield page


def _throughput(plan: Plan) -> Iterator[list[list[Any]]]:
    page = read(
        files.THROUGHPUT,
        "cluster_id = %s AND at >= date_trunc('minute', %s::timestamptz) AND at <= %s",
        [plan.cluster.pk, plan.start_at or moment_of(0), moment_of(plan.head.end.at_us)],
        "at, seconds",
    )
    if page:
        yield page


def _checkpoints(plan: Plan) -> Iterator[list[list[Any]]]:
    """Compressed as they are stored: those of a large cluster take much room otherwise."""
    for pk in plan.checkpoints:
        page = read(files.CHECKPOINTS, "cluster_id = %s AND id = %s", [plan.cluster.pk, pk], "id")
        if not page:
            raise HistoryCutError(*journal.begins(plan.cluster.pk))
        yield page


_PAGES = {
    "checkpoints": _checkpoints,
    "changes": _changes,
    "steps": _steps,
    "draws": _draws,
    "log": _log,
    "orders": _orders,
    "attempts": _attempts,
    "bindings": _bindings,
    "evictions": _evictions,
    "events": _events,
    "throughput": _throughput,
}
