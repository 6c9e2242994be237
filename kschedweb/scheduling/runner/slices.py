"""The loop, in slices: a chain of steps until nothing is due or the time is over.

One process leads any number of clusters, an engine each. Slices of a cluster run on its leader's own queue;
a message that comes to somebody else is sent on, or claims a cluster nobody leads. A cluster whose step waited for
extenders rests for as long, so that other clusters of the process have at least half of its time. One whose pods
come in a stream that is quicker than steps of a few pods rests for as long as its steps take: most of a step's cost
is that of any step, however few pods it schedules. A slice lingers when it is done, and serves every cluster of the
process that is written to meanwhile.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog
from django.db import InterfaceError, InternalError, OperationalError

from kschedweb.cluster.extender_http import StepTime
from kschedweb.common import wake
from kschedweb.common.errors import ClusterGoneError
from kschedweb.common.hearing import Hearing
from kschedweb.environment import load as load_environment
from kschedweb.scheduling import leases
from kschedweb.scheduling.due import clusters_told
from kschedweb.scheduling.elector import Elector, Leadership, LeaseTimes
from kschedweb.scheduling.leases import FencedOutError
from kschedweb.scheduling.runner.host import EngineHost, StepOutcome
from scheduler_core.errors import CacheCorruptedError

log = structlog.get_logger(__name__)

SLICE_SECONDS = 2.0
SHARED_SLICE_SECONDS = 0.2  # when another cluster waits for this worker
# A step that took in so many changes without a pod to schedule is one of a stream: the next waits for more of it.
STREAM_CHANGES = 20
GATHER_SECONDS = 0.05
# A step that scheduled at most so many pods, and began so soon after another one that scheduled some, is one of a
# stream of pods: the next waits for more of them, as long as this one took and no longer than that. With very few a
# step keeps up with the stream, and a rest would only make them wait.
STREAM_CYCLES = 100
THIN_CYCLES = 6
STREAM_SECONDS = 0.2
MOST_REST_SECONDS = 0.1
EXPECTED_SECONDS = 0.05  # that bindings which were carried out wait for more of them, or for a pod
OWN_QUEUE = "scheduler."
EXIT_CORRUPTED = 1


@dataclass
class Worker:
    """A scheduler worker's process: its elector and its engines by cluster."""

    worker_id: str
    elector: Elector
    hosts: dict[int, EngineHost] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)  # clusters with a slice message under way to this worker
    hearing: Hearing | None = None  # of clusters that are written to; without it each slice has a message

    def ensure_leader(self, cluster_id: int) -> bool:
        """Run a slice here if this worker leads the cluster or may; else send the wish to its leader.

        Returns whether there was something to do here.
        """
        led = self.elector.claim(cluster_id)
        if led is not None:
            return self.slice_run(cluster_id)
        view = leases.lease_get(cluster_id=cluster_id)
        if view is not None and view.holder:
            leader = view.holder.partition("/")[0]
            if leader != self.worker_id:
                wake.send("scheduling.slice_run", queue=OWN_QUEUE + leader, cluster_id=cluster_id)
        return False

    def slice_run(self, cluster_id: int) -> bool:
        """The slice that a message asks for; whether there was something to do."""
        wake.begun("scheduling.ensure_leader", cluster_id)
        return self.slice(cluster_id)

    def slice(self, cluster_id: int) -> bool:
        """Steps until nothing is due or the slice is over, then another slice or a timer.

        Returns whether there was something to do, or will be in a moment.
        """
        with structlog.contextvars.bound_contextvars(cluster=cluster_id):
            return self._slice(cluster_id)

    def _slice(self, cluster_id: int) -> bool:
        self.waiting.discard(cluster_id)
        # An engine takes memory as its cluster does: those of clusters that are deleted or led elsewhere go.
        for lost in self.hosts.keys() - self.elector.led_clusters():
            del self.hosts[lost]
        led = self.elector.leadership(cluster_id)
        if led is None:
            return False
        host = self.hosts.get(cluster_id)
        if host is None or host.epoch != led.epoch:
            # A step may wait for extenders for as long as it may run before the lease is given up.
            step_time = StepTime(self.elector.times.renew_deadline)
            host = EngineHost(cluster_id, led.epoch, be_patient=led.be_patient, step_time=step_time)
            self.hosts[cluster_id] = host
        led.ran_at = time.monotonic()
        if led.rests_until > led.ran_at:
            self.elector.timer_set(cluster_id, led.rests_until - led.ran_at)
            return True
        ends_at = led.ran_at + SLICE_SECONDS
        worked = False
        try:
            # The elector may have lost the lease meanwhile.
            while self.elector.leadership(cluster_id) is led:
                led.busy_since, led.patience = time.monotonic(), 0.0
                began = led.busy_since
                outcome = host.step()
                led.ran_at, led.busy_since = time.monotonic(), None
                worked = worked or not outcome.is_idle
                if outcome.asked_seconds > SHARED_SLICE_SECONDS and len(self.elector.led_clusters()) > 1:
                    led.rests_until = led.ran_at + outcome.asked_seconds
                    self.elector.timer_set(cluster_id, outcome.asked_seconds)
                    break
                if outcome.due_in is None or outcome.due_in > 0:
                    self.elector.timer_set(cluster_id, _gather(led, outcome, began))
                    break
                shares = self.waiting or (self.hearing is not None and self.hearing.others(cluster_id))
                over = ends_at - (SLICE_SECONDS - SHARED_SLICE_SECONDS) if shares else ends_at
                if time.monotonic() >= over:
                    self.wake(cluster_id)
                    break
            else:
                self.hosts.pop(cluster_id, None)
        except ClusterGoneError as error:
            log.info("the cluster is gone", cluster=cluster_id, reason=str(error))
            self.elector.drop(cluster_id, is_gone=True)
            self.hosts.pop(cluster_id, None)
        except FencedOutError as error:
            log.warning("fenced out", cluster=cluster_id, reason=str(error))
            self.elector.drop(cluster_id)
            self.hosts.pop(cluster_id, None)
        except CacheCorruptedError:
            log.critical("the scheduler cache is corrupted; ending the process", cluster=cluster_id, exc_info=True)
            # Upstream ends the process here: nothing decided from this cache may be trusted.
            os._exit(EXIT_CORRUPTED)
        finally:
            led.busy_since = None
        return worked

    def serve(self, cluster_id: int, first: Callable[[int], bool]) -> None:
        """Run `first` for the cluster, then slices of all that are written to, until nothing is for a while."""
        if self.hearing is None:
            first(cluster_id)
            return

        def begin() -> bool:
            worked = first(cluster_id)
            # Nobody heard what was told between the last task and this one; its message may be the last of many.
            for missed in clusters_told(self.elector.led_clusters()):
                worked |= self.slice(missed)
            return worked

        for _, late in self.hearing.serve(begin, self.hear):
            if self.elector.leadership(late) is not None:
                self.wake(late)

    def hear(self, channel: str, cluster_id: int) -> bool:
        """A slice of a cluster that was written to: one that this worker leads, or that nobody has led so far.

        What was expected waits a little for more, and for a pod that comes; a clock that goes by steps waits for it.
        """
        host = self.hosts.get(cluster_id)
        if channel == wake.EXPECTED_CHANNEL and host is not None and not host.is_stepped:
            self.elector.timer_set(cluster_id, EXPECTED_SECONDS, at_the_latest=True)
            return False
        if self.elector.leadership(cluster_id) is not None or (
            self.elector.is_new(cluster_id) and self.elector.claim(cluster_id) is not None
        ):
            return self.slice(cluster_id)
        return False

    def wake(self, cluster_id: int) -> None:
        """Ask for a slice: of the task under way, else by a message on this worker's own queue, which may be lost."""
        if self.hearing is not None and self.hearing.tell(wake.READERS_CHANNEL, cluster_id):
            return
        self.waiting.add(cluster_id)
        wake.send("scheduling.slice_run", queue=OWN_QUEUE + self.worker_id, cluster_id=cluster_id)


def _gather(led: Leadership, outcome: StepOutcome, began: float) -> float | None:
    """Let a cluster rest whose step was one of a stream; in how many seconds to look again without being woken."""
    if outcome.is_stepped:
        return outcome.due_in  # nothing comes until the step is done
    is_streamed = began - led.scheduled_at < STREAM_SECONDS
    if outcome.cycles:
        led.scheduled_at = led.ran_at
    if THIN_CYCLES < outcome.cycles <= STREAM_CYCLES and is_streamed:
        rest = min(MOST_REST_SECONDS, led.ran_at - began)
        led.rests_until = led.ran_at + rest
        return rest  # whatever message came in the step has been answered by it or waits for the next
    if outcome.changes >= STREAM_CHANGES and not outcome.cycles:
        led.rests_until = led.ran_at + GATHER_SECONDS
    return outcome.due_in


_worker: Worker | None = None


def worker() -> Worker:
    """This process's worker; its elector starts with it. The identity is that of this incarnation."""
    global _worker
    if _worker is None:
        environment = load_environment()
        times = LeaseTimes(
            environment.lease_duration_seconds, environment.renew_deadline_seconds, environment.retry_period_seconds
        )
        worker_id = environment.worker_id
        made = Worker(worker_id, Elector(f"{worker_id}/{secrets.token_hex(4)}", times, wake=lambda _: None))
        made.elector.wake = made.wake
        made.hearing = Hearing(wake.READERS_CHANNEL, wake.EXPECTED_CHANNEL, wake.LEADERS_CHANNEL)
        made.elector.start()
        _worker = made
    return _worker


def worker_stop() -> None:
    """Release all leases; called when the process is told to stop and its last slice has ended."""
    if _worker is not None:
        log.info("Requested to terminate, exiting")
        for cluster_id in _worker.elector.stop():
            # Whoever hears it first leads; without the message a standby finds the lease free at its next look.
            wake.send("scheduling.ensure_leader", cluster_id=cluster_id)


def ensure_leader(cluster_id: int) -> None:
    """See that somebody leads the cluster and looks at its log now."""
    _serve(cluster_id, worker().ensure_leader)


def slice_run(cluster_id: int) -> None:
    """A slice of the cluster's loop, if this worker leads it."""
    _serve(cluster_id, worker().slice_run)


def _serve(cluster_id: int, first: Callable[[int], bool]) -> None:
    """Absent databases are waited out: the row stays, and the sweep or the elector wakes us again."""
    try:
        worker().serve(cluster_id, first)
    except (OperationalError, InterfaceError, InternalError) as error:
        log.warning("slice given up, the database is away", cluster=cluster_id, reason=str(error).strip())
