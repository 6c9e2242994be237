"""An election without a database: a lock in memory, and candidates with clocks of their own."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db import OperationalError

from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.leases import LeaseView

CLUSTER = 7


TIMES = LeaseTimes(duration=15, renew_deadline=10, retry_period=2)


@dataclass
class Row:
    """A lease as stored."""

    holder: str = ""
    version: int = 0
    duration: float = 15
    transitions: int = 0
    acquired_at: float | None = None
    renewed_at: float | None = None


@dataclass
class MemoryLock:
    """One cluster's lease in memory, written as the database writes it; `now` is the server's clock."""

    row: Row = field(default_factory=Row)
    epoch: int = 0
    now: float = 0.0
    is_away: bool = False
    tries: int = 0

    def lease_get(self, *, cluster_id: int) -> LeaseView | None:
        self._ask()
        return LeaseView(CLUSTER, self.row.holder, self.row.version, self.row.duration)

    def leases_list(self) -> list[LeaseView]:
        view = self.lease_get(cluster_id=CLUSTER)
        return [] if view is None else [view]

    def leases_renew(self, *, views: list[LeaseView], duration_seconds: float) -> dict[int, LeaseView]:
        self._ask()
        found = {}
        for view in views:
            if (view.version, view.holder) == (self.row.version, self.row.holder):
                self.row.version += 1
                self.row.duration, self.row.renewed_at = duration_seconds, self.now
                found[CLUSTER] = LeaseView(CLUSTER, view.holder, self.row.version, duration_seconds)
        return found

    def leases_still(self, *, views: list[LeaseView]) -> None:
        self._ask()  # each renewal is a write here

    def lease_acquire(
        self, *, view: LeaseView, holder: str, duration_seconds: float, lock_seconds: float
    ) -> tuple[LeaseView, int] | None:
        self._ask()
        row = self.row
        if view.version != row.version:
            return None
        if view.holder != holder:
            row.transitions += 1
            row.acquired_at = self.now
        row.holder, row.duration, row.renewed_at, row.version = holder, duration_seconds, self.now, row.version + 1
        self.epoch += 1
        return LeaseView(CLUSTER, holder, row.version, duration_seconds), self.epoch

    def lease_release(self, *, view: LeaseView) -> bool:
        self._ask()
        if self.row.holder != view.holder:
            return False
        self.row = Row("", self.row.version + 1, 1, self.row.transitions, self.now, self.now)
        return True

    def _ask(self) -> None:
        self.tries += 1
        if self.is_away:
            raise OperationalError("the database is away")


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Candidate:
    """An elector with a clock of its own, and what it told."""

    name: str
    lock: MemoryLock
    clock: Clock = field(default_factory=Clock)
    started: list[int] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    elector: Elector = field(init=False)

    def __post_init__(self) -> None:
        self.elector = Elector(
            self.name,
            TIMES,
            wake=self.started.append,
            stopped=self.stopped.append,
            lock=self.lock,
            due=lambda cluster_ids, seconds: set(),
            monotonic=self.clock,
            jitter=lambda: 0.0,
        )

    @property
    def leads(self) -> bool:
        return self.elector.leadership(CLUSTER) is not None


class ClockedEvent:
    """Waiting takes no time; the candidate's clock goes on by what was asked for, until its elector is to stop."""

    def __init__(self, candidate: Candidate, until: float) -> None:
        self._candidate = candidate
        self._until = until
        self._left = 100  # a loop that waits for nothing has to end too

    def wait(self, seconds: float) -> None:
        self._candidate.clock.now += seconds
        self._left -= 1
        if self._candidate.clock.now > self._until or not self._left:
            self._candidate.elector._stop.set()

    def clear(self) -> None:
        """Nobody pokes."""

    def set(self) -> None:
        """Nobody has to be woken."""


def run_loop(candidate: Candidate, *, seconds: float) -> None:
    """The elector's own loop for so many seconds of its clock."""
    elector = candidate.elector
    elector._connect = lambda: None  # type: ignore[method-assign]
    elector._poke = ClockedEvent(candidate, candidate.clock.now + seconds)  # type: ignore[assignment]
    elector._run()
    elector._stop.clear()
