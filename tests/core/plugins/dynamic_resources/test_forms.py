"""Kept answers against one node after the other: the same decisions while devices come, go and are taken.

Pods that differ only in their claims share what is kept for equivalent pods, rows what is kept for claims that ask for
the same, and nodes with like devices one search.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from scheduler_core.apiserver.requests import Delete, ObjectKey
from scheduler_core.build import build
from scheduler_core.model.effects import Attempt
from scheduler_core.ports import FirstDraws
from scheduler_core.sim.world import World
from tests.core.plugins.dynamic_resources.devices import (
    NOW,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    resource_slice,
    settle,
)
from tests.examples import seeds

NODES = [f"n{number}" for number in range(6)]


def story(seed: int) -> list[list[Any]]:
    """Manifests to load, or requests, in the order in which they come."""
    rng = random.Random(seed)
    wants_b = 'device.attributes["gpu.example.com"].model == "b"'
    # Some devices have no model: a selector that reads it fails there.
    begin: list[Any] = [device_class("gpu"), device_class("b", wants_b), *(node(name, zone="z") for name in NODES)]
    begin += [_slice(rng, name) for name in NODES]
    if rng.random() < 0.5:
        begin.append(resource_slice("net", device("d0", model="b"), device("d1", model="a"), allNodes=True))
    steps = [begin]
    for number in range(rng.randint(8, 14)):
        wanted = [
            request(f"r{each}", deviceClassName=rng.choice(("gpu", "gpu", "b"))) for each in range(rng.randint(1, 2))
        ]
        if rng.random() < 0.2:
            wanted[0]["exactly"] = {"deviceClassName": "gpu", "allocationMode": "All"}
        shared = f"c{rng.randint(0, number)}" if rng.random() < 0.2 else f"c{number}"
        made: list[Any] = [claim(f"c{number}", *wanted)]
        steps.append([*made, pod(f"p{number}", f"c{number}", *({shared} - {f"c{number}"}))])
        if rng.random() < 0.3:
            gone = f"{rng.randint(0, number)}"
            steps.append([Delete(ObjectKey("Pod", "default", f"p{gone}"), 0)])
        if rng.random() < 0.3:
            steps.append([_slice(rng, rng.choice(NODES))])
    return steps


def _slice(rng: random.Random, name: str) -> Any:
    devices = [device(f"d{number}", model=rng.choice("ab")) for number in range(rng.randint(0, 3))]
    if rng.random() < 0.05:
        devices.append(device("d9"))
    return resource_slice(name, *devices)


def told(attempt: Attempt) -> tuple[Any, ...]:
    rows = attempt.filter_rows
    names = attempt.node_order.names if attempt.node_order is not None else ()
    walked = (
        []
        if rows is None
        else [
            (names[row], rows.statuses[code - 1].reasons if code else ())
            for row, code in zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True)
        ]
    )
    return attempt.pod_key, attempt.attempt, attempt.result, attempt.node_name, attempt.message, walked


def run(seed: int, *, use_table: bool, reuse: bool) -> list[Any]:
    made = World(build(None, draws=FirstDraws(), use_table=use_table, reuse=reuse), now=NOW, evict_gracefully=False)
    seen: list[Any] = []
    for step in story(seed):
        for each in step:
            if isinstance(each, Delete):
                made.request(each)
            else:
                made.load([each])
        for effects in settle(made):
            seen += map(told, effects.attempts)
        made.run_until(made.now + 20_000_000)
    held = [made.store.get(ObjectKey("ResourceClaim", "default", f"c{number}")) for number in range(14)]
    return [*seen, [each and each.get("status") for each in held]]


@pytest.mark.parametrize("group", seeds(2, 4))
def test_both_forms_decide_the_same(group: int) -> None:
    results: set[str] = set()
    for seed in range(group * 10, group * 10 + 10):
        seen = run(seed, use_table=True, reuse=True)
        assert seen == run(seed, use_table=False, reuse=False), seed
        assert seen == run(seed, use_table=True, reuse=False), seed
        results |= {each[2] for each in seen[:-1]}
    assert {"scheduled", "unschedulable"} <= results
