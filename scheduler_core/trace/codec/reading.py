"""An attempt's matrix from a blob; `layout` says what is where."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import zstandard

from scheduler_core.errors import TraceError
from scheduler_core.model.effects import (
    ExtenderExchange,
    FilterRows,
    NominatedTry,
    PostFilterRecord,
    PreemptionCandidate,
    PreemptionRecord,
    ScoreRows,
)
from scheduler_core.model.node_views import NodeNames, NodeStatuses
from scheduler_core.model.status import Code, Status
from scheduler_core.trace.codec.layout import (
    BY_TOTALS,
    MAX_BYTES,
    READABLE,
    Fields,
    Header,
    Indices,
    PostFilterHeader,
    PreemptionHeader,
    ScoreHeader,
    Walk,
    best,
    weighted,
)
from scheduler_core.trace.matrix import AttemptMatrix

_decoder = msgspec.msgpack.Decoder(Header)


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


class _Reader:
    """Takes arrays off a payload one after another."""

    def __init__(self, payload: bytes, position: int) -> None:
        self._payload, self._position = payload, position

    def take(self, count: int, dtype: str) -> npt.NDArray[Any]:
        array = np.frombuffer(self._payload, dtype=dtype, count=count, offset=self._position)
        self._position += array.nbytes
        return array

    def walk(self, walk: Walk, n_nodes: int) -> Indices:
        if walk.start is None:
            return np.cumsum(self.take(walk.length, "<i4"), dtype=np.int64).astype(np.int32)
        return (np.arange(walk.start, walk.start + walk.length) % n_nodes).astype(np.int32)


def _read(header: Header, reader: _Reader, node_names: tuple[str, ...]) -> AttemptMatrix:
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
    if header.tied == BY_TOTALS and feasible is not None and scored is not None:
        tied = best(feasible, scored.totals)
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


def _read_scores(header: ScoreHeader, n_feasible: int, reader: _Reader) -> ScoreRows:
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
        totals = weighted(header.plugins, normalized)
    return ScoreRows(header.plugins, raw, normalized, totals, header.skipped)


def _read_post_filter(
    stored: PostFilterHeader | None, reader: _Reader, names: tuple[str, ...]
) -> PostFilterRecord | None:
    if stored is None:
        return None
    preemption = None
    if stored.preemption is not None:
        preemption = _read_preemption(stored.preemption, reader, names)
    return PostFilterRecord(stored.code, stored.plugin, stored.message, stored.nominated_node_name, preemption)


def _read_preemption(stored: PreemptionHeader, reader: _Reader, names: tuple[str, ...]) -> PreemptionRecord:
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


def _status(fields: Fields) -> Status:
    plugin, code, reasons, error = fields
    return Status(Code(code), reasons, error, plugin)
