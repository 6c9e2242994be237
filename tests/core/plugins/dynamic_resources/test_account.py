"""An attempt says which devices it decided on, or what became of all: each is counted once for each request."""

from __future__ import annotations

import pytest

from scheduler_core.model.effects import AllocatedDevice, Attempt, DeviceTally, SelectorRefusal
from scheduler_core.plugins.dynamic_resources import account
from tests.core.plugins.dynamic_resources.devices import (
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    resource_slice,
    settle,
    world,
)

OSPREYS = 'device.attributes["gpu.example.com"].model == "osprey"'
LARGE = 'device.attributes["gpu.example.com"].size >= 40'
CLASS = device_class("gpu", 'device.driver == "gpu.example.com"', OSPREYS)


def card(name: str, model: str, size: int) -> dict[str, object]:
    return device(name, model=model, size=size)


def attempts_of(*objects: dict[str, object]) -> list[Attempt]:
    return [attempt for effects in settle(world(*objects)) for attempt in effects.attempts]


def test_attempt_that_succeeds_names_the_devices() -> None:
    cards = resource_slice("n1", card("d0", "heron", 80), card("d1", "osprey", 40))
    (attempt,) = attempts_of(node("n1"), CLASS, cards, claim("c"), pod("p", "c"))
    assert attempt.devices is not None
    assert attempt.devices.allocated == (AllocatedDevice("default/c", "r", "gpu.example.com", "n1", "d1"),)
    assert attempt.devices.tallies == ()


def test_attempt_that_fails_says_what_became_of_all_devices() -> None:
    small = resource_slice("n1", card("d0", "heron", 80), card("d1", "osprey", 16), card("d2", "osprey", 40))
    large = resource_slice("n2", card("d0", "osprey", 80), card("d1", "osprey", 24))
    taken = claim("a", request(selectors=(LARGE,)))
    two = claim("b", request(selectors=(LARGE,), count=2))
    first, second = attempts_of(node("n1"), node("n2"), CLASS, small, large, taken, two, pod("p", "a"), pod("q", "b"))
    assert first.result == "scheduled"
    assert second.devices is not None
    assert (second.devices.refusing_nodes, second.devices.counted_nodes) == (2, 2)
    assert second.devices.tallies == (
        DeviceTally(
            claim="default/b",
            request="r",
            wanted=2,
            devices=5,
            refused=(
                SelectorRefusal("class gpu", 0, 0),
                SelectorRefusal("class gpu", 1, 1),
                SelectorRefusal("request", 0, 2),
            ),
            in_use=1,
            left=1,
        ),
    )


def test_every_device_is_counted_once() -> None:
    # Some are alike, and of these one is in use.
    cards = [card(f"d{number}", ("osprey", "heron")[number % 2], 10 * (number // 4)) for number in range(9)]
    *_, last = attempts_of(
        node("n1"), CLASS, resource_slice("n1", *cards), claim("a"),
        claim("b", request(count=9), request("s", allocationMode="All", selectors=(LARGE,))), pod("p", "a"),
        pod("q", "b"),
    )  # fmt: skip
    assert last.devices is not None
    assert [tally.wanted for tally in last.devices.tallies] == [9, 0]
    for tally in last.devices.tallies:
        assert sum(each.devices for each in tally.refused) + tally.in_use + tally.left == tally.devices == 9


def test_devices_in_use_are_there_for_admin_access() -> None:
    cards = [card(f"d{number}", "osprey", 80) for number in range(2)]
    watching = claim("b", request(count=3, adminAccess=True))
    objects = (node("n1"), CLASS, resource_slice("n1", *cards), claim("a"), watching, pod("p", "a"), pod("q", "b"))
    *_, last = attempts_of(*objects)
    assert last.devices is not None
    assert [(tally.in_use, tally.left) for tally in last.devices.tallies] == [(0, 2)]


def test_nodes_beyond_the_first_are_told_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "MOST_COUNTED", 2)
    nodes = [node(f"n{number}") for number in range(5)]
    slices = [resource_slice(f"n{number}", card("d0", "heron", 8)) for number in range(5)]
    (attempt,) = attempts_of(*nodes, CLASS, *slices, claim("c"), pod("p", "c"))
    assert attempt.devices is not None
    assert (attempt.devices.refusing_nodes, attempt.devices.counted_nodes) == (5, 2)
    assert [tally.devices for tally in attempt.devices.tallies] == [2]


def test_nothing_is_said_where_other_plugins_refuse_or_nothing_is_to_be_allocated() -> None:
    cards = resource_slice("n1", card("d0", "osprey", 8))
    big = pod("p", "c")
    big["spec"]["containers"] = [{"name": "c", "resources": {"requests": {"cpu": "64"}}}]
    (attempt,) = attempts_of(node("n1"), CLASS, cards, claim("c"), big)
    assert attempt.devices is None
    (attempt,) = attempts_of(node("n1"), CLASS, cards, pod("p"))
    assert attempt.devices is None
