"""The elector: one thread of a scheduler worker which keeps its leases and watches all others.

It never touches an engine. Every retry period it renews the leases this process holds, unless a cluster's
step has been running, or its due work waiting, for longer than the renew deadline, so that a standby may take
over; it takes free and expired ones; and it wakes this worker's own queue when an engine's timer is due.
Source: kubernetes v1.34.1, client-go/tools/leaderelection.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import close_old_connections, connection
from django.utils import timezone

from kschedweb.scheduling import leases
from kschedweb.scheduling.leases import LeaseView

log = logging.getLogger(__name__)

JITTER_FACTOR = 1.2


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Lease duration, renew deadline and retry period, in seconds."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if self.retry_period <= 0:
            raise ValueError("retryPeriod must be greater than zero")
        if self.duration <= self.renew_deadline:
            raise ValueError("leaseDuration must be greater than renewDeadline")
        if self.renew_deadline <= JITTER_FACTOR * self.retry_period:
            raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")


@dataclass(slots=True)
class Leadership:
    """A cluster this process leads, shared between the elector and the slices.

    `busy_since` and `waiting_since` are monotonic seconds; None means neither busy nor waiting. `patience` is how
    many seconds beyond the renew deadline the step under way may take.
    """

    view: LeaseView
    epoch: int
    busy_since: float | None = None
    waiting_since: float | None = None
    patience: float = 0.0
    due_at: float | None = None  # monotonic seconds of the engine's next timer

    def be_patient(self, seconds: float) -> None:
        """The step under way has much to take in: no other worker would be quicker."""
        self.patience = seconds


@dataclass(slots=True)
class _Observed:
    version: int
    at: float


@dataclass
class Elector:
    """Leases of this process by cluster; `wake(cluster_id)` asks for a slice on the worker's own queue."""

    identity: str
    times: LeaseTimes
    wake: Callable[[int], None]
    monotonic: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    _led: dict[int, Leadership] = field(default_factory=dict)
    _observed: dict[int, _Observed] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _poke: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin electing; harmless when called again."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="elector", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop electing and give all leases up, so that standbys take over at once."""
        self._stop.set()
        self._poke.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        for cluster_id in list(self._led):
            self.resign(cluster_id)

    def leadership(self, cluster_id: int) -> Leadership | None:
        """What this process holds of the cluster, None when it does not lead it."""
        with self._lock:
            return self._led.get(cluster_id)

    def led_clusters(self) -> list[int]:
        with self._lock:
            return sorted(self._led)

    def timer_set(self, cluster_id: int, seconds: float | None) -> None:
        """Wake a slice of the cluster in so many seconds; None when the engine waits for nothing."""
        with self._lock:
            led = self._led.get(cluster_id)
            if led is None:
                return
            led.due_at = None if seconds is None else self.monotonic() + seconds
        self._poke.set()

    def drop(self, cluster_id: int) -> None:
        """Stop leading without a write: the fence says somebody else does."""
        with self._lock:
            self._led.pop(cluster_id, None)

    def resign(self, cluster_id: int) -> None:
        """Give the lease of one cluster up."""
        with self._lock:
            led = self._led.pop(cluster_id, None)
        if led is not None:
            leases.lease_release(view=led.view, now=timezone.now())

    def claim(self, cluster_id: int) -> Leadership | None:
        """Lead the cluster if its lease is free or has been seen unchanged for its whole duration."""
        held = self.leadership(cluster_id)
        if held is not None:
            return held
        leases.leases_list()
        view = leases.lease_get(cluster_id=cluster_id)
        if view is None or not self._takeable(view):
            return None
        return self._acquire(view)

    def tick(self) -> None:
        """One round: renew, watch, take over."""
        for view in leases.leases_list():
            held = self.leadership(view.cluster_id)
            if held is None:
                if self._takeable(view) and self._acquire(view):
                    self.wake(view.cluster_id)
            elif view.holder != self.identity:
                log.warning("lost the lease of cluster %s to %s", view.cluster_id, view.holder or "nobody")
                self.drop(view.cluster_id)
            elif self._healthy(held):
                # Also when it has expired meanwhile: nobody else wanted it, and the epoch is still ours. Taking it
                # anew would throw the engine away, and on a slow machine again and again.
                self._renew(held, view)

    def _renew(self, held: Leadership, view: LeaseView) -> None:
        renewed = leases.lease_renew(view=view, duration_seconds=self.times.duration, now=timezone.now())
        if renewed is not None:
            held.view = renewed

    def _healthy(self, held: Leadership) -> bool:
        now, busy, waiting = self.monotonic(), held.busy_since, held.waiting_since
        return (busy is None or now - busy <= self.times.renew_deadline + held.patience) and (
            waiting is None or now - waiting <= self.times.renew_deadline
        )

    def _takeable(self, view: LeaseView) -> bool:
        now = self.monotonic()
        seen = self._observed.get(view.cluster_id)
        if seen is None or seen.version != view.version:
            seen = self._observed[view.cluster_id] = _Observed(view.version, now)
        return not view.holder or now - seen.at > view.duration_seconds

    def _acquire(self, view: LeaseView) -> Leadership | None:
        taken = leases.lease_acquire(
            view=view, holder=self.identity, duration_seconds=self.times.duration, now=timezone.now()
        )
        if taken is None:
            return None
        lease, epoch = taken
        led = Leadership(view=lease, epoch=epoch)
        with self._lock:
            self._led[view.cluster_id] = led
        log.info("leading cluster %s, epoch %s", view.cluster_id, epoch)
        return led

    def _wake_due(self) -> None:
        now = self.monotonic()
        for cluster_id in self.led_clusters():
            led = self.leadership(cluster_id)
            if led is not None and led.due_at is not None and led.due_at <= now:
                led.due_at = None
                self.wake(cluster_id)

    def _run(self) -> None:
        next_tick = self.monotonic()
        while not self._stop.is_set():
            try:
                if self.monotonic() >= next_tick:
                    close_old_connections()
                    self.tick()
                    next_tick = self.monotonic() + self._pause()
                self._wake_due()
            except Exception as error:
                # PostgreSQL or Valkey are away: leadership ends by the clock, trying goes on.
                log.warning("election round failed: %s", error)
                connection.close()
                next_tick = self.monotonic() + self._pause()
            self._poke.wait(max(0.0, min([next_tick, *self._dues()]) - self.monotonic()))
            self._poke.clear()

    def _dues(self) -> list[float]:
        with self._lock:
            return [led.due_at for led in self._led.values() if led.due_at is not None]

    def _pause(self) -> float:
        """Leaders look every retry period; a worker leading nothing adds upstream's jitter."""
        if self._led:
            return self.times.retry_period
        return self.times.retry_period * (1 + JITTER_FACTOR * self.jitter())
