"""An index that has followed a history equals one of what is there, and sharing it changes nothing for controllers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.requests import Request
from scheduler_core.apiserver.server import Answer
from scheduler_core.controllers.controller import ClusterOptions, Controller, tell
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from tests.builders import make_pod
from tests.property.eventful_days import EventfulDay

NODES, NAMESPACES, OWNERS = ("", "a", "b", "c"), ("x", "y"), ("", "r", "s")
EVENTS = 12


def content(index: PodIndex) -> dict[str, Any]:
    """All groups of an index, without the order in them."""
    groups: dict[str, Any] = {}
    for name in ("_objects", "_controlled", "_by_node"):
        found: dict[str, dict[str, Pod]] = getattr(index, name)
        assert all(found.values()), f"{name} has empty groups"
        groups[name] = {key: {pod.uid: pod for pod in pods.values()} for key, pods in found.items()}
    return groups


def fresh(pods: Sequence[Pod]) -> PodIndex:
    """An index that is told only what is there."""
    index = PodIndex()
    index.follow([ObjectPut(pod) for pod in pods])
    return index


def random_pod(draws: Random, namespace: str, name: str) -> Pod:
    pod = make_pod(name, namespace=namespace, uid=f"{namespace}-{name}-{draws.randrange(2)}").on(draws.choice(NODES))
    owner = draws.choice(OWNERS)
    if owner:
        pod = pod.owner("ReplicaSet", owner, uid=owner, controller=draws.random() < 0.8)
    return pod.phase(draws.choice(["Pending", "Running"])).build()


@pytest.mark.parametrize("seed", range(30))
def test_index_equals_one_of_what_is_there(seed: int) -> None:
    draws, index, there = Random(seed), PodIndex(), dict[tuple[str, str], Pod]()
    for _ in range(40):
        changes: list[Change] = []
        before = dict(there)
        for _ in range(draws.randint(0, 6)):
            place = draws.choice(NAMESPACES), draws.choice("pqrst")
            known = there.get(place)
            if draws.random() < 0.7:
                there[place] = random_pod(draws, *place)
                changes.append(ObjectPut(there[place]))
            else:
                uid = draws.choice(["", "another", known.uid if known is not None else ""])
                changes.append(ObjectDeleted("Pod", *place, uid))
                if known is not None and uid in ("", known.uid):
                    del there[place]
        for update in index.follow(changes):
            assert not isinstance(update, ObjectPut | ObjectDeleted)
            place = update.obj.namespace, update.obj.name
            assert before.pop(place, None) is update.old
            if not update.is_gone:
                before[place] = update.obj
        assert before == there
        assert content(index) == content(fresh([*there.values()]))


class Twins:
    """A controller that shares its index with others, and the same one with an index of its own: both ask the same."""

    def __init__(self, shared: Controller, options: ClusterOptions) -> None:
        self.name, self.actor, self.group = shared.name, shared.actor, shared.group
        self.shared = shared
        self._own: Controller = type(shared)(options)  # type: ignore[call-arg]

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        requests = self.shared.step(now, changes)
        assert self._own.step(now, changes) == requests, self.name
        return requests

    def answered(self, now: int, requests: Sequence[Request], answers: Sequence[Answer]) -> None:
        for each in (self.shared, self._own):
            tell(each, now, requests, answers)

    def next_due(self) -> int | None:
        due = self.shared.next_due()
        assert self._own.next_due() == due, self.name
        return due


class SharingDay(EventfulDay):
    """An eventful day of twins."""

    def _controllers(self) -> list[Any]:
        *controllers, observer = super()._controllers()
        return [*(Twins(each, self._options) for each in controllers), observer]

    def check_index(self) -> None:
        """Hold the shared index against all that is stored."""
        readers = [each.shared for each in self.world.controllers if isinstance(each, Twins)]
        (index,) = {id(one.pods): one.pods for one in readers if isinstance(one, PodReader)}.values()
        self.run(0)
        assert content(index) == content(fresh(self.typed_pods()))


@pytest.mark.parametrize("seed", range(4))
def test_controllers_ask_the_same_whether_they_share_an_index_or_not(seed: int) -> None:
    day = SharingDay(seed)
    for _ in range(EVENTS):
        day.happen()
        day.check_index()
