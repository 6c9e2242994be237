"""Which pods get an equivalence class: the first of its kind while such pods recur, else the second."""

from __future__ import annotations

from scheduler_core import build, config
from scheduler_core.cycle.fast.equivalence import EquivalenceClasses
from scheduler_core.cycle.fast.limits import Limits
from scheduler_core.model.changes import ObjectPut
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_node, make_pod


def num_classes_after(kinds: str, limits: Limits) -> list[int]:
    """One pod of each kind in turn; how many classes there are after each."""
    scheduler = build.build(config.load(None), draws=FirstDraws(), limits=limits)
    nodes = [make_node(f"n{i}").capacity(cpu="64", memory="64Gi", pods="100").build() for i in range(3)]
    scheduler.step(0, [ObjectPut(node) for node in nodes], Budget(max_cycles=0))
    (classes,) = scheduler.engine.runners.values()
    assert isinstance(classes, EquivalenceClasses)
    found = []
    for turn, kind in enumerate(kinds, start=1):
        pod = make_pod(f"p{turn}").label(kind=kind).req(cpu="1").build()
        scheduler.step(turn, [ObjectPut(pod)], Budget(max_cycles=10))
        found.append(len(classes))
    return found


def test_first_pod_gets_a_class_until_too_many_wait_for_a_second() -> None:
    assert num_classes_after("abcdd", Limits(max_unused=2)) == [1, 2, 2, 2, 3]


def test_kinds_that_recur_make_room_for_first_pods_again() -> None:
    assert num_classes_after("ababcde", Limits(max_unused=2)) == [1, 2, 2, 2, 3, 4, 4]
