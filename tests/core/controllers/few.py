"""A cluster in memory in which only some controllers act, and act at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.requests import Create, ObjectKey, Request
from scheduler_core.build import build
from scheduler_core.controllers.controller import Controller
from scheduler_core.model.effects import Effects
from scheduler_core.ports import SeededDraws
from scheduler_core.sim.world import World
from tests.builders import written
from tests.core.controllers.simulation import SECOND, START, Manifest


class Few:
    """The scheduler, some controllers and what is stored; `settle` lets time pass."""

    def __init__(
        self,
        *controllers: Controller,
        gates: Mapping[str, bool] | None = None,
        watch: Callable[[Effects], None] = lambda effects: None,
    ) -> None:
        scheduler = build(draws=SeededDraws(1), feature_gates=gates)
        self.world = World(scheduler, controllers, now=START, watch=watch)
        self.create(written("Namespace", "default"))

    def create(self, *given: Manifest) -> None:
        self.request(*map(Create, given))

    def request(self, *requests: Request) -> None:
        """Have requests carried out, which must not be refused, and what comes of them at once."""
        for answer in self.world.request(*requests):
            assert not isinstance(answer, Refused), answer.status.message
        self.settle()

    def settle(self, seconds: float = 0) -> None:
        self.world.run_until(self.world.now + round(seconds * SECOND))

    def get(self, kind: str, name: str) -> Manifest | None:
        return self.world.store.get(ObjectKey(kind, "default", name))

    def stored(self, kind: str, name: str) -> Manifest:
        found = self.get(kind, name)
        assert found is not None
        return found

    def claims(self) -> list[Manifest]:
        return [*self.world.store.list("ResourceClaim")]
