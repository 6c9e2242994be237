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
from scheduler_core.framework.interface import MAX_NODE_SCORE, Int64Array, PreScorePlugin
from scheduler_core.framework.reuse import SchedulingClass
from scheduler_core.framework.runtime import Framework, ScorePlan
from scheduler_core.model.effects import ScoreRows
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.table.node_table import NodeTable

Rows = npt.NDArray[np.intp]


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
    plugins = framework.pre_score
    skipped: list[str] = []
    if kept is not None:
        state.take_over(kept.pre_score.values)
        if kept.pre_score.anew == ():
            state.skip_score_plugins = kept.pre_score.skipped
            return SUCCESS
        if kept.pre_score.anew is not None:
            plugins = [framework.pre_score[index] for index in kept.pre_score.anew]
    try:
        for plugin in plugins:
            status = _ask_pre_score(framework, plugin, state, pod, node_infos, table, rows, kept)
            if status.is_skip:
                skipped.append(plugin.name)
            elif not status.is_success:
                return Status.failed(f'running PreScore plugin "{plugin.name}": {status.message}')
    finally:
        state.skip_score_plugins = kept.pre_score.skipped_with(skipped) if kept is not None else frozenset(skipped)
    if kept is not None and kept.pre_score.anew is None:
        kept.pre_score.settle(framework.pre_score, skipped)
    return SUCCESS


def _ask_pre_score(
    framework: Framework,
    plugin: PreScorePlugin,
    state: CycleState,
    pod: Pod,
    node_infos: Sequence[NodeInfo],
    table: NodeTable | None,
    rows: Rows,
    kept: SchedulingClass | None,
) -> Status:
    if kept is not None and kept.keeps(plugin.name):
        known = kept.pre_score.answers.get(plugin.name)
        if known is not None:
            return known
        return kept.pre_score.record(plugin.name, state, lambda: plugin.pre_score(state, pod, node_infos))
    table_plugin = framework.table_pre_scorers.get(plugin.name)
    if table_plugin is not None and table is not None:
        return table_plugin.pre_score_table(state, pod, table, rows)
    return plugin.pre_score(state, pod, node_infos)


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
    plan = framework.score_plan(state.skip_score_plugins)
    raw, failure = _raw_scores(framework, plan, kept, state, pod, node_infos, table, rows)
    if not failure.is_success:
        return None, failure
    normalized = raw.copy() if plan.normalizers else raw
    for place, name in plan.normalizers:
        status = framework.normalizers[name].normalize_scores(state, pod, normalized[place])
        if not status.is_success:
            text = f'running Normalize on Score plugins: plugin "{name}" failed with: {status.message}'
            return None, Status.failed(text)
    # Seen as unsigned, what is negative is large.
    unsigned = normalized.view(np.uint64)
    if unsigned.size and unsigned.item(unsigned.argmax()) > MAX_NODE_SCORE:
        return None, _invalid(plan.weights, normalized)
    return ScoreRows(plan.weights, raw, normalized, plan.factors @ normalized, plan.skipped), SUCCESS


def _raw_scores(
    framework: Framework,
    plan: ScorePlan,
    kept: SchedulingClass | None,
    state: CycleState,
    pod: Pod,
    node_infos: Sequence[NodeInfo],
    table: NodeTable | None,
    rows: Rows,
) -> tuple[Int64Array, Status]:
    """(n_plugins, n_feasible), and the failure that came instead."""
    scorers = framework.table_scorers if table is not None else {}
    known = None
    if kept is not None and table is not None:
        known = kept.scores.at(rows, table, framework, state, pod, plan)
    raw = np.zeros((len(plan.plugins), len(rows)), dtype=np.int64) if known is None else known
    # Upstream goes node by node: of several failures that of the first node counts.
    failure, unfailed = SUCCESS, len(rows)
    for place, index in enumerate(plan.plugins) if kept is None or known is None else kept.scores.anew:
        plugin = framework.score[index]
        table_plugin = scorers.get(plugin.name)
        if table_plugin is not None and table is not None:
            scores = table_plugin.score_nodes(state, pod, table, rows)
            if scores is not None:
                raw[place] = scores
                continue
        for position, node_info in zip(range(unfailed), node_infos, strict=False):
            score, status = plugin.score(state, pod, node_info)
            if not status.is_success:
                text = f'running Score plugins: plugin "{plugin.name}" failed with: {status.message}'
                failure, unfailed = Status.failed(text), position
                break
            raw[place, position] = score
    return raw, failure


def _invalid(weights: Sequence[tuple[str, int]], normalized: Int64Array) -> Status:
    """The first node with a score out of range, and of its plugins the first."""
    position, index = np.argwhere(((normalized < 0) | (normalized > MAX_NODE_SCORE)).T)[0]
    return Status.failed(
        f'applying score defaultWeights on Score plugins: plugin "{weights[index][0]}" returns an invalid'
        f" score {normalized[index, position]}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
    )
