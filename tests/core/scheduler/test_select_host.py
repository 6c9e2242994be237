"""Equal nodes are chosen alike often, and always the same with the same key."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.ports import FirstDraws, SeededDraws
from scheduler_core.scheduler.select_host import select_host

RUNS = 10_000


def test_highest_total_wins() -> None:
    position, tied = select_host(np.array([3, 9, 4]), SeededDraws(1), pod_key="a/b", attempt=1)
    assert (position, tied.tolist()) == (1, [1])


def test_first_draws_take_the_first_of_the_best() -> None:
    position, tied = select_host(np.array([3, 9, 4, 9]), FirstDraws(), pod_key="a/b", attempt=1)
    assert (position, tied.tolist()) == (1, [1, 3])


@pytest.mark.parametrize("ties", [2, 3, 7])
def test_equal_nodes_are_chosen_uniformly(ties: int) -> None:
    totals = np.array([1] + [5] * ties + [2])
    draws = SeededDraws(42)
    chosen = [select_host(totals, draws, pod_key=f"ns/pod-{i}", attempt=1)[0] for i in range(RUNS)]
    expected = RUNS / ties
    sigma = (RUNS * (1 / ties) * (1 - 1 / ties)) ** 0.5
    for position in range(1, ties + 1):
        assert abs(chosen.count(position) - expected) < 3 * sigma


def test_choice_depends_on_seed_pod_and_attempt_alone() -> None:
    totals = np.ones(1000, dtype=np.int64)

    def choose(seed: int, pod: str, attempt: int) -> int:
        return select_host(totals, SeededDraws(seed), pod_key=pod, attempt=attempt)[0]

    assert choose(1, "a/b", 1) == choose(1, "a/b", 1)
    assert len({choose(1, "a/b", 1), choose(2, "a/b", 1), choose(1, "a/c", 1), choose(1, "a/b", 2)}) == 4
