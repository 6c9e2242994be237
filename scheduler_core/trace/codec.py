"""The matrix of an attempt as bytes, layout 2 (layout 1 is read as well).

A blob is the layout's number (one byte) and a zstd frame of: header length (4 bytes, little-endian), msgpack header,
then arrays by column. Per evaluated node a byte (two when the statuses ask for it) into the table of
(plugin, code, reasons); nodes themselves only as start and length of a walk round the node order where it was one.
Per feasible node and plugin the normalised score in a byte (once where all nodes have the same), the raw score where
normalising changed it, in as few bytes as it needs and split into byte planes, which compress better. Totals, and the
nodes tied for the best, are computed where the weighted scores give them. Names of nodes are not in the blob: it
refers to a NodeOrder. What PostFilter did, preemption included, and what extenders answered are the header's last
fields, which older blobs lack. Anything unreadable raises `TraceError`.
Longer than 400 lines because writing and reading of one layout are checked against each other side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import zstandard

from scheduler_core.errors import TraceError
from scheduler_core.model.effects import (
    Attempt,
    ExtenderExchange,
    FilterRows,
    NodeOrder,
    NominatedTry,
    PostFilterRecord,
    PreemptionCandidate,
    PreemptionRecord,
    ScoreRows,
)
from scheduler_core.model.node_views import NodeNames, NodeStatuses, NodeView
from scheduler_core.model.status import Code, Status
from scheduler_core.trace.matrix import AttemptMatrix

LAYOUT: Final = 2
READABLE: Final = (1, LAYOUT)
LEVEL: Final = 2
MAX_BYTES: Final = 64 << 20  # unpacked; far above 5,000 nodes with every plugin

Indices = npt.NDArray[np.int32]
Scores = npt.NDArray[np.int64]
_Fields = tuple[str, int, tuple[str, ...], str | None]  # a status: plugin, code, reasons given, error
_Exchange = tuple[str, str, bytes, bytes | None, str]  # extender, point, request digest, answer, error

_BY_TOTALS: Final = -1  # instead of a number of tied nodes: all that have the highest total

_encoder = msgspec.msgpack.Encoder()
_of_this_thread = threading.local()
_WIDTHS: Final = tuple((width, -(1 << (8 * width - 1)), 1 << (8 * width - 1)) for width in (1, 2, 4, 8))


class _Walk(msgspec.Struct, array_like=True):
    """Nodes one after another round the order: `start`, `start + 1`, … or, without a start, listed as an array."""

    length: int
    start: int | None = None


class _ScoreHeader(msgspec.Struct, array_like=True):
    plugins: tuple[tuple[str, int], ...]
    skipped: tuple[str, ...]
    raw: tuple[tuple[int, int], ...]  # (column, bytes per value) of columns whose raw score differs
    totals_stored: bool
    constant: tuple[tuple[int, int], ...] = ()  # (column, score) of columns that are left out


class _Preemption(msgspec.Struct, array_like=True):
    """A PreemptionRecord; nodes by index, its potential nodes and the codes of its refusals as arrays."""

    dry_run: bool
    offset: int
    num_candidates: int
    potential: _Walk
    candidates: tuple[tuple[int, tuple[str, ...], int], ...]  # (node, victims, violations)
    statuses: tuple[_Fields, ...]
    refused: _Walk
    tied: tuple[int, ...]
    chosen: int | None
    victims: tuple[str, ...]
    cleared: tuple[str, ...]
    decided_by: str = ""  # older blobs lack it


class _PostFilter(msgspec.Struct, array_like=True):
    code: str
    plugin: str
    message: str
    nominated_node_name: str | None
    preemption: _Preemption | None


class _Header(msgspec.Struct, array_like=True):
    n_nodes: int
    pre_filter: _Fields | None
    pre_filter_nodes: tuple[str, ...] | None
    skip_filter: tuple[str, ...]
    nominated: tuple[str, bool, _Fields | None, str] | None
    num_nodes_to_find: int | None
    start_index: int
    end_index: int
    statuses: tuple[_Fields, ...]
    code_bytes: int
    filter: _Walk | None
    feasible: _Walk | None
    feasible_from_filter: bool  # the first `feasible.length` that passed
    scores: _ScoreHeader | None
    tied: int | None  # how many follow, or _BY_TOTALS; None when not recorded
    post_filter: _PostFilter | None = None
    exchanges: tuple[_Exchange, ...] = ()


_decoder = msgspec.msgpack.Decoder(_Header)


def encode(attempt: Attempt) -> bytes:
    """The attempt's matrix, compressed."""
    arrays: list[bytes] = []
    n_nodes = len(attempt.node_order.names) if attempt.node_order is not None else 0
    rows, feasible, scored = attempt.filter_rows, attempt.feasible, attempt.score_rows
    walk = feasible_walk = score_header = None
    code_bytes, from_filter = 1, False
    if rows is not None:
        walk = _put_walk(rows.nodes, n_nodes, arrays)
        code_bytes = 1 if len(rows.statuses) < 256 else 2
        arrays.append(rows.codes.astype(f"<u{code_bytes}", copy=False).tobytes())
    if feasible is not None:
        from_filter = rows is not None and _same(_passed(rows, len(feasible)), feasible)
        feasible_walk = _Walk(len(feasible)) if from_filter else _put_walk(feasible, n_nodes, arrays)
    if scored is not None:
        score_header = _put_scores(scored, arrays)
    tied = _put_tied(attempt, arrays)
    post_filter = None
    if attempt.post_filter is not None:
        post_filter = _put_post_filter(attempt.post_filter, attempt.node_order, arrays)
    nominated = attempt.nominated
    header = _Header(
        n_nodes=n_nodes,
        pre_filter=_fields(attempt.pre_filter_status),
        pre_filter_nodes=attempt.pre_filter_node_names,
        skip_filter=attempt.skip_filter_plugins,
        nominated=(nominated.node_name, nominated.fits, _fields(nominated.status), nominated.error)
        if nominated is not None
        else None,
        num_nodes_to_find=attempt.num_nodes_to_find,
        start_index=attempt.start_index,
        end_index=attempt.end_index,
        statuses=tuple([(s.plugin, int(s.code), s.reasons_given, s.error) for s in rows.statuses]) if rows else (),
        code_bytes=code_bytes,
        filter=walk,
        feasible=feasible_walk,
        feasible_from_filter=from_filter,
        scores=score_header,
        tied=tied,
        post_filter=post_filter,
        exchanges=tuple((e.extender, e.point, e.request_digest, e.answer, e.error) for e in attempt.exchanges),
    )
    packed = _encoder.encode(header)
    payload = b"".join((len(packed).to_bytes(4, "little"), packed, *arrays))
    return bytes((LAYOUT,)) + _compressor().compress(payload)


def decode(blob: bytes, node_names: tuple[str, ...]) -> AttemptMatrix:
    """The matrix back from its bytes; `node_names` are those of the NodeOrder the attempt refers to."""
    if not blob or blob[0] not in READABLE:
        raise TraceError(f"matrix has layout {blob[0] if blob else None}, this version reads {READABLE}")
    try:
        payload = zstandard.ZstdDecompressor().decompress(blob[1:], max_output_size=MAX_BYTES)
        start = 4 + int.from_bytes(payload[:4], "little")
        header = _decoder.decode(payload[4:start])
        matrix = _read(header, _Reader(payload, start), node_names)
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError, IndexError) as error:
        raise TraceError(f"matrix cannot be read: {error}") from error
    return matrix


def _compressor() -> zstandard.ZstdCompressor:
    # A compressor keeps its tables between calls and serves one thread at a time.
    kept: zstandard.ZstdCompressor | None = getattr(_of_this_thread, "compressor", None)
    if kept is None:
        kept = _of_this_thread.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    return kept


def _fields(status: Status | None) -> _Fields | None:
    return None if status is None else (status.plugin, int(status.code), status.reasons_given, status.error)


def _put_walk(nodes: Indices, n_nodes: int, arrays: list[bytes]) -> _Walk:
    n = len(nodes)
    if 0 < n <= n_nodes:
        start = int(nodes[0])
        if 0 <= start < n_nodes and _same(_ring(n_nodes)[start : start + n], nodes):
            return _Walk(n, start)
    arrays.append(np.diff(nodes, prepend=np.int32(0)).astype("<i4").tobytes())
    return _Walk(n)


def _ring(n_nodes: int) -> Indices:
    """All nodes twice round; kept, as the next attempt mostly walks the same order."""
    kept: Indices | None = getattr(_of_this_thread, "ring", None)
    if kept is None or len(kept) != 2 * n_nodes:
        once = np.arange(n_nodes, dtype=np.int32)
        kept = _of_this_thread.ring = np.concatenate((once, once))
    return kept


def _passed(rows: FilterRows, wanted: int) -> Indices:
    """The first nodes that passed, at most as many as wanted."""
    return (rows.nodes[rows.codes == 0] if rows.codes.any() else rows.nodes)[:wanted]


def _same(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> bool:
    # Bytes compare several times as fast as short arrays do.
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


def _put_scores(rows: ScoreRows, arrays: list[bytes]) -> _ScoreHeader:
    n = rows.normalized.shape[1]
    scores, normalized, raw = rows.normalized.astype(np.uint8).tobytes(), rows.normalized.tobytes(), rows.raw.tobytes()
    constant, changed = [], []
    for column in range(len(rows.plugins)):
        values = scores[column * n : (column + 1) * n]
        if values == values[:1] * n:
            constant.append((column, values[0]))
        else:
            arrays.append(values)
        wide = slice(8 * column * n, 8 * (column + 1) * n)
        if raw[wide] != normalized[wide]:
            changed.append(column)
    widths = tuple((column, _put_planes(rows.raw[column], arrays)) for column in changed)
    totals_stored = not _same(_weighted(rows.plugins, rows.normalized), rows.totals)
    if totals_stored:
        arrays.append(rows.totals.astype("<i8", copy=False).tobytes())
    return _ScoreHeader(rows.plugins, rows.skipped, widths, totals_stored, tuple(constant))


def _put_tied(attempt: Attempt, arrays: list[bytes]) -> int | None:
    tied = attempt.tied
    if tied is None:
        return None
    feasible, scored = attempt.feasible, attempt.score_rows
    if feasible is not None and scored is not None and _same(_best(feasible, scored.totals), tied):
        return _BY_TOTALS
    arrays.append(tied.astype("<i4", copy=False).tobytes())
    return len(tied)


def _best(feasible: Indices, totals: Scores) -> Indices:
    """The feasible nodes with the highest total, in the order found."""
    return feasible[totals == np.maximum.reduce(totals)] if len(totals) else feasible


def _put_post_filter(record: PostFilterRecord, order: NodeOrder | None, arrays: list[bytes]) -> _PostFilter:
    preemption = None
    if record.preemption is not None:
        preemption = _put_preemption(record.preemption, order.names if order is not None else (), arrays)
    return _PostFilter(record.code, record.plugin, record.message, record.nominated_node_name, preemption)


def _put_preemption(record: PreemptionRecord, names: tuple[str, ...], arrays: list[bytes]) -> _Preemption:
    potential = _put_walk(_nodes(record.potential_nodes, record.potential_nodes, names), len(names), arrays)
    tried, found = record.not_candidates, record.candidates
    refused = _put_walk(_nodes(tried, (name for name, _ in tried), names), len(names), arrays)
    codes, statuses = _numbered(tried)
    arrays.append(codes.astype("<u2").tobytes())
    on = _nodes(found, (each.node_name for each in found), names).tolist()
    return _Preemption(
        dry_run=record.dry_run,
        offset=record.offset,
        num_candidates=record.num_candidates,
        potential=potential,
        candidates=tuple((node, c.victims, c.num_pdb_violations) for node, c in zip(on, found, strict=True)),
        statuses=tuple((s.plugin, int(s.code), s.reasons_given, s.error) for s in statuses),
        refused=refused,
        tied=tuple(_nodes(record.tied, record.tied, names).tolist()),
        chosen=names.index(record.chosen) if record.chosen else None,
        victims=record.victims,
        cleared=record.cleared_nominations,
        decided_by=record.decided_by,
    )


def _nodes(about: Sequence[object], node_names: Iterable[str], names: tuple[str, ...]) -> Indices:
    """The nodes something is said about, by index: as they are kept, or looked up by name."""
    if isinstance(about, NodeView) and about.names is names:
        return about.nodes
    if not about:
        return np.zeros(0, dtype=np.int32)
    index = {name: node for node, name in enumerate(names)}
    return np.array([index[name] for name in node_names], dtype=np.int32)


def _numbered(refused: Sequence[tuple[str, Status]]) -> tuple[npt.NDArray[Any], Sequence[Status]]:
    """A code per node, and the statuses they number, by first appearance."""
    numbers: dict[Status, int] = {}
    if not isinstance(refused, NodeStatuses):
        codes = [numbers.setdefault(status, len(numbers)) for _, status in refused]
        return np.array(codes, dtype=np.int64), tuple(numbers)
    present, first = np.unique(refused.codes, return_index=True)
    again = np.zeros(len(refused.statuses), dtype=np.int64)
    for code in present[np.argsort(first)].tolist():
        again[code] = numbers.setdefault(refused.statuses[code], len(numbers))
    return again[refused.codes], tuple(numbers)


def _put_planes(values: Scores, arrays: list[bytes]) -> int:
    """Bytes per value needed; the first bytes of all values, then the second ones, …"""
    low, high = int(np.minimum.reduce(values)), int(np.maximum.reduce(values))
    width = next(width for width, least, above in _WIDTHS if least <= low and high < above)
    if width == 1:
        arrays.append(values.astype(np.int8).tobytes())
    else:
        narrow = values.astype(f"<i{width}").tobytes()
        arrays += (narrow[plane::width] for plane in range(width))
    return width


@lru_cache(maxsize=64)
def _weights(plugins: tuple[tuple[str, int], ...]) -> Scores:
    return np.array([weight for _, weight in plugins], dtype=np.int64)


def _weighted(plugins: tuple[tuple[str, int], ...], normalized: Scores) -> Scores:
    return _weights(plugins) @ normalized


class _Reader:
    """Takes arrays off a payload one after another."""

    def __init__(self, payload: bytes, position: int) -> None:
        self._payload, self._position = payload, position

    def take(self, count: int, dtype: str) -> npt.NDArray[Any]:
        array = np.frombuffer(self._payload, dtype=dtype, count=count, offset=self._position)
        self._position += array.nbytes
        return array

    def walk(self, walk: _Walk, n_nodes: int) -> Indices:
        if walk.start is None:
            return np.cumsum(self.take(walk.length, "<i4"), dtype=np.int64).astype(np.int32)
        return (np.arange(walk.start, walk.start + walk.length) % n_nodes).astype(np.int32)


def _read(header: _Header, reader: _Reader, node_names: tuple[str, ...]) -> AttemptMatrix:
    if header.n_nodes != len(node_names):
        raise ValueError(f"it is about {header.n_nodes} nodes, not {len(node_names)}")
    rows = feasible = scored = tied = None
    if header.filter is not None:
        nodes = reader.walk(header.filter, header.n_nodes)
        codes = reader.take(header.filter.length, f"<u{header.code_bytes}")
        rows = FilterRows(nodes, codes, tuple(_status(fields) for fields in header.statuses))
    if header.feasible is not None:
        if header.feasible_from_filter and rows is not None:
            feasible = rows.nodes[rows.codes == 0][: header.feasible.length]
        else:
            feasible = reader.walk(header.feasible, header.n_nodes)
    if header.scores is not None and feasible is not None:
        scored = _read_scores(header.scores, len(feasible), reader)
    if header.tied == _BY_TOTALS and feasible is not None and scored is not None:
        tied = _best(feasible, scored.totals)
    elif header.tied is not None:
        tied = reader.take(header.tied, "<i4").astype(np.int32)
    post_filter = _read_post_filter(header.post_filter, reader, node_names)
    nominated = None
    if header.nominated is not None:
        node_name, fits, fields, error = header.nominated
        nominated = NominatedTry(node_name, fits, _status(fields) if fields is not None else None, error)
    return AttemptMatrix(
        node_names=node_names,
        pre_filter_status=_status(header.pre_filter) if header.pre_filter is not None else None,
        pre_filter_node_names=header.pre_filter_nodes,
        skip_filter_plugins=header.skip_filter,
        nominated=nominated,
        num_nodes_to_find=header.num_nodes_to_find,
        start_index=header.start_index,
        end_index=header.end_index,
        filter_rows=rows,
        feasible=feasible,
        score_rows=scored,
        tied=tied,
        post_filter=post_filter,
        exchanges=tuple(ExtenderExchange(*fields) for fields in header.exchanges),
    )


def _read_scores(header: _ScoreHeader, n_feasible: int, reader: _Reader) -> ScoreRows:
    n_plugins = len(header.plugins)
    normalized = np.empty((n_plugins, n_feasible), dtype=np.int64)
    left_out = dict(header.constant)
    stored = [column for column in range(n_plugins) if column not in left_out]
    normalized[stored] = reader.take(len(stored) * n_feasible, "u1").reshape(len(stored), n_feasible)
    for column, score in header.constant:
        normalized[column] = score
    raw = normalized.copy()
    for column, width in header.raw:
        planes = reader.take(n_feasible * width, "u1").reshape(width, n_feasible)
        raw[column] = np.ascontiguousarray(planes.T).view(f"<i{width}").reshape(n_feasible)
    if header.totals_stored:
        totals = reader.take(n_feasible, "<i8").astype(np.int64)
    else:
        totals = _weighted(header.plugins, normalized)
    return ScoreRows(header.plugins, raw, normalized, totals, header.skipped)


def _read_post_filter(stored: _PostFilter | None, reader: _Reader, names: tuple[str, ...]) -> PostFilterRecord | None:
    if stored is None:
        return None
    preemption = None
    if stored.preemption is not None:
        preemption = _read_preemption(stored.preemption, reader, names)
    return PostFilterRecord(stored.code, stored.plugin, stored.message, stored.nominated_node_name, preemption)


def _read_preemption(stored: _Preemption, reader: _Reader, names: tuple[str, ...]) -> PreemptionRecord:
    potential = reader.walk(stored.potential, len(names))
    refused = reader.walk(stored.refused, len(names))
    codes = reader.take(stored.refused.length, "<u2")
    return PreemptionRecord(
        dry_run=stored.dry_run,
        potential_nodes=NodeNames(potential, names),
        offset=stored.offset,
        num_candidates=stored.num_candidates,
        candidates=tuple(
            PreemptionCandidate(names[node], victims, violations) for node, victims, violations in stored.candidates
        ),
        not_candidates=NodeStatuses(refused, names, codes, tuple(_status(fields) for fields in stored.statuses)),
        tied=tuple(names[node] for node in stored.tied),
        chosen=names[stored.chosen] if stored.chosen is not None else "",
        victims=stored.victims,
        cleared_nominations=stored.cleared,
        decided_by=stored.decided_by,
    )


def _status(fields: _Fields) -> Status:
    plugin, code, reasons, error = fields
    return Status(Code(code), reasons, error, plugin)
