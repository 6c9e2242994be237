"""Fingerprints of decisions: one per attempt, and one per step that chains them.

An attempt's digest covers the pod, every node's filter verdict, the scores, the node, nomination, victims,
message and requeue target. It leaves out the attempt number, times, uids, row ids and raw scores, and does not
depend on where the walk over the nodes began or on how a filter numbers its statuses, so the same decision made
again, or by another form of a plugin, has the same digest. Digests are 16 bytes of blake2b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.model.effects import Attempt, FilterRows, PostFilterRecord, ScoreRows
from scheduler_core.model.status import Status

DIGEST_SIZE = 16
START_OF_CHAIN = b"\x00" * DIGEST_SIZE  # what the first step of a run follows

_VERSION = b"attempt-1\x00"
_encoder = msgspec.msgpack.Encoder()


def attempt_digest(attempt: Attempt) -> bytes:
    """Fingerprint of what the attempt found and decided."""
    order = attempt.node_order
    head = (
        attempt.pod_key,
        attempt.profile,
        attempt.result,
        attempt.node_name,
        attempt.nominated_node_name,
        attempt.message,
        attempt.requeued_to,
        order.digest if order is not None else None,
        status_fields(attempt.pre_filter_status),
        sorted(attempt.pre_filter_node_names) if attempt.pre_filter_node_names is not None else None,
        sorted(attempt.unschedulable_plugins),
        sorted(attempt.pending_plugins),
        _nominated_fields(attempt),
        _post_filter_fields(attempt.post_filter),
    )
    parts = [_encoder.encode(head)]
    if order is not None and attempt.filter_rows is not None:
        statuses, verdicts = verdicts_by_node(attempt.filter_rows, len(order.names))
        parts += _encoder.encode(statuses), verdicts
    if attempt.feasible is not None:
        parts += _scores(attempt.feasible, attempt.score_rows)
    # Each with its length, so that no two lists of parts run together to the same bytes.
    sized = (piece for part in parts for piece in (len(part).to_bytes(8, "big"), part))
    return blake2b(b"".join((_VERSION, *sized)), digest_size=DIGEST_SIZE).digest()


def step_digest(previous: bytes, attempts: Iterable[tuple[int, bytes]]) -> bytes:
    """Digest of a step: of the step before it, and of (attempt number, attempt digest) in order."""
    digest = blake2b(previous, digest_size=DIGEST_SIZE)
    for number, fingerprint in attempts:
        digest.update(number.to_bytes(8, "big"))
        digest.update(fingerprint)
    return digest.digest()


def status_fields(status: Status | None) -> tuple[str, int, tuple[str, ...]] | None:
    """Plugin, code and sorted reasons: the order of reasons is no part of a decision."""
    if status is None:
        return None
    reasons = status.reasons
    return status.plugin, int(status.code), reasons if len(reasons) < 2 else tuple(sorted(reasons))


def verdicts_by_node(rows: FilterRows, n_nodes: int) -> tuple[list[tuple[str, int, tuple[str, ...]]], bytes]:
    """The statuses that occur, sorted, and per node of the order 0 (not looked at), 1 (passed) or 2 + a status's place.

    Two bytes per node in big-endian order when one does not hold them.
    """
    if not rows.codes.any():
        passed = np.zeros(n_nodes, dtype=np.uint8)
        passed[rows.nodes] = 1
        return [], passed.tobytes()
    counts = np.bincount(rows.codes, minlength=1).tolist()
    fields = {code: _fields_of(rows.statuses[code - 1]) for code, count in enumerate(counts) if code and count}
    statuses = sorted(set(fields.values()))
    place = {value: index + 2 for index, value in enumerate(statuses)}
    translated = np.array(
        [place[fields[code]] if code in fields else 1 for code in range(len(counts))],
        dtype=np.uint8 if len(statuses) <= 253 else ">u2",
    )
    verdicts = np.zeros(n_nodes, dtype=translated.dtype)
    verdicts[rows.nodes] = translated[rows.codes]
    return statuses, verdicts.tobytes()


def _fields_of(status: Status) -> tuple[str, int, tuple[str, ...]]:
    fields = status_fields(status)
    assert fields is not None
    return fields


def _nominated_fields(attempt: Attempt) -> tuple[object, ...] | None:
    tried = attempt.nominated
    if tried is None:
        return None
    return tried.node_name, tried.fits, status_fields(tried.status), tried.error


def _post_filter_fields(record: PostFilterRecord | None) -> tuple[object, ...] | None:
    if record is None:
        return None
    victims = record.preemption.victims if record.preemption is not None else None
    return record.code, record.plugin, record.message, record.nominated_node_name, victims


def _scores(feasible: npt.NDArray[np.int32], rows: ScoreRows | None) -> list[bytes]:
    """Feasible nodes and their scores in node order."""
    turn = _by_node(feasible)
    nodes = turn(feasible.astype("<i4", copy=False))
    if rows is None:
        return [nodes]
    return [
        nodes,
        _encoder.encode((rows.plugins, sorted(rows.skipped))),
        # Normalised scores lie in 0..100: a byte each keeps hashing short.
        turn(rows.normalized.astype(np.uint8)),
        turn(rows.totals.astype("<i8", copy=False)),
    ]


def _by_node(feasible: npt.NDArray[np.int32]) -> Callable[[npt.NDArray[Any]], bytes]:
    """What brings columns in the order of `feasible` into node order, as bytes; a walk that went round is turned."""
    falls = np.flatnonzero(feasible[1:] < feasible[:-1])
    if not len(falls):
        return lambda columns: columns.tobytes()
    first = int(falls[0]) + 1
    if len(falls) == 1 and feasible[-1] < feasible[0]:
        return lambda columns: np.concatenate((columns[..., first:], columns[..., :first]), axis=-1).tobytes()
    order = np.argsort(feasible, kind="stable")
    return lambda columns: columns[..., order].tobytes()
