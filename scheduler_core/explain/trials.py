"""Nodes tried for victims one by one, those among them that a search had no need to try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.observed import Trial
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import Diagnosis
from scheduler_core.plugins.default_preemption import DefaultPreemption
from scheduler_core.preemption.budgets import Budget
from scheduler_core.preemption.criteria import Candidate
from scheduler_core.preemption.evaluator import not_eligible
from scheduler_core.preemption.trial import Question, Watch, select_victims_on_node
from scheduler_core.scheduler.engine import Engine


class Trials:
    """The search of a pod that fits nowhere; it is asked before victims are made to leave."""

    def __init__(self, engine: Engine, plain: Cycle, diagnosis: Diagnosis) -> None:
        """`plain`: the cycle with the state of the node form; `diagnosis`: what refused the pod."""
        self.budgets = cast(Sequence[PodDisruptionBudget], engine.store.list(PodDisruptionBudget.kind))
        self._statuses = diagnosis.node_to_status
        self.question = self._asked(engine, plain)  # None where there is no search

    def _asked(self, engine: Engine, plain: Cycle) -> Question | None:
        """None where no plugin makes a search, or the pod may not evict others."""
        stored = engine.store.pod(plain.pod.key)
        searches = any(isinstance(each, DefaultPreemption) for each in plain.profile.post_filter)
        if stored is None or not searches or not_eligible(stored, engine.snapshot, self._statuses):
            return None
        return Question(
            runner=plain.profile,
            nominated=plain.nominated,
            state=plain.state,
            pod=stored,
            budgets=[Budget.of(pdb) for pdb in self.budgets],
            now=engine.now,
        )

    def of(self, info: NodeInfo) -> Trial | None:
        """What comes of trying the node; None where evicting pods is no help."""
        found = self.candidate(info)
        if found is None:
            return None
        if isinstance(found, Status):
            return Trial(status=found)
        return Trial(tuple(pod.key for pod in found.victims), found.num_pdb_violations)

    def candidate(self, info: NodeInfo, watch: Watch | None = None) -> Candidate | Status | None:
        """The same with the pods themselves; `watch` is told of each that is tried to be spared."""
        if self.question is None or self._statuses.status_of(info.name).code is not Code.Unschedulable:
            return None
        return select_victims_on_node(self.question, info.copy(), watch)
