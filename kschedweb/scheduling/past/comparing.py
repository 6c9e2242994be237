"""A step made again beside its record: the first thing that differs, if any does.

What happened is compared entry by entry with the engine log, and each attempt with its row: every column that says
what was found and decided, the matrix array by array. Durations, times seen and counts of repeats decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
import orjson

from kschedweb.scheduling import adapters
from kschedweb.scheduling.exchanges import exchange_payload
from kschedweb.scheduling.past import journal
from kschedweb.scheduling.past.journal import Entry, Piece, place_of
from kschedweb.scheduling.services import DECIDED_COLUMNS
from kschedweb.traces.choices import LogKind, StepKind
from kschedweb.traces.models import Attempt as AttemptRow
from kschedweb.traces.models import EngineStep
from scheduler_core.api.times import moment_of
from scheduler_core.errors import TraceError
from scheduler_core.model.effects import Attempt, Effects, EventRecord, QueueMove
from scheduler_core.scheduler.scheduler import Scheduler
from scheduler_core.trace import codec, digest
from scheduler_core.trace.matrix import AttemptMatrix

MOST_TEXT = 200  # of a value that is told
_ENTRY = ("rv", "step", "kind", "uid", "pod", "time")  # as Entry has them, behind its position
_OF_ENTRY = (2, 4, 3, 5, 0, 1)  # in which order they are told
# What a payload says and no step decided, by kind of the entry: it counts as equal.
_DECIDE_NOTHING: Mapping[str, tuple[str, ...]] = {LogKind.ATTEMPT: ("duration_us",), LogKind.CACHE: ("attempts",)}
_DECIDED = len(DECIDED_COLUMNS)
_BEST = AttemptRow._meta.get_field("best")


class Difference(msgspec.Struct, frozen=True):
    """Where a step made again first says something else than its record. Values are texts, cut when long.

    `seq`: the entry of the engine log, that before which one is missing, or the end of the step; `pod`: its key, empty
    where the difference is no pod's.
    """

    run: int
    step: int
    seq: int
    pod: str
    field: str
    recorded: str
    replayed: str


@dataclass(frozen=True, slots=True)
class _Found:
    field: str
    recorded: Any
    replayed: Any


def difference(
    step: EngineStep, piece: Piece, effects: Effects, scheduler: Scheduler, before: bytes | None
) -> Difference | None:
    """The first difference between a step's record and what it is when it is made again.

    `before`: the digest of the step before it, None where that is not known.
    """
    entries = piece.entries.get(place_of(step), [])
    for entry, pod, found in _differences(step, entries, piece, effects, scheduler, before):
        seq = step.seq_to if entry is None else entry.seq
        return Difference(step.run, step.step, seq, pod, found.field, text(found.recorded), text(found.replayed))
    return None


def attempt_difference(made: Attempt, seq: int, step: EngineStep, piece: Piece) -> Difference | None:
    """The first difference between one attempt's record, its entry at `seq`, and what it is when it is made again."""
    entry = next((each for each in piece.entries.get(place_of(step), ()) if each.seq == seq), None)
    if entry is None:
        return Difference(step.run, step.step, seq, made.pod_key, "entry", text(None), str(LogKind.ATTEMPT))
    place = entry.payload.get("place", 0)
    kind, payload = told(made, step.now_us, place)
    found = [*_of_attempt(made, entry, piece, step, place, digest.attempt_digest(made))]
    for name, recorded, replayed in (("kind", entry.kind, kind), ("pod", entry.pod_key, made.pod_key)):
        if recorded != replayed:
            found.append(_Found(name, recorded, replayed))
    for each in (*found, *of_payload(entry.payload, payload)):
        return Difference(step.run, step.step, seq, made.pod_key, each.field, text(each.recorded), text(each.replayed))
    return None


def _differences(
    step: EngineStep,
    entries: list[Entry],
    piece: Piece,
    effects: Effects,
    scheduler: Scheduler,
    before: bytes | None,
) -> Iterator[tuple[Entry | None, str, _Found]]:
    attempts = effects.attempts
    now, at_now, log_to, number = step.now_us, moment_of(step.now_us), step.log_to, step.step
    if len(entries) != step.seq_to - step.seq_from:
        yield None, "", _Found("entries of the engine log", len(entries), step.seq_to - step.seq_from)
    if step.now != at_now:
        yield None, "", _Found("time of the step", step.now, at_now)
    at, place = 0, 0
    digests: list[tuple[int, bytes]] = []
    for made in effects.log:
        entry = entries[at] if at < len(entries) else None
        if isinstance(made, EventRecord):
            if made.type == "Warning" and not tells_of(entry, made):
                continue  # one seen before is only counted
            uid, key = made.regarding_uid, made.regarding_key
        else:
            uid, key = made.pod_uid, made.pod_key
        kind, payload = told(made, now, place)
        if entry is None:
            yield None, key, _Found("entry", None, kind)
            return
        if isinstance(made, Attempt):
            digests.append((made.attempt, digest.attempt_digest(made)))
            # The row says more than the line in the log does, and comes first.
            for found in _of_attempt(made, entry, piece, step, place, digests[-1][1]):
                yield entry, key, found
            place += 1
        columns = log_to, number, kind, uid, key, at_now
        if entry[1:-1] != columns:
            for each in _OF_ENTRY:
                if entry[1 + each] != columns[each]:
                    yield entry, key, _Found(_ENTRY[each], entry[1 + each], columns[each])
        for name in _DECIDE_NOTHING.get(kind, ()):
            if name in entry.payload:
                payload[name] = entry.payload[name]
        if entry.payload != payload:
            for found in of_payload(entry.payload, payload):
                yield entry, key, found
        at += 1
    if len(attempts) != step.cycles:
        yield None, "", _Found("cycles", step.cycles, len(attempts))
    for entry in entries[at:]:
        found_of_end = _of_end(entry, step, effects, scheduler)
        if found_of_end is not None:
            yield entry, entry.pod_key, found_of_end
    if before is not None:
        made_digest = digest.step_digest(before, digests)
        if made_digest != bytes(step.digest):
            yield None, "", _Found("digest of the step", bytes(step.digest).hex(), made_digest.hex())


def tells_of(entry: Entry | None, record: EventRecord) -> bool:
    return (
        entry is not None
        and entry.kind == LogKind.EVENT
        and entry.pod_uid == record.regarding_uid
        and entry.payload.get("reason") == record.reason
    )


def told(made: Any, now: int, place: int) -> tuple[str, dict[str, Any]]:
    """Kind and payload of the entry that tells of something.

    Numbers of attempts from before a rebuild are no part of what the step decided: moves in the cache go without.
    """
    if isinstance(made, Attempt):
        return LogKind.ATTEMPT, adapters.attempt_payload(made) | {"place": place}
    if isinstance(made, EventRecord):
        return LogKind.EVENT, adapters.event_payload(made, now)
    if isinstance(made, QueueMove):
        return LogKind.QUEUE, adapters.queue_payload(made, now)
    return LogKind.CACHE, adapters.cache_payload(made, now, 0)


def of_payload(recorded: Mapping[str, Any], replayed: Mapping[str, Any]) -> Iterator[_Found]:
    """A repeat tells only what is its own."""
    names = recorded.keys() if "repeats" in recorded else {**recorded, **replayed}
    for name in names:
        if name in ("duration_us", "repeats") or (name == "attempts" and name not in replayed):
            continue
        if recorded.get(name) != replayed.get(name) and recorded.get(name) != _as_stored(replayed.get(name)):
            yield _Found(name, recorded.get(name), replayed.get(name))


def _as_stored(value: Any) -> Any:
    """What a column of JSON gives back; other values as they are."""
    return orjson.loads(orjson.dumps(value)) if isinstance(value, (dict, list, tuple)) else value


def _of_attempt(
    made: Attempt, entry: Entry, piece: Piece, step: EngineStep, place: int, made_digest: bytes
) -> Iterator[_Found]:
    """An attempt beside its row, or beside that of the one it repeats."""
    if entry.kind != LogKind.ATTEMPT:
        return
    repeats = entry.payload.get("repeats")
    row = piece.attempts.get(repeats or entry.seq)
    if row is None:
        yield _Found("attempt", None, f"{made.result} {made.node_name}".strip())
        return
    if not repeats:
        places = (entry.seq, step.log_to, step.config_version, step.run, step.step, place)
        columns = adapters.attempt_decided(made, places)
        if row[:_DECIDED] != columns:
            yield from _of_columns(row, columns)
        yield from _of_matrix(made, row, step.cluster_id)
    if bytes(row.digest) != made_digest:
        yield _Found("digest", bytes(row.digest).hex(), made_digest.hex())


def _of_columns(row: Any, columns: tuple[Any, ...]) -> Iterator[_Found]:
    """What differs of the columns of a row that are not equal as a whole."""
    for name, recorded, replayed in zip(DECIDED_COLUMNS, row, columns, strict=False):
        if name == "node_order" or (name == "amounts" and recorded is None):
            continue  # told with the matrix; of an earlier release, which kept none
        if recorded == replayed or recorded == _as_stored(replayed):
            continue
        if name == "best":
            recorded, replayed = (_BEST.from_db_value(value, None, None) for value in (recorded, replayed))
            if recorded == replayed:
                continue  # stored as it was at first
        yield _Found(name, recorded, replayed)


def _of_matrix(made: Attempt, row: Any, cluster_id: int) -> Iterator[_Found]:
    order = made.node_order.digest if made.node_order is not None else ""
    if row.node_order != order:
        yield _Found("nodes", row.node_order, order)
    elif row.matrix is None or not codec.is_of(row.matrix, made):
        # The same may be packed in another way, by another version of the library.
        try:
            recorded = codec.decode(bytes(row.matrix or b""), journal.node_names(cluster_id, row.node_order))
        except TraceError as error:
            yield _Found("matrix", str(error), "a matrix")
            return
        yield from _within(recorded, AttemptMatrix.of(made), "matrix")


def _within(recorded: Any, replayed: Any, where: str) -> Iterator[_Found]:
    """What differs, looking into structs and arrays."""
    if isinstance(recorded, msgspec.Struct) and type(recorded) is type(replayed):
        for name in recorded.__struct_fields__:
            yield from _within(getattr(recorded, name), getattr(replayed, name), f"{where}.{name}")
    elif isinstance(recorded, np.ndarray) and isinstance(replayed, np.ndarray):
        if recorded.shape != replayed.shape:
            yield _Found(where, recorded.shape, replayed.shape)
        elif not np.array_equal(recorded, replayed):
            first = tuple(int(place) for place in np.argwhere(recorded != replayed)[0])
            yield _Found(f"{where}{list(first)}", int(recorded[first]), int(replayed[first]))
    elif isinstance(recorded, (tuple, list)) and isinstance(replayed, (tuple, list)):
        if len(recorded) != len(replayed):
            yield _Found(where, len(recorded), len(replayed))
        else:
            for place, (left, right) in enumerate(zip(recorded, replayed, strict=True)):
                yield from _within(left, right, f"{where}[{place}]")
    elif recorded != replayed:
        yield _Found(where, recorded, replayed)


def _of_end(entry: Entry, step: EngineStep, effects: Effects, scheduler: Scheduler) -> _Found | None:
    """An entry after all that happened: of the step itself, or of events that were counted."""
    payload = entry.payload
    if entry.kind == LogKind.EVENT and not entry.pod_uid and "counts" in payload:
        return None
    if entry.kind != LogKind.STEP:
        return _Found("entry", entry.kind, None)
    made = {"step": step.step, "cycles": len(effects.attempts), "kind": step.kind}
    results: dict[str, int] = {}
    for attempt in effects.attempts:
        results[attempt.result] = results.get(attempt.result, 0) + 1
    if results:
        made["results"] = results
    if "queued" in payload or step.kind != StepKind.APPLY:
        made["queued"] = scheduler.engine.queue.sizes()
    if effects.exchanges:
        made["extenders"] = [exchange_payload(*each) for each in effects.exchanges]
    return next(of_payload(payload, made), None)


def _written(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except (TypeError, ValueError):
        return str(value)


def _plain(value: Any) -> Any:
    """What JSON has no form for: arrays and their numbers, and sequences that are views."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(type(value).__name__)


def text(value: Any) -> str:
    """A value as a difference tells it: text as it is, times as they are written, what has parts as JSON."""
    said = "nothing" if value is None else value if isinstance(value, str) else _written(value)
    return said if len(said) <= MOST_TEXT else said[: MOST_TEXT - 1] + "…"
