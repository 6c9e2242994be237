"""Tallies kept up over thousands of changes say what a walk over the nodes says, for pods that come back again.

Pods and nodes come, change and go, services and namespaces too, and in between the same few pods are tried: what was
kept for them from earlier cycles must not show. What-ifs are made on the way and must leave nothing behind.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import ALL_ROWS
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.registry import IN_TREE
from scheduler_core.scheduler.store import ObjectStore
from scheduler_core.table import pods, tallies
from scheduler_core.table.node_table import NodeTable
from tests.builders import make
from tests.cases import cases
from tests.core.plugins.support import FakeHandle, FakeSnapshot
from tests.property.test_spread_and_affinity_forms import PLUGINS, incoming_pod, random_node, random_pod

Memo = dict[Hashable, tuple[Hashable, Any]]


@dataclass
class Machine:
    random: Random
    table: NodeTable = field(default_factory=NodeTable)
    infos: dict[str, NodeInfo] = field(default_factory=dict)
    store: ObjectStore = field(default_factory=ObjectStore)
    made: int = 0

    def change(self) -> None:
        """One random change; pods mostly."""
        random = self.random
        kind = random.random()
        if kind < 0.02:
            self._other_object()
        elif kind < 0.12 or not self.infos:
            self._node()
        else:
            self._pod_of(random.choice(list(self.infos.values())))

    def _pod_of(self, info: NodeInfo) -> None:
        if info.pods and self.random.random() < 0.5:
            info.remove_pod(self.random.choice(info.pods).pod)
        if self.random.random() < 0.7:
            self.made += 1
            info.add_pod(PodInfo.of(random_pod(self.random, f"p{self.made}").build()))
        self.table.upsert(info)

    def _node(self) -> None:
        name = f"n{self.random.randrange(9)}"
        if name in self.infos and self.random.random() < 0.4:
            del self.infos[name]
            self.table.remove(name)
            return
        fresh = random_node(self.random, name)
        known = self.infos.get(name)
        if known is None:
            self.infos[name] = known = fresh
        else:
            assert fresh.node is not None
            known.set_node(fresh.node)  # other labels and taints, the same pods
        self.table.upsert(known)

    def _other_object(self) -> None:
        if self.random.random() < 0.5:
            team = {"labels": {"team": self.random.choice("ab")}}
            self.store.put(make("Namespace", self.random.choice(("default", "other")), metadata=team))
        elif self.random.random() < 0.5:
            selector = {"app": self.random.choice(("web", "db"))}
            self.store.put(make("Service", "s", namespace="default", spec={"selector": selector}))
        else:
            self.store.remove("Service", "default/s")


class Comparison:
    """One plugin, with what it keeps for each of the pods that are tried."""

    def __init__(self, machine: Machine, name: str, args: Any, tried: list[Pod]) -> None:
        self._machine = machine
        self._snapshot = FakeSnapshot()
        handle = FakeHandle(self._snapshot)
        handle.lister = machine.store  # type: ignore[assignment]
        self._plugin: Any = IN_TREE[name](args, handle)  # type: ignore[arg-type]
        self._memos: list[Memo] = [{} for _ in tried]
        self._tried = tried

    def check(self, number: int) -> None:
        infos = list(self._machine.infos.values())
        self._snapshot.infos = infos
        if infos:
            self._check_filter(self._tried[number], self._memos[number], infos)
            self._check_score(self._tried[number], self._memos[number], infos)

    def _check_filter(self, pod: Pod, memo: Memo, infos: list[NodeInfo]) -> None:
        plugin, table, random = self._plugin, self._machine.table, self._machine.random
        by_node, by_row = CycleState(), CycleState(memo)
        answer = plugin.pre_filter(by_node, pod, infos)
        assert plugin.pre_filter_table(by_row, pod, table) == answer
        if not answer[1].is_success:
            return
        want = [plugin.filter(by_node, pod, info) for info in infos]
        assert self._told(by_row, pod, infos) == want
        other, info = PodInfo.of(random_pod(random, "other").build()), random.choice(infos)
        what_ifs = by_node.clone(), by_row.clone()
        for what_if in what_ifs:
            plugin.add_pod(what_if, pod, other, info)
            for gone in info.pods[:2]:
                plugin.remove_pod(what_if, pod, gone, info)
        after = [plugin.filter(what_ifs[0], pod, info) for info in infos]
        assert [plugin.filter(what_ifs[1], pod, info) for info in infos] == after
        assert self._told(what_ifs[1], pod, infos) == after
        assert self._told(by_row, pod, infos) == want

    def _told(self, state: CycleState, pod: Pod, infos: list[NodeInfo]) -> list[Status]:
        table = self._machine.table
        verdicts = self._plugin.filter_nodes(state, pod, table, ALL_ROWS)
        if verdicts is None:
            return [SUCCESS] * len(infos)
        codes = [int(verdicts.codes[table.row_of[info.name]]) for info in infos]
        return [verdicts.statuses[code - 1] if code else SUCCESS for code in codes]

    def _check_score(self, pod: Pod, memo: Memo, infos: list[NodeInfo]) -> None:
        plugin, table, random = self._plugin, self._machine.table, self._machine.random
        feasible = random.sample(infos, random.randint(1, len(infos)))
        rows = np.array([table.row_of[info.name] for info in feasible], dtype=np.int32)
        by_node, by_row = CycleState(), CycleState(memo)
        status = plugin.pre_score(by_node, pod, feasible)
        assert plugin.pre_score_table(by_row, pod, table, rows) == status
        if not status.is_success:
            return
        want = np.array([plugin.score(by_node, pod, info)[0] for info in feasible])
        scores = plugin.score_nodes(by_row, pod, table, rows)
        assert scores.tolist() == want.tolist()
        assert plugin.score_nodes(by_row, pod, table, rows[::-1]).tolist() == want[::-1].tolist()
        plugin.normalize_scores(by_node, pod, want)
        plugin.normalize_scores(by_row, pod, scores)
        assert scores.tolist() == want.tolist()


@cases(
    "seed, max_tallies, max_followers, many_changes, max_known",
    ("all tallies are kept", 1, 512, 32, 16, 4096),
    ("all tallies are kept, few changes and terms", 2, 512, 32, 1, 1),
    ("tallies are given up all the time", 3, 3, 1, 16, 4096),
)
def test_what_is_kept_equals_a_walk_over_the_nodes(
    seed: int,
    max_tallies: int,
    max_followers: int,
    many_changes: int,
    max_known: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pods, "MAX_TALLIES", max_tallies)
    monkeypatch.setattr(tallies, "MAX_FOLLOWERS", max_followers)
    monkeypatch.setattr(tallies, "_MANY_CHANGES", many_changes)
    monkeypatch.setattr(pods, "_MAX_KNOWN", max_known)
    random = Random(seed)
    machine = Machine(random)
    tried = [incoming_pod(random) for _ in range(12)]
    comparisons = [Comparison(machine, name, args, tried) for name, args in PLUGINS]
    for _ in range(1500):
        machine.change()
        random.choice(comparisons).check(random.randrange(len(tried)))
