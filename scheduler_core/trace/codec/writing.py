"""An attempt's matrix into a blob; `layout` says what is where."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import zstandard

from scheduler_core.model.effects import (
    Attempt,
    FilterRows,
    NodeOrder,
    PostFilterRecord,
    PreemptionRecord,
    ScoreRows,
)
from scheduler_core.model.node_views import NodeStatuses, NodeView
from scheduler_core.model.status import Status
from scheduler_core.trace.codec.layout import (
    BY_TOTALS,
    LAYOUT,
    MAX_BYTES,
    Fields,
    Header,
    Indices,
    PostFilterHeader,
    PreemptionHeader,
    ScoreHeader,
    Scores,
    Walk,
    best,
    weighted,
)

LEVEL: Final = 2
_OF_LAYOUT: Final = bytes((LAYOUT,))

_encoder = msgspec.msgpack.Encoder()
_of_this_thread = threading.local()
_WIDTHS: Final = tuple((width, -(1 << (8 * width - 1)), 1 << (8 * width - 1)) for width in (1, 2, 4, 8))


def encode(attempt: Attempt) -> bytes:
    """The attempt's matrix, compressed."""
    return _OF_LAYOUT + _compressor().compress(_unpacked(attempt))


def is_of(blob: bytes, attempt: Attempt) -> bool:
    """Whether the blob holds what `encode` makes of the attempt, in whatever way it was compressed.

    To unpack it takes less than to pack that. Other bytes may say the same, where another version wrote them.
    """
    if blob[:1] != _OF_LAYOUT:
        return False
    try:
        found = _decompressor().decompress(memoryview(blob)[1:], max_output_size=MAX_BYTES)
    except zstandard.ZstdError:
        return False
    return found == _unpacked(attempt)


def _unpacked(attempt: Attempt) -> bytes:
    """A blob's content before it is compressed."""
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
        feasible_walk = Walk(len(feasible)) if from_filter else _put_walk(feasible, n_nodes, arrays)
    if scored is not None:
        score_header = _put_scores(scored, arrays)
    tied = _put_tied(attempt, arrays)
    post_filter = None
    if attempt.post_filter is not None:
        post_filter = _put_post_filter(attempt.post_filter, attempt.node_order, arrays)
    nominated = attempt.nominated
    header = Header(
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
    return b"".join((len(packed).to_bytes(4, "little"), packed, *arrays))


def _compressor() -> zstandard.ZstdCompressor:
    # A compressor keeps its tables between calls and serves one thread at a time.
    kept: zstandard.ZstdCompressor | None = getattr(_of_this_thread, "compressor", None)
    if kept is None:
        kept = _of_this_thread.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    return kept


def _decompressor() -> zstandard.ZstdDecompressor:
    kept: zstandard.ZstdDecompressor | None = getattr(_of_this_thread, "decompressor", None)
    if kept is None:
        kept = _of_this_thread.decompressor = zstandard.ZstdDecompressor()
    return kept


def _fields(status: Status | None) -> Fields | None:
    return None if status is None else (status.plugin, int(status.code), status.reasons_given, status.error)


def _put_walk(nodes: Indices, n_nodes: int, arrays: list[bytes]) -> Walk:
    n = len(nodes)
    if 0 < n <= n_nodes:
        start = int(nodes[0])
        if 0 <= start < n_nodes and _same(_ring(n_nodes)[start : start + n], nodes):
            return Walk(n, start)
    arrays.append(np.diff(nodes, prepend=np.int32(0)).astype("<i4").tobytes())
    return Walk(n)


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


def _put_scores(rows: ScoreRows, arrays: list[bytes]) -> ScoreHeader:
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
    totals_stored = not _same(weighted(rows.plugins, rows.normalized), rows.totals)
    if totals_stored:
        arrays.append(rows.totals.astype("<i8", copy=False).tobytes())
    return ScoreHeader(rows.plugins, rows.skipped, widths, totals_stored, tuple(constant))


def _put_tied(attempt: Attempt, arrays: list[bytes]) -> int | None:
    tied = attempt.tied
    if tied is None:
        return None
    feasible, scored = attempt.feasible, attempt.score_rows
    if feasible is not None and scored is not None and _same(best(feasible, scored.totals), tied):
        return BY_TOTALS
    arrays.append(tied.astype("<i4", copy=False).tobytes())
    return len(tied)


def _put_post_filter(record: PostFilterRecord, order: NodeOrder | None, arrays: list[bytes]) -> PostFilterHeader:
    preemption = None
    if record.preemption is not None:
        preemption = _put_preemption(record.preemption, order.names if order is not None else (), arrays)
    return PostFilterHeader(record.code, record.plugin, record.message, record.nominated_node_name, preemption)


def _put_preemption(record: PreemptionRecord, names: tuple[str, ...], arrays: list[bytes]) -> PreemptionHeader:
    potential = _put_walk(_nodes(record.potential_nodes, record.potential_nodes, names), len(names), arrays)
    tried, found = record.not_candidates, record.candidates
    refused = _put_walk(_nodes(tried, (name for name, _ in tried), names), len(names), arrays)
    codes, statuses = _numbered(tried)
    arrays.append(codes.astype("<u2").tobytes())
    on = _nodes(found, (each.node_name for each in found), names).tolist()
    return PreemptionHeader(
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
