"""Steps as they are recorded, with what they were given: read in pieces, each in one transaction that cannot write.

A piece takes no lock that anybody waits for, and is over before its steps are made again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import namedtuple
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import orjson
import zstandard

from kschedweb.cluster import follow
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.exchanges import exchange_of
from kschedweb.scheduling.past import files, stores
from kschedweb.scheduling.past.errors import DamagedError, HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.stores import Place
from kschedweb.scheduling.services import DECIDED_COLUMNS
from kschedweb.traces import adapters as trace_adapters
from kschedweb.traces.choices import LogKind, StepKind
from kschedweb.traces.models import Checkpoint, EngineStep
from scheduler_core import config
from scheduler_core.errors import ConfigError, ManifestError, TraceError
from scheduler_core.model.changes import Change
from scheduler_core.model.effects import ExtenderExchange
from scheduler_core.trace import codec

MOST_STEPS = 50  # of a piece
MOST_CHANGES = 2_000  # of a piece, unless one step has more

# Of an attempt's row all but how long it took and how often it was made again.
COMPARED = (*DECIDED_COLUMNS, "matrix", "digest")
# Of an attempt; JSON is read, values are those that were written.
Row: Any = namedtuple("Row", COMPARED)  # type: ignore[misc]
_OF_JSON = tuple(COMPARED.index(each.name) for each in files.ATTEMPTS.columns if each.is_json and each.name in COMPARED)


@dataclass(frozen=True, slots=True)
class Configuration:
    """A version of the configuration. `is_replayable`: its plugins declared that equal inputs give equal decisions."""

    text: str
    is_replayable: bool
    has_extenders: bool


class Entry(NamedTuple):
    """An entry of the engine log. Rows are read by the thousand: models would take longer than the steps."""

    seq: int
    rv: int
    step: int
    kind: str
    pod_uid: str
    pod_key: str
    at: datetime
    payload: dict[str, Any]


@dataclass(slots=True)
class Piece:
    """Steps in order, with everything read of them; what they decided only where that was asked for."""

    steps: list[EngineStep]
    changes: dict[Place, Sequence[Change]]
    exchanges: dict[Place, list[ExtenderExchange]] = field(default_factory=dict)
    entries: dict[Place, list[Entry]] = field(default_factory=dict)
    attempts: dict[int, Any] = field(default_factory=dict)  # of `Row` by seq; those that were repeated, too

    def stored(self, step: EngineStep) -> frozenset[tuple[str, int]]:
        """(uid, number) of the step's attempts that have rows of their own."""
        rows = (self.attempts.get(entry.seq) for entry in self.entries.get(place_of(step), ()))
        return frozenset((row.pod_uid, row.attempt) for row in rows if row is not None)


def place_of(row: EngineStep | Checkpoint) -> Place:
    return row.run, row.step


def ends(cluster_id: int) -> Cluster:
    """The cluster's row, which says where both logs end; ClusterGoneError."""
    return stores.of(cluster_id).cluster()


def begins(cluster_id: int) -> tuple[int, int]:
    """(rv, seq) of the earliest moment that can be had: the first one, or that of the oldest checkpoint."""
    return stores.of(cluster_id).begins()


def steps_after(cluster_id: int, after: Place, until: Place | None = None) -> list[EngineStep]:
    """The next steps in order, no more than a piece has."""
    found: list[EngineStep] = []
    changes = 0
    for row in stores.of(cluster_id).steps_after(after, until, MOST_STEPS):
        changes += row.log_to - row.log_from
        if found and changes > MOST_CHANGES:
            break
        found.append(row)
    return found


def piece_after(cluster_id: int, after: Place, until: Place | None, *, with_decisions: bool) -> Piece:
    """The next steps with what they were given; ClusterGoneError, HistoryCutError, NotReplayableError, DamagedError."""
    with stores.of(cluster_id).reading():
        steps = steps_after(cluster_id, after, until)
        piece = Piece(steps, {place_of(step): () for step in steps})
        try:
            _changes_read(cluster_id, piece)
        except follow.LogClearedError:
            raise HistoryCutError(*begins(cluster_id)) from None
        if not steps:
            ends(cluster_id)
            return piece
        asking = [
            step for step in steps if step.cycles and configuration(cluster_id, step.config_version).has_extenders
        ]
        if with_decisions or asking:
            _entries_read(cluster_id, piece)
            _attempts_read(cluster_id, piece)
        for step in steps:
            if configuration(cluster_id, step.config_version).has_extenders:
                piece.exchanges[place_of(step)] = list(_exchanges(cluster_id, piece, place_of(step)))
    return piece


def _changes_read(cluster_id: int, piece: Piece) -> None:
    """Of each run of steps that follow each other the changes they took."""
    taking = [step for step in piece.steps if step.kind == StepKind.APPLY and step.log_to > step.log_from]
    if not taking:
        return
    begins_at, ends_at = taking[0].log_from, taking[-1].log_to
    try:
        found = stores.of(cluster_id).changes(begins_at, ends_at)
    except (zstandard.ZstdError, orjson.JSONDecodeError, ManifestError) as error:
        raise DamagedError(f"the change log is damaged between {begins_at} and {ends_at}: {error}") from error
    at = 0
    for step in taking:
        while at < len(found) and found[at].rv <= step.log_from:
            at += 1
        first = at
        while at < len(found) and found[at].rv <= step.log_to:
            at += 1
        piece.changes[place_of(step)] = found[first:at]


def _entries_read(cluster_id: int, piece: Piece) -> None:
    steps = [step for step in piece.steps if step.seq_to > step.seq_from]
    if not steps:
        return
    rows = stores.of(cluster_id).entries(steps[0].seq_from, steps[-1].seq_to)
    found = [Entry._make((*row[:-1], orjson.loads(row[-1]))) for row in rows]
    last = 0
    for step in steps:
        first, last = last, bisect_right(found, step.seq_to, lo=last, key=itemgetter(0))
        if last > first:
            piece.entries[place_of(step)] = found[first:last]


def _attempts_read(cluster_id: int, piece: Piece) -> None:
    """The rows of all attempts that the entries tell of, with those that were only repeated."""
    entries = [entry for each in piece.entries.values() for entry in each if entry.kind == LogKind.ATTEMPT]
    wanted = {_number(entry.payload.get("repeats")) or entry.seq for entry in entries}
    rows = stores.of(cluster_id).attempts(wanted, COMPARED)
    piece.attempts = {row[0]: row for row in map(_row, rows)}


def _row(columns: Sequence[Any]) -> Any:
    values = list(columns)
    for place in _OF_JSON:
        if (text := values[place]) is not None:
            values[place] = orjson.loads(text)
    return Row._make(values)


def _exchanges(cluster_id: int, piece: Piece, place: Place) -> Iterable[ExtenderExchange]:
    for entry in piece.entries.get(place, ()):
        row = piece.attempts.get(entry.seq)
        if row is not None and row.matrix is not None:
            try:
                matrix = codec.decode(bytes(row.matrix), node_names(cluster_id, row.node_order))
            except TraceError as error:
                raise DamagedError(f"the matrix of the attempt at {entry.seq} is damaged: {error}") from error
            yield from matrix.exchanges
        if entry.kind == LogKind.STEP:
            for told in entry.payload.get("extenders", ()):
                yield exchange_of(told)


@lru_cache(maxsize=64)
def node_names(cluster_id: int, order: str) -> tuple[str, ...]:
    """The names a matrix refers to; DamagedError. An order is what its digest says, and never changes."""
    if not order:
        return ()
    packed = stores.of(cluster_id).node_names(order)
    if packed is None:
        raise NotReplayableError("the names of the nodes of an attempt are not stored any more")
    try:
        return trace_adapters.node_names(packed)
    except (zstandard.ZstdError, orjson.JSONDecodeError) as error:
        raise DamagedError(f"the names of nodes {order} are damaged: {error}") from error


@lru_cache(maxsize=64)
def configuration(cluster_id: int, version: int) -> Configuration:
    """What steps of a version were decided by; NotReplayableError when that is not kept.

    Versions are only added to, and the first one is the defaults.
    """
    found = stores.of(cluster_id).configuration(version) or (("", True) if version == 1 else None)
    if found is None:
        raise NotReplayableError(f"version {version} of the configuration is not stored")
    text, is_replayable = found
    try:
        has_extenders = bool(config.load_stored(text).extenders)
    except ConfigError as error:
        raise NotReplayableError(f"version {version} of the configuration cannot be read any more: {error}") from None
    return Configuration(text, is_replayable, has_extenders)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
