"""Recorded operations on the real queue, run on ours: every step of every scenario has to agree.

A tenth of each family in the ordinary run, and all of the few that are part of the project.
"""

from __future__ import annotations

import copy
from itertools import islice

import pytest

from tests.golden.recordings import queue_recordings
from tests.recordings import operations
from tools.conformance.queue import differing_steps, run_queue_scenario

FAMILIES = ("order", "backoff", "gates", "hints", "inflight", "flush", "nominator", "mixed", "edge", "hintsoff")


def disagreements(family: str, step: int, first: int = 0) -> list[str]:
    found = []
    for line in islice(queue_recordings(family), first, None, step):
        differences = differing_steps(line["result"]["steps"], run_queue_scenario(line["scenario"]))
        found += [f"{line['scenario']['name']}: {difference}" for difference in differences[:1]]
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_agrees_in_a_tenth_of_the_family(family: str) -> None:
    assert disagreements(family, 10) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_of_our_own_agrees(family: str) -> None:
    for line in islice(queue_recordings(family), operations.SCENARIOS):
        assert differing_steps(line["result"]["steps"], run_queue_scenario(line["scenario"])) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_agrees(family: str) -> None:
    assert disagreements(family, 1) == []


def test_a_changed_record_is_noticed() -> None:
    line = next(queue_recordings("backoff"))
    got = run_queue_scenario(line["scenario"])
    flips = 0
    for number, step in enumerate(line["result"]["steps"]):
        for field in step:
            if field == "op":
                continue
            changed = copy.deepcopy(line["result"]["steps"])
            changed[number][field] = "something else"
            assert [difference.step for difference in differing_steps(changed, got)] == [number]
            flips += 1
    assert flips > 50
