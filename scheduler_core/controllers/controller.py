"""The protocol of controllers: state machines that follow a cluster's changes and make requests of its API server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from scheduler_core.apiserver.requests import Request
from scheduler_core.apiserver.server import Answer
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Facts about the cluster that controllers are made from; times in microseconds."""

    start_delay_us: int = 1_000_000  # from being bound to Running, for pods that do not say
    seed: int = 0
    started_at: int = 0
    ended_pods: int = 12_500  # how many Succeeded and Failed pods are kept
    ended_pods_us: int | None = None  # how long; None for ever


class Controller(Protocol):
    """One controller of one cluster, made from its ClusterOptions.

    Requests are assumed to be carried out; a host that fails to do so makes a new controller and tells it every stored
    object. A request must do no harm when repeated, or when its object has changed or gone since: name the uid.
    """

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str:
        """What it is switched off with when somebody else does its work; one of `registry.GROUPS`."""
        ...

    @property
    def actor(self) -> str:
        """The author of its writes in the change log; several controllers may share one."""
        ...

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what follows from them and what is due at `now` (microseconds).

        All controllers of a host are given the same sequence in a step, which nobody changes.
        """
        ...

    def next_due(self) -> int | None:
        """Return when something is due without any change; None when only a change brings more work."""
        ...


class ReadsAnswers(Protocol):
    """A controller that is told what became of its requests: what was created is known at once, what was refused why.

    Its host calls `answered` after each step that asked for something, once that is carried out, and before it asks
    `next_due`.
    """

    def answered(self, now: int, requests: Sequence[Request], answers: Sequence[Answer]) -> None: ...


def told_anew(stored: Sequence[ObjectPut], gone: Sequence[ObjectDeleted]) -> list[Change]:
    """Return what new controllers are told: what is stored, and what went that others may not have answered.

    Where the name of what went is used again, that was before: controllers that know objects by name would forget the
    new one.
    """
    names = {_name_of(one) for one in gone}
    again = {name for one in stored if (name := _name_of(one)) in names} if names else set()
    before = [one for one in gone if _name_of(one) in again]
    return [*before, *stored, *(one for one in gone if _name_of(one) not in again)]


def _name_of(change: ObjectPut | ObjectDeleted) -> tuple[str, str, str]:
    if isinstance(change, ObjectDeleted):
        return change.kind, change.namespace, change.name
    return change.obj.kind, change.obj.namespace, change.obj.name


def tell(controller: Controller, now: int, requests: Sequence[Request], answers: Sequence[Answer]) -> None:
    """Tell the controller the answers to the requests of its step, if it reads them."""
    answered = getattr(controller, "answered", None)
    if answered is not None:
        answered(now, requests, answers)


def next_due(controllers: Iterable[Controller]) -> int | None:
    """Return when the first of them is due; None when none is."""
    times = (controller.next_due() for controller in controllers)
    return min((time for time in times if time is not None), default=None)
