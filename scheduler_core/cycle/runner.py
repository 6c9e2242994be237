"""How the extension points that look at nodes are run: the contract, and the plain way, node by node.

The plain runner asks every plugin about every node and remembers nothing. Runners that are quicker decorate it and
make the same decisions (`fast/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.filtering import PreFilterOutcome, ask_pre_filter, filter_by_node
from scheduler_core.cycle.scoring import Scored, ask_pre_score, ask_score, weigh
from scheduler_core.cycle.view import Int32Array
from scheduler_core.cycle.walk import NO_FILTER_ROWS, Walk, cut_walk
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status


class Runner(Protocol):
    """Runs a cycle's plugins over nodes. Which plugins skip is left in the cycle's state."""

    def pre_filter(self, cycle: Cycle) -> PreFilterOutcome:
        """Ask every plugin once about the whole cluster."""
        ...

    def filter(self, cycle: Cycle, candidates: Int32Array | None) -> Walk:
        """Walk over the candidates (None: all nodes) from `cycle.start` on, once around, until enough are found."""
        ...

    def pre_score(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Status:
        """Ask every plugin once about the feasible nodes."""
        ...

    def score(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Scored:
        """The scores of the feasible nodes, in their order."""
        ...


class Runners(Protocol):
    """Chooses the runner of a cycle."""

    def runner_of(self, cycle: Cycle) -> Runner:
        """Asked once, when the cycle's view is there."""
        ...


class PlainRunner:
    """Node form only."""

    def runner_of(self, cycle: Cycle) -> Runner:
        return self

    def pre_filter(self, cycle: Cycle) -> PreFilterOutcome:
        state, pod, infos = cycle.state, cycle.pod, cycle.view.infos
        outcome, skipped = ask_pre_filter(cycle.profile.pre_filter, lambda plugin: plugin.pre_filter(state, pod, infos))
        state.skip_filter_plugins = frozenset(skipped)
        return outcome

    def filter(self, cycle: Cycle, candidates: Int32Array | None) -> Walk:
        nodes, rows = cycle.view.walk_from(cycle.start, candidates)
        if not cycle.profile.filter:  # the first ones will do, and none is one too many
            return Walk(NO_FILTER_ROWS, nodes[: cycle.wanted], rows[: cycle.wanted], 0)
        codes, statuses = filter_by_node(cycle, nodes)
        return cut_walk(nodes[: len(codes)], rows, codes, statuses, cycle.wanted)

    def pre_score(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Status:
        status, skipped = ask_pre_score(
            cycle.profile.pre_score, lambda plugin: plugin.pre_score(cycle.state, cycle.pod, nodes)
        )
        cycle.state.skip_score_plugins = frozenset(skipped)
        return status

    def score(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> Scored:
        plan = cycle.profile.score_plan(cycle.state.skip_score_plugins)
        raw = np.zeros((len(plan.plugins), len(nodes)), dtype=np.int64)
        failure = ask_score(cycle, nodes, raw, enumerate(plan.plugins))
        return weigh(cycle, plan, raw) if failure.is_success else (None, failure)
