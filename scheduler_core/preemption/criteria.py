"""Which candidate is the best: one criterion after the other, the smallest value each, until one node is left.

Values are worked out per candidate or for all at once; they are compared in one place, `best_of`.
Source: kubernetes v1.34.1, pkg/scheduler/framework/preemption/preemption.go (pickOneNodeForPreemption).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.api.derived import start_time_us
from scheduler_core.api.pod import Pod
from scheduler_core.preemption.row_pods import NOBODY, NOT_STARTED
from scheduler_core.table.growth import BoolArray, Int64Array

# Added to each victim's priority, so that no term of the sum is negative and fewer victims make a smaller sum.
PRIORITY_OFFSET = 2**31


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node, and the pods that would have to go (most important first)."""

    node_name: str
    victims: tuple[Pod, ...]
    num_pdb_violations: int


Criterion = Callable[[Candidate, int], int]


def pdb_violations(candidate: Candidate, now: int) -> int:
    return candidate.num_pdb_violations


def highest_priority(candidate: Candidate, now: int) -> int:
    """The priority of the most important victim."""
    return candidate.victims[0].priority


def sum_of_priorities(candidate: Candidate, now: int) -> int:
    return sum(pod.priority + PRIORITY_OFFSET for pod in candidate.victims)


def number_of_victims(candidate: Candidate, now: int) -> int:
    return len(candidate.victims)


def latest_start(candidate: Candidate, now: int) -> int:
    """Of the victims with the highest priority the first to have started; the later that was, the better."""
    highest = max(pod.priority for pod in candidate.victims)
    return -min(start_time_us(pod, now) for pod in candidate.victims if pod.priority == highest)


CRITERIA: tuple[Criterion, ...] = (
    pdb_violations,
    highest_priority,
    sum_of_priorities,
    number_of_victims,
    latest_start,
)
NAMES = tuple(criterion.__name__ for criterion in CRITERIA)


def values_of(candidates: Sequence[Candidate], now: int) -> Int64Array:
    """The values of all criteria, shape (n_criteria, n_candidates)."""
    values = [[criterion(candidate, now) for candidate in candidates] for criterion in CRITERIA]
    return np.array(values, dtype=np.int64).reshape(len(CRITERIA), len(candidates))


def values_of_rows(
    victims: BoolArray, violating: BoolArray | None, priorities: Int64Array, starts: Int64Array
) -> Int64Array:
    """Like `values_of`, from arrays (rank, row) of pods by importance; who has not started counts with NOT_STARTED."""
    values = np.empty((len(CRITERIA), victims.shape[1]), dtype=np.int64)
    values[0] = 0 if violating is None else (victims & violating).sum(axis=0)
    values[1] = np.where(victims, priorities, -NOBODY).max(axis=0)
    values[2] = np.where(victims, priorities + PRIORITY_OFFSET, 0).sum(axis=0)
    values[3] = victims.sum(axis=0)
    values[4] = -np.where(victims & (priorities == values[1]), starts, NOT_STARTED).min(axis=0)
    return values


def started_by(values: Int64Array, now: int) -> Int64Array:
    """The values as of now, where some have not started."""
    latest = values[4]
    waiting = latest == -NOT_STARTED
    if waiting.any():
        latest[waiting] = -now
    return values


def best_of(values: Int64Array) -> tuple[npt.NDArray[np.integer[Any]], str]:
    """The places of the candidates no criterion tells apart, in their order: the first is taken.

    With them the name of the criterion that left a single one; empty where the first of equals is taken, or where
    there was one candidate only.
    """
    left = np.arange(values.shape[1])
    for name, all_values in zip(NAMES, values, strict=True):
        if len(left) < 2:
            break
        these = all_values[left]
        left = left[these == these.min()]
        if len(left) == 1:
            return left, name
    return left, ""


def best_candidates(candidates: Sequence[Candidate], now: int) -> list[Candidate]:
    """The candidates no criterion tells apart, in the order given; the first is taken."""
    places, _ = best_of(values_of(candidates, now))
    return [candidates[place] for place in places.tolist()]
