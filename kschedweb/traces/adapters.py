"""Stored matrices to what the page of an attempt shows: every node with its verdict and scores."""

from typing import Any

import orjson
import zstandard

from scheduler_core.errors import TraceError
from scheduler_core.model.effects import ExtenderExchange, PostFilterRecord, PreemptionRecord
from scheduler_core.trace import codec
from scheduler_core.trace.matrix import AttemptMatrix, NodeVerdict

__all__ = ["TraceError", "matrix_view", "node_names"]

# Far above 100,000 node names.
_MAX_NAMES_BYTES = 64 << 20


def node_names(packed: bytes) -> tuple[str, ...]:
    """The names a NodeOrder holds."""
    content = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_MAX_NAMES_BYTES)
    return tuple(orjson.loads(content))


def matrix_view(blob: bytes, names: tuple[str, ...]) -> dict[str, Any]:
    """The matrix, node by node in the order of the walk; TraceError when it cannot be read."""
    matrix = codec.decode(blob, names)
    scored = matrix.score_rows
    return {
        "nodes_total": len(names),
        "nodes_wanted": matrix.num_nodes_to_find,
        "start_index": matrix.start_index,
        "end_index": matrix.end_index,
        "pre_filter": _status(matrix.pre_filter_status),
        "pre_filter_nodes": matrix.pre_filter_node_names,
        "skipped_filters": matrix.skip_filter_plugins,
        "skipped_scores": scored.skipped if scored is not None else (),
        "plugins": [{"name": name, "weight": weight} for name, weight in scored.plugins] if scored is not None else [],
        "nominated": _nominated(matrix),
        "nodes": [_node(verdict) for verdict in matrix.rows()],
        "tied": [names[node] for node in matrix.tied.tolist()] if matrix.tied is not None else [],
        "post_filter": _post_filter(matrix.post_filter),
        "extenders": [_exchange(exchange) for exchange in matrix.exchanges],
    }


def _node(verdict: NodeVerdict) -> dict[str, Any]:
    return {
        "node": verdict.node_name,
        "feasible": verdict.feasible,
        "status": _status(verdict.status),
        "total": verdict.total,
        "scores": {
            score.plugin: {"raw": score.raw, "normalized": score.normalized, "weighted": score.weighted}
            for score in verdict.scores
        },
    }


def _nominated(matrix: AttemptMatrix) -> dict[str, Any] | None:
    tried = matrix.nominated
    if tried is None:
        return None
    return {"node": tried.node_name, "fits": tried.fits, "status": _status(tried.status), "error": tried.error}


def _exchange(exchange: ExtenderExchange) -> dict[str, Any]:
    """What an extender was asked and said; an answer is JSON when it is any use."""
    return {
        "extender": exchange.extender,
        "point": exchange.point,
        "request": exchange.request_digest.hex(),
        "answer": None if exchange.answer is None else exchange.answer.decode(errors="replace"),
        "error": exchange.error,
    }


def _post_filter(record: PostFilterRecord | None) -> dict[str, Any] | None:
    if record is None:
        return None
    told: dict[str, Any] = {
        "code": record.code,
        "plugin": record.plugin,
        "message": record.message,
        "nominated_node_name": record.nominated_node_name,
    }
    return told | {"preemption": _preemption(record.preemption)}


def _preemption(record: PreemptionRecord | None) -> dict[str, Any] | None:
    """None where no victims were looked for."""
    if record is None or not record.dry_run:
        return None
    return {
        "potential_nodes": list(record.potential_nodes),
        "offset": record.offset,
        "candidates_wanted": record.num_candidates,
        "candidates": [
            {"node": found.node_name, "victims": found.victims, "num_pdb_violations": found.num_pdb_violations}
            for found in record.candidates
        ],
        "not_candidates": [{"node": name, "status": _status(status)} for name, status in record.not_candidates],
        "tied": list(record.tied),
        "node": record.chosen,
        "decided_by": record.decided_by,
        "victims": record.victims,
        "cleared": record.cleared_nominations,
    }


def _status(status: Any) -> dict[str, Any] | None:
    """None for a success: most nodes of most attempts need no words."""
    if status is None or status.is_success:
        return None
    return {"code": status.code.name, "plugin": status.plugin, "reasons": list(status.reasons)}
