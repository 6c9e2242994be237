"""Coverage of the document on leader election: one test, or a few, for each of its mechanisms.

The elector runs on a lock in memory with clocks of its own; what the database adds (the fence, waiting writers, real
workers that are frozen, killed and told to end) is in tests/web/scheduling.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any

import pytest
from django.db import OperationalError

from kschedweb import environment
from kschedweb.common.metrics import RECORDER
from kschedweb.ops.worker import new_worker_id
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.models import Lease
from kschedweb.scheduling.runner.slices import Worker
from scheduler_core import config
from scheduler_core.errors import ConfigError
from tests.coverage.election import CLUSTER, TIMES, Candidate, Clock, MemoryLock, Row, run_loop


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
    assert names == {
        "cluster",
        "holder",
        "duration_seconds",
        "acquired_at",
        "renewed_at",
        "transitions",
        "version",
        "beats",
    }
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
        (lambda: LeaseTimes(0, 0, 0), "leaseDuration must be greater than renewDeadline"),
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
