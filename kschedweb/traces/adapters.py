"""Convert stored matrices to views: nodes with verdicts and scores, searches for victims."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import msgspec
import orjson
import zstandard
from msgspec import UNSET

from kschedweb import views
from scheduler_core.api import manifests
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.errors import ManifestError, TraceError
from scheduler_core.explain.on_node import amounts_on_node, node_with
from scheduler_core.model.amounts import AmountKind, Amounts, stored_kind, unpacked
from scheduler_core.model.effects import ExtenderExchange, PostFilterRecord, PreemptionRecord, ScoreRows
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.trace import codec, lookup
from scheduler_core.trace.matrix import AttemptMatrix, NodeVerdict, PluginScore

__all__ = [
    "ASKED_IN_AMOUNTS",
    "NodeNow",
    "TraceError",
    "amounts_now",
    "amounts_view",
    "amounts_views",
    "matrix_view",
    "node_names",
    "node_now",
    "preemption_search",
    "preemption_view",
    "refusal_view",
    "score_plugins",
    "status_view",
]

# Kinds, as they are stored, whose amounts say how much is asked, so that what is lacking can be compared.
ASKED_IN_AMOUNTS = [stored_kind(kind) for kind in (AmountKind.RESOURCE, AmountKind.PODS, AmountKind.LIMIT)]
# Far above 100,000 node names.
_MAX_NAMES_BYTES = 64 << 20


def amounts_views(stored: Sequence[Any]) -> list[views.Amounts]:
    """What was asked and what there was, as attempts keep it of one rejection; empty where it cannot be read."""
    try:
        return list(map(amounts_view, unpacked(stored)))
    except (msgspec.ValidationError, IndexError):
        return []  # of a version after this one


def amounts_view(amounts: Amounts) -> views.Amounts:
    """Convert the figures about one subject."""
    values = [views.AmountValue(value, count) for value, count in amounts.values]
    told = {name: getattr(amounts, name) for name in Amounts.__struct_fields__}
    told["nearest"], told["nearest_node"] = amounts.nearest_of_only
    return views.Amounts(**told | {"kind": amounts.kind.value, "values": values})


NodeNow = NodeInfo


def node_now(manifest: Any, pods: Iterable[Any]) -> NodeNow | None:
    """The node with these pods on it, by their manifests; None where the node cannot be read."""
    node = _read(manifest)
    on_it = [pod for pod in map(_read, pods) if isinstance(pod, Pod)]
    return node_with(node, on_it) if isinstance(node, Node) else None


def amounts_now(pod: Any, node: NodeNow, plugin: str, reasons: Sequence[str]) -> list[views.Amounts] | None:
    """What the pod of this manifest asks of the node, and what there is; see views.NOW."""
    asking = _read(pod)
    found = amounts_on_node(asking, node, plugin, reasons) if isinstance(asking, Pod) else None
    return None if found is None else list(map(amounts_view, found))


def _read(manifest: Any) -> object:
    try:
        return manifests.decode(manifest)
    except ManifestError:
        return None


def node_names(packed: bytes) -> tuple[str, ...]:
    """The names a NodeOrder holds."""
    content = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_MAX_NAMES_BYTES)
    return tuple(orjson.loads(content))


def matrix_view(blob: bytes, names: tuple[str, ...], query: views.MatrixQuery) -> views.Matrix:
    """The matrix with the nodes asked for; `found` counts all of them. TraceError when it cannot be read."""
    matrix = codec.decode(blob, names)
    scored = matrix.score_rows
    tied = frozenset(names[node] for node in matrix.tied.tolist()) if matrix.tied is not None else frozenset()
    chosen = _chosen(matrix, query, tied)
    return views.Matrix(
        nodes_total=len(names),
        looked_at=matrix.num_rows(),
        refused_by=[
            views.RefusedBy(plugin, count)
            for plugin, count in sorted(matrix.refused_by().items(), key=lambda one: (-one[1], one[0]))
        ],
        nodes_wanted=matrix.num_nodes_to_find,
        start_index=matrix.start_index,
        end_index=matrix.end_index,
        pre_filter=status_view(matrix.pre_filter_status),
        pre_filter_nodes=matrix.pre_filter_node_names,
        skipped_filters=matrix.skip_filter_plugins,
        skipped_scores=scored.skipped if scored is not None else (),
        plugins=score_plugins(scored),
        nominated=_nominated(matrix),
        nodes=[
            _node(verdict, verdict.node_name in tied) for verdict in chosen[query.offset : query.offset + query.limit]
        ],
        found=len(chosen),
        post_filter=_post_filter(matrix.post_filter),
        extenders=[_exchange(exchange) for exchange in matrix.exchanges],
    )


def score_plugins(scored: ScoreRows | None) -> list[views.ScorePlugin]:
    """The plugins that scored, each with the least and most it gave."""
    if scored is None:
        return []
    ends = [
        zip(raw.tolist(), normalized.tolist(), strict=True)
        for raw, normalized in (
            (scored.raw.min(axis=1), scored.normalized.min(axis=1)),
            (scored.raw.max(axis=1), scored.normalized.max(axis=1)),
        )
    ]
    return [
        views.ScorePlugin(name, weight, *(views.Score(raw, value, value * weight) for raw, value in lowest_and_highest))
        for (name, weight), *lowest_and_highest in zip(scored.plugins, *ends, strict=True)
    ]


def preemption_view(blob: bytes, names: tuple[str, ...]) -> views.PreemptionDetail | None:
    """The search for victims of an attempt; None where there was none. TraceError when it cannot be read."""
    record = _preemption_record(blob, names)
    return None if record is None else _preemption_detail(record)


def preemption_search(
    blob: bytes, names: tuple[str, ...], query: views.PreemptionQuery
) -> views.PreemptionSearch | None:
    """The search for victims with the nodes asked for; None where there was none. TraceError as above."""
    record = _preemption_record(blob, names)
    if record is None:
        return None
    nodes, found = _tried_nodes(record, query)
    return views.PreemptionSearch(**msgspec.structs.asdict(_preemption_detail(record)), nodes=nodes, found=found)


def _preemption_record(blob: bytes, names: tuple[str, ...]) -> PreemptionRecord | None:
    post_filter = codec.decode(blob, names).post_filter
    record = post_filter.preemption if post_filter is not None else None
    return record if record is not None and record.dry_run else None


def _preemption_detail(record: PreemptionRecord) -> views.PreemptionDetail:
    return views.PreemptionDetail(
        potential=len(record.potential_nodes),
        candidates=len(record.candidates),
        refused=len(record.not_candidates),
        tied=len(record.tied),
        offset=record.offset,
        candidates_wanted=record.num_candidates,
        criterion=record.decided_by,
        node=record.chosen,
        victims=record.victims,
        cleared=record.cleared_nominations,
    )


def refusal_view(blob: bytes, place: int) -> views.Status | None:
    """The status that rejected the node at this place of the attempt's order; None when it was not rejected."""
    try:
        status = lookup.refusal(blob, place)
    except TraceError:
        return None
    return None if status is None else status_view(status)


def _chosen(matrix: AttemptMatrix, query: views.MatrixQuery, tied: frozenset[str]) -> list[NodeVerdict]:
    """All nodes asked for, in the order asked for."""
    rows = [
        row
        for row in matrix.rows()
        if (not query.node or query.node in row.node_name)
        and (query.feasible is UNSET or row.feasible is query.feasible)
        and (query.tied is UNSET or (row.node_name in tied) is query.tied)
        and (not query.plugin or row.status.plugin == query.plugin)
        and (not query.reason or query.reason in row.status.reasons)
    ]
    if query.sort == "walk":
        return rows[::-1] if query.descending else rows
    value = _sort_value(query.sort)
    known = [row for row in rows if value(row) is not None]
    known.sort(key=value, reverse=query.descending)
    return known + [row for row in rows if value(row) is None]


def _sort_value(sort: str) -> Callable[[NodeVerdict], Any]:
    if sort == "node":
        return lambda row: row.node_name
    if sort == "total":
        return lambda row: row.total
    field, _, plugin = sort.partition(":")

    def score(row: NodeVerdict) -> int | None:
        found: PluginScore | None = next((one for one in row.scores if one.plugin == plugin), None)
        value: int | None = getattr(found, field) if found is not None else None
        return value

    return score


def _node(verdict: NodeVerdict, tied: bool) -> views.MatrixNode:
    scores = {score.plugin: views.Score(score.raw, score.normalized, score.weighted) for score in verdict.scores}
    return views.MatrixNode(
        node=verdict.node_name,
        feasible=verdict.feasible,
        status=status_view(verdict.status),
        total=verdict.total,
        tied=tied,
        scores=scores,
        now=None,
    )


def _nominated(matrix: AttemptMatrix) -> views.NominatedTry | None:
    tried = matrix.nominated
    if tried is None:
        return None
    return views.NominatedTry(tried.node_name, tried.fits, status_view(tried.status), tried.error)


def _exchange(exchange: ExtenderExchange) -> views.ExtenderExchange:
    """What an extender was asked and answered; the answer is text even where it is no JSON."""
    return views.ExtenderExchange(
        extender=exchange.extender,
        point=cast(Any, exchange.point),
        request=exchange.request_digest.hex(),
        answer=None if exchange.answer is None else exchange.answer.decode(errors="replace"),
        error=exchange.error,
    )


def _post_filter(record: PostFilterRecord | None) -> views.PostFilter | None:
    if record is None:
        return None
    return views.PostFilter(record.code, record.plugin, record.message, record.nominated_node_name)


def _tried_nodes(record: PreemptionRecord, query: views.PreemptionQuery) -> tuple[list[views.PreemptionNode], int]:
    """One page of the nodes, and how many there are on all pages."""
    candidates = {found.node_name: found for found in record.candidates}
    statuses = dict(record.not_candidates)
    tied = frozenset(record.tied)

    def outcome(name: str) -> views.Outcome:
        return "candidate" if name in candidates else "refused" if name in statuses else "untried"

    def node(name: str) -> views.PreemptionNode:
        found = candidates.get(name)
        return views.PreemptionNode(
            node=name,
            outcome=outcome(name),
            status=status_view(statuses.get(name)),
            victims=found.victims if found is not None else (),
            num_pdb_violations=found.num_pdb_violations if found is not None else 0,
            tied=name in tied,
        )

    names = [name for name in record.potential_nodes if not query.node or query.node in name]
    if query.outcome:
        names = [name for name in names if outcome(name) == query.outcome]
    return [node(name) for name in names[query.offset : query.offset + query.limit]], len(names)


def status_view(status: Any) -> views.Status | None:
    """None for a success: most nodes of most attempts need no words."""
    if status is None or status.is_success:
        return None
    return views.Status(status.code.name, status.plugin, list(status.reasons))
