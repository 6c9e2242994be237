"""Requests of a pod, lowered to the largest value with which it still fits on a node.

Steps: 1m of cpu, 1Mi of memory and storage, 1 of all else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from msgspec.structs import replace as changed

from scheduler_core.api.pod import Pod, ResourceRequirements
from scheduler_core.api.quantity import BINARY_SI, Quantity
from scheduler_core.api.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    amount,
    has_pod_level_requests,
    is_extended,
    is_hugepages,
    is_pod_level,
)
from scheduler_core.explain.fits.changes import Change, Edit, Kind, World
from scheduler_core.explain.fits.tries import Tries
from scheduler_core.plugins.fit_hints import pod_request

_STEPS: Final = {CPU: 1, MEMORY: 1 << 20, EPHEMERAL_STORAGE: 1 << 20}
_STEP_TEXTS: Final = {CPU: "1m", MEMORY: "1Mi", EPHEMERAL_STORAGE: "1Mi"}


@dataclass(frozen=True, slots=True)
class Request:
    """A request that can be lowered: of one container, or of the pod where `containers` is empty."""

    resource: str
    asked: int  # in the integers of the engine
    text: str
    containers: str = ""  # field of the spec
    index: int = 0

    @property
    def path(self) -> str:
        words = {"containers": "containers", "init_containers": "initContainers"}
        where = f"{words[self.containers]}[{self.index}]." if self.containers else ""
        return f"spec.{where}resources.requests.{self.resource}"

    @property
    def step(self) -> int:
        return _STEPS.get(self.resource, 1)

    def quantity(self, value: int) -> Quantity:
        """The value as it is written."""
        if self.resource == CPU:
            return Quantity.of_milli(value)
        return Quantity.of(value, BINARY_SI) if self.step > 1 else Quantity.of(value)

    def to(self, value: int) -> Edit:
        """The request at another value, 0 for none; of what others offer the limit with it, as these are equal."""

        def edit(world: World) -> World:
            spec = world.pod.spec
            if not self.containers:
                return world.with_spec(resources=self._lowered(spec.resources or ResourceRequirements(), value))
            listed = list(getattr(spec, self.containers))
            listed[self.index] = changed(
                listed[self.index], resources=self._lowered(listed[self.index].resources, value)
            )
            return world.with_spec(**{self.containers: tuple(listed)})

        return edit

    def _lowered(self, given: ResourceRequirements, value: int) -> ResourceRequirements:
        quantity = self.quantity(value)
        requests = {**(given.requests or {}), self.resource: quantity}
        limits = given.limits
        if limits is not None and self.resource in limits and is_extended(self.resource):
            limits = {**limits, self.resource: quantity}
        return changed(given, requests=requests, limits=limits)


def request_edits(pod: Pod) -> Iterator[Request]:
    """Requests above 0 that count; huge pages, which come in pages, are left out."""
    spec = pod.spec
    of_pod = (spec.resources.requests or {}) if spec.resources is not None and has_pod_level_requests(spec) else {}
    for name, quantity in of_pod.items():
        if is_pod_level(name) and amount(name, quantity) and not is_hugepages(name):
            yield Request(name, amount(name, quantity), str(quantity))
    for field in ("containers", "init_containers"):
        for index, container in enumerate(getattr(spec, field) or ()):
            for name, quantity in (container.resources.requests or {}).items():
                if amount(name, quantity) and not is_hugepages(name) and not (name in of_pod and is_pod_level(name)):
                    yield Request(name, amount(name, quantity), str(quantity), field, index)


def lowered(tries: Tries, world: World, request: Request) -> Change | None:
    """The largest value, in steps, with which the pod fits on a node; None where none below it does."""
    nodes = tries.feasible(request.to(0)(world))
    if not nodes:
        return None
    most = max(info.allocatable.amount_of(request.resource) - info.requested.amount_of(request.resource)
               for info in nodes)  # fmt: skip
    value = _largest(request, world, most)
    if value is None or not tries.placed(request.to(value)(world)):  # nominated pods count as well
        value = _by_tries(tries, world, request)
    share = Fraction(request.asked - value, request.asked)
    step = _STEP_TEXTS.get(request.resource, "1")
    return Change(
        Kind.REQUEST,
        request.path,
        request.text,
        str(request.quantity(value)),
        request.to(value),
        step=step,
        share=share,
    )


def _steps_below(request: Request) -> int:
    """The most steps that are less than what is asked."""
    return (request.asked - 1) // request.step


def _largest(request: Request, world: World, most: int) -> int | None:
    """The largest value with which the pod as a whole asks for no more than this."""

    def total(steps: int) -> int:
        return pod_request(request.to(steps * request.step)(world).pod).amount_of(request.resource)

    low, high = 0, _steps_below(request)
    if total(low) > most:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if total(middle) <= most else (low, middle - 1)
    return low * request.step


def _by_tries(tries: Tries, world: World, request: Request) -> int:
    low, high = 0, _steps_below(request)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tries.feasible(request.to(middle * request.step)(world)) else (low, middle - 1)
    return low * request.step
