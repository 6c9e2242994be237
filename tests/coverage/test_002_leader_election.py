"""Coverage of the document on leader election: one test, or a few, for each of its mechanisms.

The elector runs on a lock in memory with clocks of its own; what the database adds (the fence, waiting writers, real
workers that are frozen, killed and told to end) is in tests/web/scheduling.
"""

# Longer than 400 lines because it has a test for each row of one document.

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import OperationalError

from kschedweb import environment
from kschedweb.common import wake
from kschedweb.common.metrics import RECORDER
from kschedweb.common.metrics.catalog import CATALOG
from kschedweb.ops.worker import new_worker_id
from kschedweb.scheduling import health, leadership
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.leadership import Leadership
from kschedweb.scheduling.leases import FencedOutError, LeaseView
from kschedweb.scheduling.models import Lease
from kschedweb.scheduling.runner import slices
from kschedweb.scheduling.runner.host import StepOutcome
from kschedweb.scheduling.runner.slices import Worker
from scheduler_core import config
from scheduler_core.errors import CacheCorruptedError, ConfigError

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


def test_002_standby_schedules_nothing() -> None:
    """leader/standby model"""
    lock = MemoryLock()
    leader, standby = Candidate("leader", lock), Candidate("standby", lock)
    leader.elector.tick()
    standby.elector.tick()
    assert (leader.leads, standby.leads) == (True, False)
    worker = Worker("standby", standby.elector)
    worker.slice(CLUSTER)
    assert worker.hosts == {}


def test_002_five_settings_and_their_defaults() -> None:
    """five flags and defaults"""
    election = config.load(None).leader_election
    assert (election.leader_elect, election.resource_lock) == (True, "leases")
    assert [str(each) for each in (election.lease_duration, election.renew_deadline, election.retry_period)] == [
        "15s",
        "10s",
        "2s",
    ]
    fields = environment.Environment.model_fields
    names = ("lease_duration_seconds", "renew_deadline_seconds", "retry_period_seconds")
    assert LeaseTimes(*(fields[name].default for name in names)) == LeaseTimes() == TIMES


@pytest.mark.parametrize("lock_type", ["endpoints", "configmaps", "endpointsleases", "configmapsleases", "odd"])
def test_002_only_leases_are_left(lock_type: str) -> None:
    """lock types endpoints/configmaps/leases"""
    text = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"resourceLock": lock_type},
    }
    with pytest.raises(ConfigError, match='resourceLock value must be "leases"'):
        config.load(text)


def test_002_record_has_its_fields() -> None:
    """record fields"""
    names = {each.name for each in Lease._meta.get_fields()}
    assert names == {"cluster", "holder", "duration_seconds", "acquired_at", "renewed_at", "transitions", "version"}
    lock = MemoryLock(now=50)
    Candidate("a", lock).elector.tick()
    assert dataclasses.astuple(lock.row) == ("a", 1, 15, 1, 50, 50)


def test_002_identities_differ_on_one_host() -> None:
    """config from host name identity"""
    one, two = new_worker_id(), new_worker_id()
    assert one != two
    assert re.fullmatch(r".+-[0-9a-f]{8}", one) and one.rpartition("-")[0] == two.rpartition("-")[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LeaseTimes(10, 10, 2), "leaseDuration must be greater than renewDeadline"),
        (lambda: LeaseTimes(15, 2.4, 2), "renewDeadline must be greater than retryPeriod*JitterFactor"),
        (lambda: LeaseTimes(0, -1, -2), "leaseDuration must be greater than zero"),
        (lambda: LeaseTimes(1, 0, -1), "renewDeadline must be greater than zero"),
        (lambda: LeaseTimes(2, 1, 0), "retryPeriod must be greater than zero"),
        (lambda: Elector("a", TIMES, wake=None), "OnStartedLeading callback must not be nil"),  # type: ignore[arg-type]
        (lambda: Elector("a", TIMES, wake=print, stopped=None), "OnStoppedLeading callback must not be nil"),  # type: ignore[arg-type]
        (lambda: Elector("a", TIMES, wake=print, lock=None), "Lock must not be nil."),  # type: ignore[arg-type]
        (lambda: Elector("", TIMES, wake=print), "Lock identity is empty"),
    ],
)
def test_002_constructor_refuses(make: Any, message: str) -> None:
    """constructor validation texts"""
    with pytest.raises(ValueError) as refused:
        make()
    assert str(refused.value) == message


def test_002_acquire_is_tried_every_2_to_4_4_seconds() -> None:
    """acquire loop with jitter 1.2"""
    candidate = Candidate("a", MemoryLock(row=Row("another")))
    drawn = iter((0.0, 0.5, 1.0, 0.0))
    candidate.elector.jitter = lambda: next(drawn)
    looks: list[float] = []
    watch = candidate.elector.watch

    def look() -> None:
        looks.append(candidate.clock.now)
        candidate.lock.row.version += 1  # the other renews all the time
        watch()

    candidate.elector.watch = look  # type: ignore[method-assign]
    run_loop(candidate, seconds=10)
    assert [after - before for before, after in itertools.pairwise(looks)] == pytest.approx([2.0, 3.2, 4.4])


@pytest.mark.parametrize(("seconds", "kept"), [(9, True), (11, False)])
def test_002_outage_of_9_seconds_is_survived(seconds: int, kept: bool) -> None:
    """renew with deadline, retry inside"""
    lock = MemoryLock()
    leader = Candidate("a", lock)
    leader.elector.tick()
    lock.is_away = True
    for _ in range(seconds):
        leader.clock.now += 1
        with pytest.raises(OperationalError):
            leader.elector.renew()
    assert leader.leads is kept
    assert leader.stopped == ([] if kept else [CLUSTER])
    lock.is_away = False
    leader.elector.tick()
    assert lock.epoch == (1 if kept else 2)  # won back under a new epoch: the engine is built anew


def test_002_fast_path_is_one_request() -> None:
    """tryAcquireOrRenew three steps"""
    lock = MemoryLock()
    leader = Candidate("a", lock)
    leader.elector.tick()
    tries = lock.tries
    leader.elector.renew()
    assert lock.tries == tries + 1


def test_002_slow_path_reads_the_record_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """tryAcquireOrRenew three steps"""
    counted: list[str] = []
    monkeypatch.setattr(RECORDER, "count", lambda name, *_, **__: counted.append(name))
    lock = MemoryLock()
    leader = Candidate("a", lock)
    leader.elector.tick()
    lock.row.version += 1  # an answer was lost: the record is ours, and newer than we know
    leader.elector.renew()
    assert leader.leads and lock.row.version == 3
    assert counted == ["leader_election_slowpath_total"]
    lock.row.holder = "b"
    lock.row.version += 1
    leader.elector.renew()
    assert (leader.elector.led_clusters(), lock.row.holder) == ([], "b")


def test_002_clock_offset_is_harmless() -> None:
    """observed-time semantics, skew tolerance, rate ratio"""
    lock = MemoryLock()
    leader, standby = Candidate("a", lock), Candidate("b", lock, Clock(1000 + 3600))
    for _ in range(30):
        leader.elector.tick()
        standby.elector.tick()
        leader.clock.now += 2
        standby.clock.now += 2
    assert (leader.leads, standby.leads) == (True, False)


def test_002_first_look_begins_a_whole_duration() -> None:
    """observed-time semantics, skew tolerance, rate ratio"""
    lock = MemoryLock(row=Row("dead", 9, 15, 3, renewed_at=-1e6))
    standby = Candidate("b", lock)
    standby.elector.tick()
    standby.clock.now += 15
    standby.elector.tick()
    assert not standby.leads
    standby.clock.now += 0.1
    standby.elector.tick()
    assert standby.leads


def test_002_clocks_of_different_rates_are_tolerated_up_to_duration_by_deadline() -> None:
    """observed-time semantics, skew tolerance, rate ratio"""
    lock = MemoryLock()
    slow, quick = Candidate("slow", lock), Candidate("quick", lock)
    slow.elector.tick()
    quick.elector.tick()
    lock.is_away = True
    while slow.leads:  # it gives up by its own clock before the other, half as quick again, may take over
        slow.clock.now += 0.5
        quick.clock.now += 0.5 * 1.4
        try:
            slow.elector.renew()
        except OperationalError:
            lock.is_away = False
            quick.elector.watch()
            lock.is_away = True
            assert not (slow.leads and quick.leads)


def test_002_renewal_keeps_transitions_and_acquire_time() -> None:
    """transitions count, acquireTime kept"""
    lock = MemoryLock(now=10)
    leader, other = Candidate("a", lock), Candidate("b", lock)
    leader.elector.tick()
    lock.now = 20
    leader.elector.tick()
    assert (lock.row.transitions, lock.row.acquired_at, lock.row.renewed_at) == (1, 10, 20)
    assert lock.epoch == 1  # and it is no new term: the engine stays
    leader.elector.stop()
    other.elector.tick()
    assert (lock.row.holder, lock.row.transitions, lock.row.acquired_at) == ("b", 2, 20)


def test_002_release_frees_the_lease_for_the_next_try() -> None:
    """release on cancel"""
    lock = MemoryLock()
    leader, standby = Candidate("a", lock), Candidate("b", lock)
    leader.elector.tick()
    standby.elector.tick()
    leader.elector.stop()
    assert (lock.row.holder, lock.row.duration) == ("", 1)
    standby.elector.tick()
    assert standby.leads


def test_002_callbacks_hear_of_every_change(caplog: pytest.LogCaptureFixture) -> None:
    """callbacks started/stopped/new leader"""
    lock = MemoryLock()
    one, two = Candidate("a", lock), Candidate("b", lock)
    with caplog.at_level("INFO"):
        one.elector.tick()
        two.elector.tick()
    assert (one.started, two.started) == ([CLUSTER], [])
    told = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    assert [each["identity"] for each in told if each["event"] == "new leader elected"] == ["a"]
    one.elector.drop(CLUSTER)
    assert one.stopped == [CLUSTER]
    one.elector.tick()
    one.elector.stop()
    assert one.stopped == [CLUSTER, CLUSTER]


class Ending:
    """An engine whose step ends as it is told."""

    def __init__(self, *_: object, **__: object) -> None:
        self.epoch = 1

    error: Exception

    def step(self) -> StepOutcome:
        raise self.error


def test_002_lost_lease_drops_one_engine_and_the_worker_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """ "lost lease/master" exit"""
    monkeypatch.setattr(slices, "EngineHost", Ending)
    monkeypatch.setattr(Ending, "error", FencedOutError("epoch 1 is over"), raising=False)
    leader = Candidate("a", MemoryLock())
    leader.elector.tick()
    worker = Worker("a", leader.elector)
    with caplog.at_level("ERROR"):
        worker.slice(CLUSTER)
    assert worker.hosts == {} and not leader.leads
    assert "Leaderelection lost" in [r.msg["event"] for r in caplog.records if isinstance(r.msg, dict)]


def test_002_corrupted_cache_ends_the_process_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "lost lease/master" exit"""
    codes: list[int] = []
    monkeypatch.setattr(slices, "EngineHost", Ending)
    monkeypatch.setattr(Ending, "error", CacheCorruptedError("odd"), raising=False)
    monkeypatch.setattr(os, "_exit", codes.append)
    leader = Candidate("a", MemoryLock())
    leader.elector.tick()
    Worker("a", leader.elector).slice(CLUSTER)
    assert codes == [1]


@pytest.mark.parametrize(("age", "passes"), [(34.9, True), (35.1, False)])
def test_002_health_fails_after_35_seconds(age: float, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """health adaptor, metrics"""
    one = Leadership(CLUSTER, "c", "a", 15, 1, age, 1, 1, 0, is_wanted=True)
    monkeypatch.setattr(leadership, "leaderships", lambda: [one])
    told = health.leader_election()
    assert told == ("" if passes else "failed election to renew leadership on lease kube-scheduler of cluster c")
    assert {"leader_election_master_status", "leader_election_slowpath_total"} <= CATALOG.keys()
    assert not one.is_led


def test_002_transitions_are_watched_and_writes_fenced() -> None:
    """no fencing, monitoring transitions

    That the database refuses the write is tests/web/scheduling/test_host.py::test_fenced_out_engine_writes_nothing.
    """
    assert CATALOG["ksched_lease_transitions"].labels == ("name",)
    lock = MemoryLock()
    one, two = Candidate("a", lock), Candidate("b", lock)
    behind = []
    for leader, other in ((one, two), (two, one), (one, two)):
        leader.elector.tick()
        other.elector.tick()
        other.clock.now += 20  # the leader is silent for so long
        other.elector.tick()
        leader.elector.renew()
        assert (leader.leads, other.leads) == (False, True)
        behind.append(lock.epoch - lock.row.transitions)
    assert lock.row.transitions == 4 and behind == sorted(behind)


def test_002_advice_for_slow_databases_is_written_down() -> None:
    """API latency advice"""
    rules = (environment.ROOT / "deploy" / "rules.yml").read_text()
    assert re.search(r"alert: KschedLeadersChangeOften\n\s+expr: changes\(ksched_lease_transitions\[", rules)
    page = (environment.ROOT / "docs" / "operations.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("| `KschedLeadersChangeOften`"))
    assert "raise retry period, renew deadline and lease duration together" in line


def test_001_start_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    """start sequence, election retry 2 s

    The election comes first: an engine is built by a slice, and there is none before a lease is won.
    """
    built: list[int] = []
    monkeypatch.setattr(slices, "EngineHost", lambda cluster_id, epoch, **_: built.append(epoch) or Idle(epoch))
    candidate = Candidate("a", MemoryLock(is_away=True))
    worker = Worker("a", candidate.elector)
    tries: list[float] = []
    engines: list[tuple[bool, int]] = []
    renew = candidate.elector.renew

    def renew_and_note() -> None:
        tries.append(candidate.clock.now)
        candidate.lock.is_away = len(tries) < 3
        worker.slice(CLUSTER)
        engines.append((candidate.leads, len(built)))
        renew()

    candidate.elector.renew = renew_and_note  # type: ignore[method-assign]
    run_loop(candidate, seconds=9)
    # Two tries while the database is away, and on from there; each two seconds after the one before.
    assert [after - before for before, after in itertools.pairwise(tries)] == pytest.approx([2.0] * 4)
    assert candidate.started == [CLUSTER]
    assert engines == [(False, 0), (False, 0), (False, 0), (True, 1), (True, 1)]
    assert built == [1]  # under the epoch of the lease


class Idle:
    """An engine with nothing to do."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def step(self) -> StepOutcome:
        return StepOutcome(cycles=0, changes=0, due_in=None)


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


def test_001_end_hands_clusters_over(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """life cycle: election → framework → queue → informers → loop; SIGTERM

    With real workers and a signal: tests/web/scheduling/test_workers.py.
    """
    lock, sent = MemoryLock(), []
    leader, standby = Candidate("a", lock), Candidate("b", lock)
    leader.elector.tick()
    monkeypatch.setattr(slices, "_worker", Worker("a", leader.elector))
    monkeypatch.setattr(wake, "send", lambda task, **given: sent.append((task, given)))
    with caplog.at_level("INFO"):
        slices.worker_stop()
    assert "Requested to terminate, exiting" in [r.msg["event"] for r in caplog.records if isinstance(r.msg, dict)]
    assert (leader.leads, lock.row.holder, sent) == (False, "", [("scheduling.ensure_leader", {"cluster_id": CLUSTER})])
    standby.elector.tick()  # at its next look, without waiting for the lease to run out
    assert standby.leads
