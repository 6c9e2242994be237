"""Disruption budgets as preemption reads them, for one pod and for the pods of many rows.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
(filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.api.selectors import LabelSelectorMatcher, SelectorError, parse_label_selector
from scheduler_core.model.types import PodInfo
from scheduler_core.preemption.row_pods import PodLabels
from scheduler_core.table.growth import BoolArray, Int32Array


@dataclass(frozen=True, slots=True)
class Budget:
    """One budget; `matcher` None matches nothing."""

    namespace: str
    matcher: LabelSelectorMatcher | None
    disruptions_allowed: int
    disrupted_pods: frozenset[str]  # names of pods the budget has paid for already

    @staticmethod
    def of(pdb: PodDisruptionBudget) -> Budget:
        """An empty selector matches nothing here, though it matches everything for evictions (as upstream)."""
        matcher: LabelSelectorMatcher | None
        try:
            matcher = parse_label_selector(pdb.spec.selector)
        except SelectorError:
            matcher = None
        if matcher is not None and (matcher.nothing or matcher.is_empty):
            matcher = None
        disrupted = frozenset(pdb.status.disrupted_pods or ())
        return Budget(pdb.namespace, matcher, pdb.status.disruptions_allowed, disrupted)

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether it is about pods like this."""
        return self.matcher is not None and self.namespace == namespace and self.matcher.matches(labels)

    def counts(self, pod: Pod) -> bool:
        """Whether evicting the pod costs this budget a disruption."""
        return self.covers(pod.namespace, pod.labels) and pod.name not in self.disrupted_pods


def split_by_budget(infos: Sequence[PodInfo], budgets: Sequence[Budget]) -> tuple[list[PodInfo], list[PodInfo]]:
    """(violating a budget, not violating one), each in the order given.

    Budgets are counted down over all pods in order, also over those that are spared later (as upstream).
    """
    allowed = [budget.disruptions_allowed for budget in budgets]
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for info in infos:
        violates = False
        if info.pod.labels:
            for index, budget in enumerate(budgets):
                if budget.counts(info.pod):
                    allowed[index] -= 1
                    violates |= allowed[index] < 0
        (violating if violates else others).append(info)
    return violating, others


class BudgetRows:
    """`split_by_budget` for many rows at once; pods are given by the number of their namespace and labels."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = [budget for budget in budgets if budget.matcher is not None]
        self._numbers: dict[str, list[int]] = {}  # of budgets by namespace
        for number, budget in enumerate(self._budgets):
            self._numbers.setdefault(budget.namespace, []).append(number)
        self._epoch = 0
        self._covers: BoolArray = np.zeros((len(self._budgets), 0), dtype=np.bool_)

    def violating(
        self, labels: Int32Array, pods: npt.NDArray[Any], labels_of: Sequence[PodLabels], epoch: int
    ) -> BoolArray | None:
        """Which pods, (rank, row) by importance, violate a budget; None when none does. Number 0 is nobody.

        `epoch`: with another one the numbers mean something else.
        """
        if not self._budgets:
            return None
        self._learn(labels_of, epoch)
        violating: BoolArray | None = None
        for number, budget in enumerate(self._budgets):
            counted = self._covers[number][labels]
            if not counted.any():
                continue
            if budget.disrupted_pods:
                for place in np.argwhere(counted):
                    counted[tuple(place)] = pods[tuple(place)].name not in budget.disrupted_pods
            over = counted & (np.cumsum(counted, axis=0) > budget.disruptions_allowed)
            if over.any():
                violating = over if violating is None else violating | over
        return violating

    def _learn(self, labels_of: Sequence[PodLabels], epoch: int) -> None:
        known = self._covers.shape[1] if epoch == self._epoch else 0
        self._epoch = epoch
        if known == len(labels_of):
            return
        covers = np.zeros((len(self._budgets), len(labels_of)), dtype=np.bool_)
        covers[:, :known] = self._covers[:, :known]
        for place in range(max(known, 1), len(labels_of)):
            namespace, labels = labels_of[place]
            for number in self._numbers.get(namespace, ()):
                covers[number, place] = self._budgets[number].covers(namespace, labels)
        self._covers = covers
