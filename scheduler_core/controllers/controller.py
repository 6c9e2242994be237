"""What every controller is: a state machine over the cluster's changes that asks the API server for more of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from scheduler_core.apiserver.requests import Request
from scheduler_core.model.changes import Change


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What a controller may know of its cluster from the start; times in microseconds."""

    start_delay_us: int = 1_000_000  # from being bound to Running, for pods that do not say
    seed: int = 0
    started_at: int = 0


class Controller(Protocol):
    """One controller of one cluster, made from its ClusterOptions.

    Requests are assumed to be carried out; whoever could not do that makes a new controller and tells it every stored
    object. A request repeated, or one whose object has changed or gone since, must do no harm: name the uid.
    """

    @property
    def name(self) -> str: ...
    @property
    def actor(self) -> str:
        """Who the log says made the writes; several controllers may share one."""
        ...

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what follows from them and what is due at `now` (microseconds)."""
        ...

    def next_due(self) -> int | None:
        """When there will be something to do without any change; None when only a change brings more."""
        ...


def next_due(controllers: Iterable[Controller]) -> int | None:
    """When the first of them is due."""
    times = (controller.next_due() for controller in controllers)
    return min((time for time in times if time is not None), default=None)
