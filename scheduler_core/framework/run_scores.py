"""The scores of the feasible nodes: each plugin's raw, brought into 0..100, weighed and added up.

Scores are int64, shape (n_plugins, n_feasible), in running order of the plugins. The row form asks node by node; the
table form asks each plugin once for all rows, or takes the scores its class keeps.
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.interface import MAX_NODE_SCORE, Int64Array, ScorePlugin
from scheduler_core.framework.reuse import SchedulingClass
from scheduler_core.framework.runtime import Framework
from scheduler_core.model.effects import ScoreRows
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.table.node_table import NodeTable

Rows = npt.NDArray[np.int32]


def run_pre_score(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    node_infos: Sequence[NodeInfo],
    table: NodeTable | None,
    rows: Rows,
    kept: SchedulingClass | None = None,
) -> Status:
    """Ask every plugin once about the feasible nodes; `rows` are their rows of the table, None: ask by node."""
    skipped: set[str] = set()
    try:
        for plugin in framework.pre_score:
            recorded = kept.pre_score.get(plugin.name) if kept is not None else None
            if recorded is not None:
                status, values = recorded
                state.take_over(values)
            else:
                table_plugin = framework.table_pre_scorers.get(plugin.name)
                if table_plugin is not None and table is not None:
                    status = table_plugin.pre_score_table(state, pod, table, rows)
                elif kept is not None and kept.keeps(plugin.name):
                    status = kept.record_pre_score(plugin, state, pod, node_infos)
                else:
                    status = plugin.pre_score(state, pod, node_infos)
            if status.is_skip:
                skipped.add(plugin.name)
            elif not status.is_success:
                return Status.failed(f'running PreScore plugin "{plugin.name}": {status.message}')
    finally:
        state.skip_score_plugins = frozenset(skipped)
    return SUCCESS


def run_score(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    node_infos: Sequence[NodeInfo],
    table: NodeTable | None,
    rows: Rows,
    kept: SchedulingClass | None = None,
) -> tuple[ScoreRows | None, Status]:
    """Scores of the feasible nodes; `rows` are their rows of the table, in the order of `node_infos`.

    Without a table every plugin is asked node by node: the nodes are not those of the snapshot.
    """
    plugins = [plugin for plugin in framework.score if plugin.name not in state.skip_score_plugins]
    raw, failure = _raw_scores(framework, plugins, state, pod, node_infos, table, rows, kept)
    if not failure.is_success:
        return None, failure
    normalizers = framework.normalizers
    normalized = raw.copy() if any(plugin.name in normalizers for plugin in plugins) else raw
    for index, plugin in enumerate(plugins):
        normalizer = normalizers.get(plugin.name)
        if normalizer is None:
            continue
        status = normalizer.normalize_scores(state, pod, normalized[index])
        if not status.is_success:
            text = f'running Normalize on Score plugins: plugin "{plugin.name}" failed with: {status.message}'
            return None, Status.failed(text)
    if normalized.min(initial=0) < 0 or normalized.max(initial=0) > MAX_NODE_SCORE:
        return None, _invalid(plugins, normalized)
    weights = framework.weights
    return (
        ScoreRows(
            plugins=tuple((plugin.name, weights[plugin.name]) for plugin in plugins),
            raw=raw,
            normalized=normalized,
            totals=_totals([weights[plugin.name] for plugin in plugins], normalized),
            skipped=tuple(sorted(state.skip_score_plugins)),
        ),
        SUCCESS,
    )


def _raw_scores(
    framework: Framework,
    plugins: Sequence[ScorePlugin],
    state: CycleState,
    pod: Pod,
    node_infos: Sequence[NodeInfo],
    table: NodeTable | None,
    rows: Rows,
    kept: SchedulingClass | None,
) -> tuple[Int64Array, Status]:
    """(n_plugins, n_feasible), and the failure that came instead."""
    raw: Int64Array = np.zeros((len(plugins), len(rows)), dtype=np.int64)
    scorers = framework.table_scorers if table is not None else {}
    by_row: dict[str, Int64Array] = {}
    if kept is not None and table is not None:
        keeping = [scorers[plugin.name] for plugin in plugins if plugin.name in scorers]
        by_row = kept.scores.brought_up_to(table, state, pod, keeping)
    # Upstream goes node by node: of several failures that of the first node counts.
    failure, unfailed = SUCCESS, len(rows)
    for index, plugin in enumerate(plugins):
        known = by_row.get(plugin.name)
        if known is not None:
            known.take(rows, out=raw[index], mode="clip")  # rows are in range; any mode but "raise" writes directly
            continue
        table_plugin = scorers.get(plugin.name)
        if table_plugin is not None and table is not None:
            scores = table_plugin.score_nodes(state, pod, table, rows)
            if scores is not None:
                raw[index] = scores
                continue
        for position, node_info in zip(range(unfailed), node_infos, strict=False):
            score, status = plugin.score(state, pod, node_info)
            if not status.is_success:
                text = f'running Score plugins: plugin "{plugin.name}" failed with: {status.message}'
                failure, unfailed = Status.failed(text), position
                break
            raw[index, position] = score
    return raw, failure


def _invalid(plugins: Sequence[ScorePlugin], normalized: Int64Array) -> Status:
    """The first node with a score out of range, and of its plugins the first."""
    position, index = np.argwhere(((normalized < 0) | (normalized > MAX_NODE_SCORE)).T)[0]
    return Status.failed(
        f'applying score defaultWeights on Score plugins: plugin "{plugins[index].name}" returns an invalid'
        f" score {normalized[index, position]}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
    )


def _totals(weights: Sequence[int], normalized: Int64Array) -> Int64Array:
    totals: Int64Array = np.zeros(normalized.shape[1], dtype=np.int64)
    for weight, scores in zip(weights, normalized, strict=True):
        totals += scores if weight == 1 else scores * np.int64(weight)
    return totals
