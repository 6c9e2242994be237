"""Coverage of the document on leader election: how leading begins, is lost and handed over."""

from __future__ import annotations

import itertools
import os
import re

import pytest

from kschedweb import environment
from kschedweb.common import wake
from kschedweb.common.metrics.catalog import CATALOG
from kschedweb.scheduling import health, leadership
from kschedweb.scheduling.leadership import Leadership
from kschedweb.scheduling.leases import FencedOutError
from kschedweb.scheduling.runner import slices
from kschedweb.scheduling.runner.host import StepOutcome
from kschedweb.scheduling.runner.slices import Worker
from scheduler_core.errors import CacheCorruptedError
from tests.coverage.election import CLUSTER, Candidate, MemoryLock, run_loop


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
