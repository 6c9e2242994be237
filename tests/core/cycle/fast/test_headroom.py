"""Nominated pods as a question of room: over rows at once the same is said as node by node."""

from __future__ import annotations

import random

import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.model.changes import Change, ObjectPut
from scheduler_core.model.effects import Attempt
from scheduler_core.ports import SeededDraws
from scheduler_core.scheduler.scheduler import Budget
from scheduler_core.trace.diff import first_divergence
from tests.builders import PodBuilder, make_node, make_pod
from tests.examples import seeds

NOW_US = 1_900_000_000_000_000


def _pod(rng: random.Random, name: str) -> PodBuilder:
    pod = make_pod(name).req(cpu=rng.choice(["500m", "1", "3"])).priority(rng.choice([0, 5, 10]))
    if rng.random() < 0.3:
        pod.req({"example.com/gpu": rng.choice(["1", "2"])})
    if rng.random() < 0.2:
        pod.toleration("dedicated", operator="Exists")
    return pod


def _cluster(seed: int) -> tuple[list[Change], Pod]:
    rng = random.Random(seed)
    nodes = []
    for number in range(rng.randint(2, 9)):
        node = make_node(f"n{number}").capacity(cpu=rng.choice("48"), pods=rng.choice("26"))
        if rng.random() < 0.5:
            node.capacity({"example.com/gpu": "2"})
        if rng.random() < 0.2:
            node.taint("dedicated")
        nodes.append(node.build())
    names = [node.name for node in nodes]
    bound = [_pod(rng, f"b{number}").on(rng.choice(names)).build() for number in range(rng.randint(0, 8))]
    waiting = [
        _pod(rng, f"w{number}").nominated(rng.choice([*names, "gone"])).build() for number in range(rng.randint(1, 8))
    ]
    incoming = _pod(rng, "incoming")
    if rng.random() < 0.2:
        incoming.host_port(80)  # then each node is asked
    return [ObjectPut(each) for each in (*nodes, *bound, *waiting)], incoming.build()


def _attempt(changes: list[Change], pod: Pod, *, use_table: bool) -> Attempt:
    scheduler = build(draws=SeededDraws(1), use_table=use_table)
    scheduler.step(NOW_US, changes, Budget(max_cycles=0))
    scheduler.step(NOW_US + 1, [ObjectPut(pod)], Budget(max_cycles=0))
    return scheduler.schedule_pod_now(pod.key, NOW_US + 2).attempts[0]


@pytest.mark.parametrize("group", seeds(2, 4))
def test_nominated_pods_count_alike_in_both_forms(group: int) -> None:
    refused_for_them = 0
    for seed in range(group * 30, group * 30 + 30):
        changes, pod = _cluster(seed)
        by_rows = _attempt(changes, pod, use_table=True)
        by_node = _attempt(changes, pod, use_table=False)
        assert first_divergence(by_rows, by_node) is None, seed
        alone = _attempt([each for each in changes if not _name(each).startswith("w")], pod, use_table=True)
        refused_for_them += _num_feasible(alone) > _num_feasible(by_rows)
    assert refused_for_them >= 3, "no nominated pod ever counted"


def _num_feasible(attempt: Attempt) -> int:
    return 0 if attempt.feasible is None else len(attempt.feasible)


def _name(change: Change) -> str:
    return change.obj.name if isinstance(change, ObjectPut) else ""
