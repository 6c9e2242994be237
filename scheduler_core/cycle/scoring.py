"""The scores of the feasible nodes: each plugin's raw, brought into 0..100, weighed and added up.

Scores are int64, shape (n_plugins, n_feasible), in running order of the plugins.
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.framework.answers import MAX_NODE_SCORE, Int64Array
from scheduler_core.framework.points import PreScorePlugin, ScorePlugin
from scheduler_core.framework.runtime import ScorePlan
from scheduler_core.model.effects import ScoreRows
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status

Scored = tuple[ScoreRows | None, Status]
"""The scores, or None and why there are none."""


def ask_pre_score(
    plugins: Iterable[PreScorePlugin], ask: Callable[[PreScorePlugin], Status]
) -> tuple[Status, list[str]]:
    """Ask the plugins in turn; the names of those that skip, which Score leaves out too."""
    skipped: list[str] = []
    for plugin in plugins:
        status = ask(plugin)
        if status.is_skip:
            skipped.append(plugin.name)
        elif not status.is_success:
            return Status.failed(f'running PreScore plugin "{plugin.name}": {status.message}'), skipped
    return SUCCESS, skipped


def ask_score(
    cycle: Cycle,
    nodes: Sequence[NodeInfo],
    raw: Int64Array,
    lines: Iterable[tuple[int, int]],
    ask_table: Callable[[ScorePlugin], Int64Array | None] | None = None,
) -> Status:
    """Fill lines of `raw`, (line, index of the plugin) each, with the nodes' scores; the failure that ended it.

    `ask_table` gives all scores of a plugin at once, or None: then it is asked node by node.
    """
    # Upstream goes node by node: of several failures that of the first node counts.
    failure, unfailed = SUCCESS, len(nodes)
    for line, index in lines:
        plugin = cycle.profile.score[index]
        scores = ask_table(plugin) if ask_table is not None else None
        if scores is not None:
            raw[line] = scores
            continue
        for position, node_info in zip(range(unfailed), nodes, strict=False):
            score, status = plugin.score(cycle.state, cycle.pod, node_info)
            if not status.is_success:
                text = f'running Score plugins: plugin "{plugin.name}" failed with: {status.message}'
                failure, unfailed = Status.failed(text), position
                break
            raw[line, position] = score
    return failure


def weigh(cycle: Cycle, plan: ScorePlan, raw: Int64Array) -> Scored:
    """Normalise the raw scores of the plan's plugins, check their range, and add them up by weight."""
    normalized = raw.copy() if plan.normalizers else raw
    for line, name in plan.normalizers:
        status = cycle.profile.normalizers[name].normalize_scores(cycle.state, cycle.pod, normalized[line])
        if not status.is_success:
            text = f'running Normalize on Score plugins: plugin "{name}" failed with: {status.message}'
            return None, Status.failed(text)
    # Seen as unsigned, what is negative is large.
    unsigned = normalized.view(np.uint64)
    if unsigned.size and unsigned.item(unsigned.argmax()) > MAX_NODE_SCORE:
        return None, _out_of_range(plan, normalized)
    return ScoreRows(plan.weights, raw, normalized, plan.factors @ normalized, plan.skipped), SUCCESS


def _out_of_range(plan: ScorePlan, normalized: Int64Array) -> Status:
    """The first node with a score out of range, and of its plugins the first."""
    position, line = np.argwhere(((normalized < 0) | (normalized > MAX_NODE_SCORE)).T)[0]
    return Status.failed(
        f'applying score defaultWeights on Score plugins: plugin "{plan.weights[line][0]}" returns an invalid'
        f" score {normalized[line, position]}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
    )
