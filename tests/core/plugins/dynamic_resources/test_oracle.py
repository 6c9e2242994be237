"""The allocator against one that tries everything: the same answer, and the first solution in the order of search.

The oracle writes down every choice there is, in order, and only then asks whether it is allowed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from scheduler_core.api import manifests
from scheduler_core.api.node import Node
from scheduler_core.api.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from scheduler_core.plugins.dynamic_resources.allocator import Allocator
from scheduler_core.plugins.dynamic_resources.pools import DeviceId, Pools
from scheduler_core.plugins.dynamic_resources.requests import AllocationError
from tests.core.plugins.dynamic_resources.devices import claim, device, device_class, node, resource_slice
from tests.core.plugins.dynamic_resources.devices import request as asking_for

DRIVERS = ("gpu.example.com", "nic.example.com")
MODELS = ("a", "b")


class Slot(NamedTuple):
    """One device of one request: where it stands, what it is called, what it wants."""

    claim: int
    name: str
    model: str
    is_admin: bool


class Case(NamedTuple):
    slices: list[Any]
    claims: list[Any]
    taken: frozenset[DeviceId]


MOST_CHOICES = 3_000  # that the oracle may have to look at


def random_case(seed: int) -> Case:
    rng = random.Random(seed)
    while True:
        case = _random_case(rng)
        if _num_choices(case) <= MOST_CHOICES:
            return case


def _num_choices(case: Case) -> int:
    total = len(everything(case))
    slots = 0
    for each in case.claims:
        for request in each["spec"]["devices"]["requests"]:
            asked = request.get("firstAvailable", [request.get("exactly")])
            slots += max(one.get("count", total) for one in asked)
    return int(total**slots)


def _random_case(rng: random.Random) -> Case:
    slices = []
    for driver in DRIVERS[: rng.randint(1, 2)]:
        for pool in rng.sample(("n1", "net"), rng.randint(1, 2)):
            where: dict[str, Any] = {"allNodes": True} if pool == "net" else {"nodeName": "n1"}
            devices = [
                device(f"d{number}", model=rng.choice(MODELS), root=rng.randint(0, 1))
                for number in range(rng.randint(1, 3))
            ]
            slices.append(resource_slice(f"{driver}-{pool}", *devices, pool=pool, driver=driver, **where))
    claims = [_random_claim(rng, f"c{number}") for number in range(rng.randint(1, 2))]
    everything = [_device_id(each, held) for each in slices for held in each["spec"]["devices"]]
    return Case(slices, claims, frozenset(rng.sample(everything, rng.randint(0, len(everything) // 2))))


def _random_claim(rng: random.Random, name: str) -> Any:
    requests: list[Any] = []
    for number in range(rng.randint(1, 2)):
        if rng.random() < 0.3:
            alternatives = [
                {"name": f"s{each}", **_wanted(rng, may_want_all=False)} for each in range(rng.randint(1, 2))
            ]
            requests.append({"name": f"r{number}", "firstAvailable": alternatives})
        else:
            wanted = _wanted(rng, may_want_all=True)
            if rng.random() < 0.2:
                wanted["adminAccess"] = True
            requests.append({"name": f"r{number}", "exactly": wanted})
    constraints: list[Any] = []
    if rng.random() < 0.5:
        constraint: dict[str, Any] = {"matchAttribute": f"{DRIVERS[0]}/{rng.choice(('model', 'root'))}"}
        if rng.random() < 0.5:
            constraint["requests"] = ["r0"]
        constraints.append(constraint)
    return claim(name, *requests, constraints=constraints)


def _wanted(rng: random.Random, *, may_want_all: bool) -> dict[str, Any]:
    asked: dict[str, Any] = {"deviceClassName": rng.choice(("any", *MODELS))}
    if may_want_all and rng.random() < 0.2:
        return asked | {"allocationMode": "All"}
    return asked | {"allocationMode": "ExactCount", "count": rng.randint(1, 2)}


CLASSES: dict[str, DeviceClass] = {
    name: manifests.decode(device_class(name, *expressions))  # type: ignore[misc]
    for name, expressions in {
        "any": (),
        **{model: (f'device.attributes[device.driver].model == "{model}"',) for model in MODELS},
    }.items()
}


# The oracle


def _device_id(held_in: Any, held: Any) -> DeviceId:
    return held_in["spec"]["driver"], held_in["spec"]["pool"]["name"], held["name"]


def everything(case: Case) -> list[tuple[DeviceId, Any]]:
    """Devices in the order of pools."""
    ordered = sorted(case.slices, key=lambda each: (each["spec"]["driver"], each["spec"]["pool"]["name"]))
    return [(_device_id(each, held), held) for each in ordered for held in each["spec"]["devices"]]


def choices(case: Case) -> Iterator[list[tuple[Slot, DeviceId]]]:
    """Every device for every slot of every alternative, in the order of search, allowed or not."""
    devices = everything(case)
    parts: list[tuple[int, Any]] = [
        (index, request) for index, each in enumerate(case.claims) for request in each["spec"]["devices"]["requests"]
    ]

    def slots(index: int, request: Any) -> Iterator[list[Slot]]:
        for asked in request.get("firstAvailable", [request.get("exactly")]):
            name = f"{request['name']}/{asked['name']}" if "name" in asked else request["name"]
            slot = Slot(index, name, asked["deviceClassName"], bool(asked.get("adminAccess")))
            if asked["allocationMode"] == "All":
                yield [slot] * sum(_fits(held, slot.model) for _, held in devices)
            else:
                yield [slot] * asked["count"]

    def after(place: int) -> Iterator[list[tuple[Slot, DeviceId]]]:
        if place == len(parts):
            yield []
            return
        for wanted in slots(*parts[place]):
            for given in _given(wanted, [each for each, _ in devices]):
                for rest in after(place + 1):
                    yield [*zip(wanted, given, strict=True), *rest]

    return after(0)


def _given(wanted: Sequence[Slot], devices: list[DeviceId]) -> Iterator[tuple[DeviceId, ...]]:
    if not wanted:
        yield ()
        return
    for first in devices:
        for rest in _given(wanted[1:], devices):
            yield (first, *rest)


def _fits(held: Any, model: str) -> bool:
    return model in ("any", held["attributes"]["model"]["string"])


def is_allowed(case: Case, chosen: list[tuple[Slot, DeviceId]]) -> bool:
    held = dict(everything(case))
    normal: set[DeviceId] = set(case.taken)
    used: dict[int, set[DeviceId]] = {}
    for slot, each in chosen:
        mine = used.setdefault(slot.claim, set())
        of_others = any(each in ids for ids in used.values())
        if not _fits(held[each], slot.model) or each in mine:
            return False
        if not slot.is_admin and (each in normal or of_others):
            return False
        mine.add(each)
    for index, each in enumerate(case.claims):
        for request in each["spec"]["devices"]["requests"]:
            is_all = request.get("exactly", {}).get("allocationMode") == "All"
            given = [one for slot, one in chosen if slot.claim == index and slot.name == request["name"]]
            if is_all and not given:
                return False
        for constraint in each["spec"]["devices"]["constraints"]:
            concerned = [
                one
                for slot, one in chosen
                if slot.claim == index and slot.name.partition("/")[0] in constraint.get("requests", ["r0", "r1"])
            ]
            domain, _, name = constraint["matchAttribute"].partition("/")
            values = [held[one]["attributes"][name] if one[0] == domain else None for one in concerned]
            if None in values or any(value != values[0] for value in values):
                return False
    return True


def first_allowed(case: Case) -> list[tuple[Slot, DeviceId]] | None:
    return next((chosen for chosen in choices(case) if is_allowed(case, chosen)), None)


# Both


def allocated(case: Case) -> list[tuple[int, str, DeviceId]] | None:
    slices: list[ResourceSlice] = [manifests.decode(each) for each in case.slices]  # type: ignore[misc]
    claims: list[ResourceClaim] = [manifests.decode(each) for each in case.claims]  # type: ignore[misc]
    here = manifests.decode(node("n1"))
    assert isinstance(here, Node)
    allocation = Allocator(claims, Pools.from_slices(slices).of(here), case.taken, CLASSES.get).allocate()
    if allocation is None:
        return None
    return [
        (index, f"{each.data.parent}/{each.data.name}" if each.data.parent else each.data.name, each.device.id)
        for index, chosen in enumerate(allocation.chosen)
        for each in chosen
    ]


@pytest.mark.parametrize("group", range(10))
def test_allocator_finds_what_trying_everything_finds_first(group: int) -> None:
    satisfied = 0
    for seed in range(group * 30, group * 30 + 30):
        case = random_case(seed)
        wants_all = any(
            request.get("exactly", {}).get("allocationMode") == "All"
            for each in case.claims
            for request in each["spec"]["devices"]["requests"]
        )
        wanted = first_allowed(case)
        try:
            got = allocated(case)
        except AllocationError as error:
            # All devices, and a constraint that does not let one of them in.
            assert wants_all and "claim constraint would not be satisfied" in str(error), seed
            assert wanted is None or _error_comes_first(case), seed
            continue
        want = None if wanted is None else [(slot.claim, slot.name, each) for slot, each in wanted]
        assert got == want, seed
        satisfied += got is not None
    assert 3 < satisfied < 30


def _error_comes_first(case: Case) -> bool:
    """Whether a choice that the constraint forbids comes before the first that is allowed."""
    return any(each["spec"]["devices"]["constraints"] for each in case.claims)


def test_device_that_is_given_back_goes_to_the_request_that_needs_it() -> None:
    any_device, model_a = asking_for("r0", deviceClassName="any"), asking_for("r1", deviceClassName="a")
    devices = (device("d0", model="a"), device("d1", model="b"))
    case = Case([resource_slice("n1", *devices)], [claim("c", any_device, model_a, constraints=[])], frozenset())
    got = allocated(case)
    assert got is not None and [each[2] for _, _, each in got] == ["d1", "d0"]
