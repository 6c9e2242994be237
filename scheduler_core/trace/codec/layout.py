"""What a blob holds: layout 2 (layout 1 is read as well).

A blob is the layout's number (one byte) and a zstd frame of: header length (4 bytes, little-endian), msgpack header,
then arrays by column. Per evaluated node a byte (two when the statuses ask for it) into the table of
(plugin, code, reasons); nodes themselves only as start and length of a walk round the node order where it was one.
Per feasible node and plugin the normalised score in a byte (once where all nodes have the same), the raw score where
normalising changed it, in as few bytes as it needs and split into byte planes, which compress better. Totals, and the
nodes tied for the best, are computed where the weighted scores give them. Names of nodes are not in the blob: it
refers to a NodeOrder. What PostFilter did, preemption included, and what extenders answered are the header's last
fields, which older blobs lack. Anything unreadable raises `TraceError`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

LAYOUT: Final = 2
READABLE: Final = (1, LAYOUT)
MAX_BYTES: Final = 64 << 20  # unpacked; far above 5,000 nodes with every plugin

Indices = npt.NDArray[np.int32]
Scores = npt.NDArray[np.int64]
Fields = tuple[str, int, tuple[str, ...], str | None]  # a status: plugin, code, reasons given, error
Exchange = tuple[str, str, bytes, bytes | None, str]  # extender, point, request digest, answer, error

BY_TOTALS: Final = -1  # instead of a number of tied nodes: all that have the highest total


class Walk(msgspec.Struct, array_like=True):
    """Nodes one after another round the order: `start`, `start + 1`, … or, without a start, listed as an array."""

    length: int
    start: int | None = None


class ScoreHeader(msgspec.Struct, array_like=True):
    plugins: tuple[tuple[str, int], ...]
    skipped: tuple[str, ...]
    raw: tuple[tuple[int, int], ...]  # (column, bytes per value) of columns whose raw score differs
    totals_stored: bool
    constant: tuple[tuple[int, int], ...] = ()  # (column, score) of columns that are left out


class PreemptionHeader(msgspec.Struct, array_like=True):
    """A PreemptionRecord; nodes by index, its potential nodes and the codes of its refusals as arrays."""

    dry_run: bool
    offset: int
    num_candidates: int
    potential: Walk
    candidates: tuple[tuple[int, tuple[str, ...], int], ...]  # (node, victims, violations)
    statuses: tuple[Fields, ...]
    refused: Walk
    tied: tuple[int, ...]
    chosen: int | None
    victims: tuple[str, ...]
    cleared: tuple[str, ...]
    decided_by: str = ""  # older blobs lack it


class PostFilterHeader(msgspec.Struct, array_like=True):
    code: str
    plugin: str
    message: str
    nominated_node_name: str | None
    preemption: PreemptionHeader | None


class Header(msgspec.Struct, array_like=True):
    n_nodes: int
    pre_filter: Fields | None
    pre_filter_nodes: tuple[str, ...] | None
    skip_filter: tuple[str, ...]
    nominated: tuple[str, bool, Fields | None, str] | None
    num_nodes_to_find: int | None
    start_index: int
    end_index: int
    statuses: tuple[Fields, ...]
    code_bytes: int
    filter: Walk | None
    feasible: Walk | None
    feasible_from_filter: bool  # the first `feasible.length` that passed
    scores: ScoreHeader | None
    tied: int | None  # how many follow, or BY_TOTALS; None when not recorded
    post_filter: PostFilterHeader | None = None
    exchanges: tuple[Exchange, ...] = ()


def best(feasible: Indices, totals: Scores) -> Indices:
    """The feasible nodes with the highest total, in the order found."""
    return feasible[totals == np.maximum.reduce(totals)] if len(totals) else feasible


@lru_cache(maxsize=64)
def _weights(plugins: tuple[tuple[str, int], ...]) -> Scores:
    return np.array([weight for _, weight in plugins], dtype=np.int64)


def weighted(plugins: tuple[tuple[str, int], ...], normalized: Scores) -> Scores:
    return _weights(plugins) @ normalized
