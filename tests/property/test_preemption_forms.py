"""The dry run over rows says what the trial node by node says: on random clusters that change between the searches."""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from scheduler_core import config
from scheduler_core.api.pod import Pod
from scheduler_core.api.policy import PodDisruptionBudget
from scheduler_core.build import build
from scheduler_core.cycle.filtering import ask_pre_filter
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_views import NodeNames
from scheduler_core.model.status import Status
from scheduler_core.model.types import PodInfo
from scheduler_core.ports import FirstDraws
from scheduler_core.preemption import row_pods, row_search
from scheduler_core.preemption.budgets import Budget, BudgetRows
from scheduler_core.preemption.row_search import RowSearches
from scheduler_core.preemption.trial import Question, dry_run
from scheduler_core.preemption.tried import Tried, tried_by_node
from scheduler_core.table import resources
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases

GPU = "example.com/gpu"
NOW = 1_900_000_000_000_000  # 2030-03-17T17:46:40Z
STARTS = (None, None, "2030-01-01T00:00:00Z", "2030-01-01T00:00:01Z", "2030-03-17T17:46:40Z", "2031-01-01T00:00:00Z")
NAMESPACES = ("default", "shop")
SELECTORS: tuple[dict[str, Any], ...] = (
    {"matchLabels": {"app": "x"}},
    {"matchLabels": {"app": "y"}},
    {"matchLabels": {"tier": "a"}},
    {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},  # pods without any label
    {},
)
SEARCHES = 30


class Nominated:
    """Pods nominated to nodes, by name of the node."""

    def __init__(self) -> None:
        self.by_node: dict[str, list[PodInfo]] = {}

    def nominated_pods_for_node(self, node_name: str) -> list[PodInfo]:
        return self.by_node.get(node_name, [])

    def nominated_node_names(self) -> list[str]:
        return list(self.by_node)


class World:
    """A random cluster in an engine, budgets, and pods that would preempt."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.engine = build(config.load(None), draws=FirstDraws()).engine
        self.framework = self.engine.frameworks["default-scheduler"]
        self.nominated = Nominated()
        self.n_pods = 0
        self.bound: list[Pod] = []
        for number in range(self.random.randint(1, 9)):
            node = make_node(f"n{number}").capacity(
                {"cpu": str(self.random.randint(2, 6)), "memory": "8Gi", "pods": str(self.random.randint(2, 9))}
                | ({GPU: str(self.random.randint(0, 4))} if self.random.random() < 0.5 else {})
            )
            if self.random.random() < 0.15:
                node = node.taint("k", "v")
            self.engine.cache.add_node(node.build())
            for _ in range(self.random.randint(0, 6)):
                self.add_pod(f"n{number}")
        self.engine.snapshot.update_snapshot(self.engine.cache)
        self.draw_budgets()

    def pod(self, name: str) -> PodBuilder:
        random = self.random
        built = make_pod(name, namespace=random.choice(NAMESPACES)).priority(random.choice((-1, 0, 0, 1, 5, 9)))
        built = built.req(cpu=random.choice(("0", "500m", "1", "2", "3")))
        if random.random() < 0.3:
            built = built.req({GPU: str(random.randint(0, 2))})
        if random.random() < 0.6:
            built = built.label(app=random.choice("xyz"), tier=random.choice("ab"))
        return built

    def add_pod(self, node_name: str) -> None:
        self.n_pods += 1
        built, start = self.pod(f"p{self.n_pods}").on(node_name), self.random.choice(STARTS)
        pod = (built if start is None else built.started(start)).build()
        self.engine.cache.add_pod(pod)
        self.bound.append(pod)

    def draw_budgets(self) -> None:
        self.budgets = [self.budget(number) for number in range(self.random.choice((0, 0, 1, 3)))]
        self.budget_rows = BudgetRows(self.budgets)

    def budget(self, number: int) -> Budget:
        random = self.random
        selector = random.choice(SELECTORS)
        disrupted = {random.choice(self.bound).name: "2030-01-01T00:00:00Z" for _ in self.bound[:1]}
        pdb = make(
            "PodDisruptionBudget",
            f"b{number}",
            namespace=random.choice(NAMESPACES),
            spec={"selector": selector},
            status={
                "disruptionsAllowed": random.randint(-1, 2),
                "disruptedPods": disrupted if random.random() < 0.3 else {},
            },
        )
        assert isinstance(pdb, PodDisruptionBudget)
        return Budget.of(pdb)

    def change(self) -> None:
        """Pods come and go, get nominated or not; a node goes."""
        random, cache = self.random, self.engine.cache
        for _ in range(random.randint(0, 3)):
            if self.bound and random.random() < 0.6:
                cache.remove_pod(self.bound.pop(random.randrange(len(self.bound))))
            else:
                self.add_pod(random.choice(self.names()))
        if random.random() < 0.3:
            self.draw_budgets()
        self.nominated.by_node = {}
        for number in range(random.choice((0, 0, 1, 3))):
            info = PodInfo.of(self.pod(f"nominated{number}").build())
            self.nominated.by_node.setdefault(random.choice((*self.names(), "", "gone")), []).append(info)
        self.engine.snapshot.update_snapshot(cache)

    def names(self) -> tuple[str, ...]:
        return tuple(info.name for info in self.engine.snapshot.list()) or ("n0",)

    def ask(self, pod: Pod, memo: dict[Hashable, tuple[Hashable, Any]]) -> Question:
        snapshot = self.engine.snapshot
        state = CycleState(memo)
        _, skipped = ask_pre_filter(
            self.framework.pre_filter, lambda plugin: plugin.pre_filter(state, pod, snapshot.list())
        )
        state.skip_filter_plugins = frozenset(skipped)
        return Question(self.framework, self.nominated, state, pod, self.budgets, NOW)


def told(tried: Tried) -> tuple[list[tuple[str, Status]], list[Any], list[list[int]], Any]:
    """All there is to compare."""
    chosen = tried.choose() if len(tried.candidates) else None
    return list(tried.refused), list(tried.candidates), tried.values.tolist(), chosen


@pytest.mark.parametrize("seed", range(40))
def test_rows_and_nodes_agree_when_pods_come_and_go(seed: int) -> None:
    world, searches = World(seed), RowSearches()
    # Twins share a memo, as equivalent pods do.
    preemptors: list[tuple[Pod, dict[Hashable, tuple[Hashable, Any]]]] = [
        (world.pod(f"preemptor{number}").priority(world.random.choice((1, 5, 20))).build(), {}) for number in range(3)
    ]
    for turn in range(SEARCHES):
        world.change()
        pod, memo = preemptors[turn % len(preemptors)]
        names, snapshot = world.names(), world.engine.snapshot
        around = world.random.sample(range(len(names)), len(names))
        potential = NodeNames(np.array(around, dtype=np.int32), names)
        want = world.random.randint(1, len(names))
        question = world.ask(pod, memo)
        search = searches.begin(question, world.framework, snapshot.table, world.budget_rows, equivalent=True)
        assert search is not None
        by_rows = search.run(potential, snapshot.order[potential.nodes].astype(np.intp), want)
        run = dry_run(question, [snapshot.list()[node] for node in around], want)
        assert told(by_rows) == told(tried_by_node(run, potential, NOW))


@cases(
    "module, limit, value",
    ("rows hold more pods than arrays do", row_pods, "MAX_PODS", 3),
    ("all numbers are given out anew each time", row_pods, "_SPARE_NUMBERS", -1_000_000),
    ("two statuses are too many to keep", row_search, "_MOST_STATUSES", 1),
    ("only the last search is cached", row_search, "_MAX_OUTCOMES", 1),
    ("only the last set of resources is kept", resources, "_MAX_LINES", 1),
)
def test_rows_and_nodes_agree_whatever_the_limits(
    module: ModuleType, limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, value)
    for seed in range(100, 105):
        test_rows_and_nodes_agree_when_pods_come_and_go(seed)


@cases(
    "pod",
    ("it wants a port of the node", make_pod().host_port(80)),
    ("it is spread", make_pod().label(app="x").spread("kubernetes.io/hostname", {"app": "x"})),
    (
        "it keeps away from pods",
        make_pod().label(app="x").pod_affinity("kubernetes.io/hostname", {"app": "x"}, anti=True),
    ),
)
def test_nodes_are_tried_one_by_one_when(pod: PodBuilder) -> None:
    world = World(1)
    question = world.ask(pod.priority(20).build(), {})
    table = world.engine.snapshot.table
    assert RowSearches().begin(question, world.framework, table, world.budget_rows, equivalent=True) is None


def test_nodes_are_tried_one_by_one_when_a_pod_on_them_keeps_away_from_the_pod() -> None:
    world = World(1)
    hostile = make_pod("hostile").pod_affinity("kubernetes.io/hostname", {"app": "x"}, anti=True).on("n0")
    world.engine.cache.add_pod(hostile.build())
    world.engine.snapshot.update_snapshot(world.engine.cache)
    question = world.ask(make_pod().label(app="x").priority(20).build(), {})
    table = world.engine.snapshot.table
    assert RowSearches().begin(question, world.framework, table, world.budget_rows, equivalent=True) is None
