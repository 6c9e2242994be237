"""What the allocator says of nodes is found once for those that are alike, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_core.plugins.dynamic_resources.allocator import Allocation, Allocator
from scheduler_core.sim.world import World
from tests.cases import cases
from tests.core.plugins.dynamic_resources.devices import (
    claim,
    device,
    device_class,
    node,
    pod,
    resource_slice,
    settle,
    world,
)

NODES = [f"n{number:02d}" for number in range(40)]


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Allocator]]:
    """All searches so far."""
    begun: list[Allocator] = []
    allocate = Allocator.allocate

    def counted(self: Allocator) -> Allocation | None:
        begun.append(self)
        return allocate(self)

    monkeypatch.setattr(Allocator, "allocate", counted)
    yield begun


def cluster(*slices: Any) -> World:
    wants_a = 'device.attributes["gpu.example.com"].model == "a"'
    return world(device_class("gpu", wants_a), *(node(name) for name in NODES), *slices)


def nodes_of(made: World, *names: str) -> list[str]:
    stored = {each["metadata"]["name"]: each for each in made.store.list("Pod")}
    return [stored[name]["spec"].get("nodeName", "") for name in names]


def test_nodes_with_like_devices_are_searched_once(searches: list[Allocator]) -> None:
    made = cluster(*(resource_slice(name, device("x", model="b"), device(f"gpu-{name}", model="a")) for name in NODES))
    made.load([claim("c0"), pod("p0", "c0")])
    settle(made)
    assert nodes_of(made, "p0") != [""]
    assert len(searches) == 2  # one for all nodes, and one for the node that was chosen


def test_pods_whose_claims_ask_for_the_same_share_the_answers(searches: list[Allocator]) -> None:
    made = cluster(*(resource_slice(name, device("gpu", model="a")) for name in NODES))
    made.load([each for number in range(10) for each in (claim(f"c{number}"), pod(f"p{number}", f"c{number}"))])
    settle(made)
    chosen = nodes_of(made, *(f"p{number}" for number in range(10)))
    assert len(set(chosen)) == 10 and "" not in chosen
    # Of nodes with the device, of nodes whose device is taken, and of each node that was chosen.
    assert len(searches) == 12


@cases(
    "ours, theirs",
    ("attributes", [device("d", model="a")], [device("d", model="b")]),
    ("number", [device("d", model="a")], []),
)
def test_nodes_that_differ_are_told_apart(ours: list[Any], theirs: list[Any]) -> None:
    made = cluster(*(resource_slice(name, *(ours if name == "n31" else theirs)) for name in NODES))
    made.load([claim("c0"), pod("p0", "c0"), claim("c1"), pod("p1", "c1")])
    settle(made)
    assert nodes_of(made, "p0", "p1") == ["n31", ""]


def test_invalid_pool_is_an_error_whatever_is_known_of_like_ones() -> None:
    made = cluster(
        resource_slice("n00", device("x", model="a"), device("y", model="a")),
        resource_slice("n01", device("x", model="a"), device("x", model="a")),
    )
    made.load([claim("c0"), pod("p0", "c0")])
    attempt = settle(made)[0].attempts[0]
    assert (attempt.result, attempt.message.partition(": ")[2]) == (
        "error",
        "pool n01 is invalid: duplicate device name x",
    )


def test_nodes_are_told_apart_by_what_is_taken() -> None:
    made = cluster(*(resource_slice(name, device("x", model="b"), device("y", model="a")) for name in NODES[:2]))
    results: list[str] = []
    for number in range(3):
        made.load([claim(f"c{number}"), pod(f"p{number}", f"c{number}")])
        results += [attempt.result for effects in settle(made) for attempt in effects.attempts]
    assert nodes_of(made, "p0", "p1", "p2") == ["n00", "n01", ""]
    assert results == ["scheduled", "scheduled", "unschedulable"]
