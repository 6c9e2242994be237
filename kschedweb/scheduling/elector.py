"""The elector: one thread of a scheduler worker which keeps its leases and watches all others.

It never touches an engine. Every retry period it renews the leases this process holds in one statement, which writes
nothing as long as all is well; except those of clusters whose step has been running, or whose due work has waited, for
longer than the renew deadline: a standby may take them over (a step that hangs in one cluster holds up all clusters of
its process). It takes free and expired ones; and it wakes this worker's own queue when an engine's timer is due. Leases
that could not be renewed for the renew deadline are lost, also when nobody else has them.
Source: kubernetes v1.34.1, client-go/tools/leaderelection.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol

import structlog
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection

from kschedweb.common.metrics import RECORDER
from kschedweb.scheduling import leases
from kschedweb.scheduling.due import clusters_due
from kschedweb.scheduling.leases import LEASE_NAME, LEASE_NAMESPACE, LeaseView

log = structlog.get_logger(__name__)

JITTER_FACTOR = 1.2
LOCK = f"{LEASE_NAMESPACE}/{LEASE_NAME}"


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Lease duration, renew deadline and retry period, in seconds."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if self.duration <= self.renew_deadline:
            raise ValueError("leaseDuration must be greater than renewDeadline")
        if self.renew_deadline <= JITTER_FACTOR * self.retry_period:
            raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")
        # The first two leave only one of upstream's three checks something to find.
        for name, seconds in (
            ("leaseDuration", self.duration),
            ("renewDeadline", self.renew_deadline),
            ("retryPeriod", self.retry_period),
        ):
            if seconds <= 0:
                raise ValueError(f"{name} must be greater than zero")

    @property
    def request(self) -> float:
        """How long one statement of an election may take."""
        return max(1.0, self.renew_deadline / 2)


class Lock(Protocol):
    """The leases, as the elector needs them; `kschedweb.scheduling.leases` is the one there is."""

    def leases_list(self) -> list[LeaseView]: ...
    def lease_get(self, *, cluster_id: int) -> LeaseView | None: ...
    def leases_renew(self, *, views: list[LeaseView], duration_seconds: float) -> dict[int, LeaseView]: ...
    def leases_still(self, *, views: list[LeaseView]) -> None: ...
    def lease_acquire(
        self, *, view: LeaseView, holder: str, duration_seconds: float, lock_seconds: float
    ) -> tuple[LeaseView, int] | None: ...
    def lease_release(self, *, view: LeaseView) -> bool: ...


@dataclass(slots=True)
class Leadership:
    """A cluster this process leads, shared between the elector and the slices; times are monotonic seconds.

    `busy_since`: None means that no step is under way. `patience` is how many seconds beyond the renew deadline the
    step under way may take. `renewed_at`: when the record was last known to be ours. `ran_at`: when a slice last ran.
    `rests_until`: until then no slice of it runs. `scheduled_at`: when a step that scheduled pods last ended.
    """

    view: LeaseView
    epoch: int
    renewed_at: float = 0.0
    busy_since: float | None = None
    patience: float = 0.0
    ran_at: float = 0.0
    rests_until: float = 0.0
    scheduled_at: float = -math.inf
    due_at: float | None = None  # of the engine's next timer

    def be_patient(self, seconds: float) -> None:
        """The step under way has much to take in: no other worker would be quicker."""
        self.patience = seconds


@dataclass(slots=True)
class _Observed:
    """When the record was last seen to change, or its holder to beat."""

    version: int
    at: float
    beat: int | None = None


def _nothing(_: int) -> None:
    """Nobody wants to hear of it."""


@dataclass
class Elector:
    """Leases of this process by cluster.

    `wake(cluster_id)` asks for a slice on the worker's own queue: leading has started, or a timer is due.
    `stopped(cluster_id)` hears that leading has ended, whatever ended it. `due(cluster_ids, seconds)` knows which of
    them have work that has been due for so long.
    """

    identity: str
    times: LeaseTimes
    wake: Callable[[int], None]
    stopped: Callable[[int], None] = _nothing
    lock: Lock = leases
    due: Callable[[Collection[int], float], set[int]] = clusters_due
    monotonic: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    _led: dict[int, Leadership] = field(default_factory=dict)
    _observed: dict[int, _Observed] = field(default_factory=dict)
    _reported: dict[int, str] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _electing: threading.RLock = field(default_factory=threading.RLock)  # one try at a time
    _stop: threading.Event = field(default_factory=threading.Event)
    _poke: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        if self.wake is None:
            raise ValueError("OnStartedLeading callback must not be nil")
        if self.stopped is None:
            raise ValueError("OnStoppedLeading callback must not be nil")
        if self.lock is None:
            raise ValueError("Lock must not be nil.")
        if not self.identity:
            raise ValueError("Lock identity is empty")

    def start(self) -> None:
        """Begin electing; harmless when called again."""
        if self._thread is None:
            log.info(f"attempting to acquire leader lease {LOCK}...", identity=self.identity)
            self._thread = threading.Thread(target=self._run, name="elector", daemon=True)
            self._thread.start()

    def stop(self) -> list[int]:
        """Stop electing and give all leases up, so that standbys take over at once; the clusters given up."""
        self._stop.set()
        self._poke.set()
        if self._thread is not None:
            self._thread.join(timeout=self.times.request + 1)
        return [cluster_id for cluster_id in self.led_clusters() if self.resign(cluster_id)]

    def leadership(self, cluster_id: int) -> Leadership | None:
        """What this process holds of the cluster, None when it does not lead it."""
        with self._guard:
            return self._led.get(cluster_id)

    def is_new(self, cluster_id: int) -> bool:
        """Whether its lease has not been looked at so far."""
        return cluster_id not in self._observed

    def led_clusters(self) -> list[int]:
        with self._guard:
            return sorted(self._led)

    def timer_set(self, cluster_id: int, seconds: float | None, *, at_the_latest: bool = False) -> None:
        """Schedule a slice of the cluster in this number of seconds; None when nothing is due.

        `at_the_latest`: unless one is due sooner.
        """
        with self._guard:
            led = self._led.get(cluster_id)
            if led is None:
                return
            due_at = None if seconds is None else self.monotonic() + seconds
            is_sooner = due_at is not None and (led.due_at is None or due_at < led.due_at)
            if is_sooner or not at_the_latest:
                led.due_at = due_at
        if is_sooner:
            self._poke.set()

    def drop(self, cluster_id: int, *, is_gone: bool = False) -> None:
        """Stop leading without a write: somebody else does, or the database says nothing, or the cluster is gone."""
        with self._guard:
            led = self._led.pop(cluster_id, None)
        if led is not None:
            tell = log.info if is_gone else log.error
            tell("Leaderelection lost", cluster=cluster_id, identity=self.identity)
            self.stopped(cluster_id)

    def resign(self, cluster_id: int) -> bool:
        """Give the lease of one cluster up; whether it was ours to give."""
        with self._guard:
            led = self._led.pop(cluster_id, None)
        if led is None:
            return False
        try:
            return self.lock.lease_release(view=led.view)
        except DatabaseError as error:
            log.error(f"Failed to release lock: {_text(error)}", cluster=cluster_id)
            return False
        finally:
            self.stopped(cluster_id)

    def claim(self, cluster_id: int) -> Leadership | None:
        """Lead the cluster if its lease is free or has been seen unchanged for its whole duration."""
        held = self.leadership(cluster_id)
        if held is not None:
            return held
        with self._electing:
            view = self.lock.lease_get(cluster_id=cluster_id)
            if view is None:
                view = next((each for each in self.lock.leases_list() if each.cluster_id == cluster_id), None)
            return None if view is None else self._try(view)

    def tick(self) -> None:
        """One round: renew what is led, watch the others, take over."""
        self.renew()
        self.watch()

    def renew(self) -> None:
        """Renew all that is healthy; what could not be renewed for the renew deadline is lost."""
        with self._electing:
            healthy, held_up = self._healthy()
            try:
                for cluster_id in self._left_lying(healthy):
                    held_up.append(healthy.pop(cluster_id))
                if held_up:
                    self.lock.leases_still(views=[led.view for led in held_up])
                renewed = self.lock.leases_renew(
                    views=[led.view for led in healthy.values()], duration_seconds=self.times.duration
                )
            except DatabaseError:
                self._give_up_overdue(healthy)
                raise
            now = self.monotonic()
            for cluster_id, led in healthy.items():
                view = renewed.get(cluster_id)
                if view is None:
                    self._renew_slowly(cluster_id, led)
                else:
                    led.view, led.renewed_at = view, now
            if renewed:
                log.debug(f"successfully renewed lease {LOCK}", clusters=len(renewed), v=5)

    def watch(self) -> None:
        """Look at the leases of the others, and take those that are free or have expired."""
        with self._electing:
            views = self.lock.leases_list()
            known = {view.cluster_id for view in views}
            for seen in (self._observed, self._reported):
                for gone in seen.keys() - known:
                    del seen[gone]
            for view in views:
                held = self.leadership(view.cluster_id)
                self._report(view)
                if held is None:
                    if self._try(view) is not None:
                        self.wake(view.cluster_id)
                elif view.holder != self.identity:
                    self.drop(view.cluster_id)

    def _renew_slowly(self, cluster_id: int, led: Leadership) -> None:
        """The record is not as it was: read it, and write it again if it is still ours."""
        RECORDER.count("leader_election_slowpath_total", (LEASE_NAME,), cluster_id=cluster_id)
        log.info("Failed to update lock optimistically: the record has changed, falling back to slow path", lock=LOCK)
        view = self.lock.lease_get(cluster_id=cluster_id)
        if view is None or view.holder != self.identity:
            self.drop(cluster_id, is_gone=view is None)
            return
        renewed = self.lock.leases_renew(views=[view], duration_seconds=self.times.duration)
        if cluster_id in renewed:
            led.view, led.renewed_at = renewed[cluster_id], self.monotonic()

    def _give_up_overdue(self, healthy: dict[int, Leadership]) -> None:
        for cluster_id, led in healthy.items():
            if self.monotonic() - led.renewed_at > self.times.renew_deadline:
                log.error(f"failed to renew lease {LOCK}: context deadline exceeded", cluster=cluster_id)
                self.drop(cluster_id)

    def _healthy(self) -> tuple[dict[int, Leadership], list[Leadership]]:
        """What is led and whose work goes on, and what is led besides. A lease that has expired meanwhile is renewed
        too: nobody else wanted it, and the epoch is still ours. Taking it anew would throw the engine away, on a slow
        machine again and again.
        """
        now, held_up = self.monotonic(), []
        with self._guard:
            led = dict(self._led)
        for cluster_id, each in list(led.items()):
            busy = each.busy_since
            if busy is not None and now - busy > self.times.renew_deadline + each.patience:
                held_up.append(led.pop(cluster_id))
        return led, held_up

    def _left_lying(self, led: dict[int, Leadership]) -> set[int]:
        """Those with due work though no slice of theirs has run for the renew deadline: this process is held up."""
        limit = self.times.renew_deadline
        now = self.monotonic()
        idle = [cluster_id for cluster_id, each in led.items() if each.busy_since is None and now - each.ran_at > limit]
        return self.due(idle, limit)

    def _try(self, view: LeaseView) -> Leadership | None:
        """Lead if the lease may be taken. One's own record, after a loss, may be: it is won back with a new epoch."""
        now = self.monotonic()
        seen = self._observed.get(view.cluster_id)
        if seen is None or seen.version != view.version:
            seen = self._observed[view.cluster_id] = _Observed(view.version, now, view.beat)
        elif view.beat is not None and seen.beat != view.beat:
            seen.at, seen.beat = now, view.beat
        if self._stop.is_set():
            return None
        if view.holder not in ("", self.identity) and now - seen.at <= view.duration_seconds:
            return None
        taken = self.lock.lease_acquire(
            view=view,
            holder=self.identity,
            duration_seconds=self.times.duration,
            lock_seconds=self.times.request,
        )
        if taken is None:
            return None
        lease, epoch = taken
        led = Leadership(view=lease, epoch=epoch, renewed_at=now, ran_at=now)
        with self._guard:
            self._led[view.cluster_id] = led
        log.info(f"successfully acquired lease {LOCK}", cluster=view.cluster_id, epoch=epoch)
        self._report(lease)
        return led

    def _report(self, view: LeaseView) -> None:
        """Tell of a leader that was not known before."""
        if view.holder and self._reported.get(view.cluster_id) != view.holder:
            self._reported[view.cluster_id] = view.holder
            if view.holder != self.identity:
                log.info("new leader elected", cluster=view.cluster_id, identity=view.holder)

    def _wake_due(self) -> None:
        now = self.monotonic()
        for cluster_id in self.led_clusters():
            led = self.leadership(cluster_id)
            if led is not None and led.due_at is not None and led.due_at <= now:
                led.due_at = None
                self.wake(cluster_id)

    def _run(self) -> None:
        next_renewal = next_look = self.monotonic()
        while not self._stop.is_set():
            try:
                if min(next_renewal, next_look) <= self.monotonic():
                    self._connect()
                if next_renewal <= self.monotonic():
                    self.renew()
                    next_renewal = self.monotonic() + self.times.retry_period
                if next_look <= self.monotonic():
                    self.watch()
                    next_look = self.monotonic() + self._pause()
                self._wake_due()
            except Exception as error:
                # PostgreSQL or Valkey are away: leadership ends by the clock, trying goes on.
                log.warning(f"error retrieving resource lock {LOCK}: {_text(error)}")
                connection.close()
                next_renewal = next_look = self.monotonic() + self.times.retry_period
            self._poke.wait(max(0.0, min([next_renewal, next_look, *self._dues()]) - self.monotonic()))
            self._poke.clear()
        connection.close()

    def _connect(self) -> None:
        """This thread's own connection, on which no statement takes longer than one request may."""
        close_old_connections()
        if connection.connection is None:
            limit = f"{int(self.times.request * 1000)}ms"
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false)",
                    [limit, limit],
                )

    def _dues(self) -> list[float]:
        with self._guard:
            return [led.due_at for led in self._led.values() if led.due_at is not None]

    def _pause(self) -> float:
        """Between two looks at the others' leases, counted from the end of one."""
        return self.times.retry_period * (1 + JITTER_FACTOR * self.jitter())


def _text(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
