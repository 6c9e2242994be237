"""Recorded operations on the real queue, run on ours: every step of every scenario has to agree.

A tenth of each family in the ordinary run.
"""

from __future__ import annotations

import copy
import gzip
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from scheduler_core.conformance.queue import differing_steps, run_queue_scenario
from tests.golden.recordings import GOLDEN

FAMILIES = ("order", "backoff", "gates", "hints", "inflight", "flush", "nominator", "mixed", "edge", "hintsoff")

pytestmark = pytest.mark.skipif(not (GOLDEN / "queue").is_dir(), reason="no recorded queue at ../shared/golden/queue")


def lines(family: str, step: int = 1, first: int = 0) -> Iterator[dict[str, Any]]:
    with gzip.open(GOLDEN / "queue" / f"{family}.jsonl.gz") as stream:
        for number, line in enumerate(stream):
            if number % step == first:
                yield msgspec.json.decode(line)


def disagreements(family: str, step: int, first: int = 0) -> list[str]:
    found = []
    for line in lines(family, step, first):
        differences = differing_steps(line["result"]["steps"], run_queue_scenario(line["scenario"]))
        found += [f"{line['scenario']['name']}: {difference}" for difference in differences[:1]]
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_agrees_in_a_tenth_of_the_family(family: str) -> None:
    assert disagreements(family, 10) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_agrees(family: str) -> None:
    assert disagreements(family, 1) == []


def test_a_changed_record_is_noticed() -> None:
    line = next(lines("backoff"))
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
