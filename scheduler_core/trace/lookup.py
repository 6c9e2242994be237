"""What one node was told in a stored attempt, without reading the rest of its matrix.

A question over many attempts asks each of them for one node. That takes the head of the blob (`codec.layout`) and one
byte of the filter's column; scores, totals and preemption stay unread. Nodes are indices into the attempt's NodeOrder.
"""

from __future__ import annotations

import threading

import msgspec
import numpy as np
import zstandard

from scheduler_core.errors import TraceError
from scheduler_core.model.status import Code, Status
from scheduler_core.trace import codec
from scheduler_core.trace.codec.layout import Fields, Walk

_of_this_thread = threading.local()


class _Head(msgspec.Struct, array_like=True):
    """The first fields of the codec's header; those after them are passed over."""

    n_nodes: int
    pre_filter: Fields | None
    pre_filter_nodes: msgspec.Raw
    skip_filter: msgspec.Raw
    nominated: msgspec.Raw
    num_nodes_to_find: msgspec.Raw
    start_index: int
    end_index: int
    statuses: tuple[Fields, ...]
    code_bytes: int
    filter: Walk | None


_decoder = msgspec.msgpack.Decoder(_Head)


def refusal(blob: bytes, node: int) -> Status | None:
    """The status that kept the pod from this node; None when it passed or was not looked at."""
    if not blob or not 1 <= blob[0] <= codec.LAYOUT:
        raise TraceError(f"matrix has layout {blob[0] if blob else None}, this version reads up to {codec.LAYOUT}")
    try:
        payload = _decompressor().decompress(memoryview(blob)[1:], max_output_size=codec.MAX_BYTES)
        start = 4 + int.from_bytes(payload[:4], "little")
        head = _decoder.decode(memoryview(payload)[4:start])
        return _refusal(head, payload, start, node)
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError, IndexError) as error:
        raise TraceError(f"matrix cannot be read: {error}") from error


def _refusal(head: _Head, payload: bytes, start: int, node: int) -> Status | None:
    if not 0 <= node < head.n_nodes:
        raise ValueError(f"node {node} of {head.n_nodes}")
    if head.filter is None:
        # Refused before any node was looked at: that is every node.
        refused = (
            Status(Code(head.pre_filter[1]), *head.pre_filter[2:], head.pre_filter[0]) if head.pre_filter else None
        )
        return refused if refused is not None and refused.is_rejected else None
    if head.filter.start is not None:
        place = (node - head.filter.start) % head.n_nodes
        if place >= head.filter.length:
            return None
    else:
        steps = np.frombuffer(payload, dtype="<i4", count=head.filter.length, offset=start)
        found = np.flatnonzero(np.cumsum(steps) == node)
        if not len(found):
            return None
        place, start = int(found[0]), start + steps.nbytes
    at = start + place * head.code_bytes
    code = int.from_bytes(payload[at : at + head.code_bytes], "little")
    if not code:
        return None
    plugin, number, reasons, error = head.statuses[code - 1]
    status = Status(Code(number), reasons, error, plugin)
    return None if status.is_success else status


def _decompressor() -> zstandard.ZstdDecompressor:
    # It keeps its tables between calls and serves one thread at a time.
    kept: zstandard.ZstdDecompressor | None = getattr(_of_this_thread, "decompressor", None)
    if kept is None:
        kept = _of_this_thread.decompressor = zstandard.ZstdDecompressor()
    return kept
