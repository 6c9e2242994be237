"""The loop with real Celery workers and a real broker: workers that are killed, frozen, told to end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.db import transaction
from django.db.models import Count

from kschedweb.cluster.models import Cluster, Pod
from kschedweb.common import wake
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, Lease, LeaseFence
from kschedweb.scheduling.past.replaying import replay_of
from kschedweb.scheduling.runner.sweep import sweep
from kschedweb.traces.models import Attempt, EngineStep
from tests.builders import make_node, make_pod
from tests.faults.service import descendants
from tests.waiting import eventually
from tests.web.conftest import StartProcess, messages_dropped, starting
from tests.web.scheduling.conftest import lead, put

# Longer than any test waits: who leads changes because of what a test does, and not because the machine is busy.
LEASE = {
    "KSCHED_LEASE_DURATION_SECONDS": "900",
    "KSCHED_RENEW_DEADLINE_SECONDS": "600",
    "KSCHED_RETRY_PERIOD_SECONDS": "0.3",
}


class Workers:
    """Two scheduler workers and one for bindings, which the tests of this file share."""

    def __init__(self, start: StartProcess) -> None:
        self._start = start
        self._schedulers: dict[str, subprocess.Popen[bytes]] = {}
        start("kschedweb.ops.worker", "binding")
        self.complete()

    def complete(self) -> None:
        """Start others in place of those that have ended, and wait until all elect."""
        gone = [name for name, process in self._schedulers.items() if process.poll() is not None]
        for name in gone:
            del self._schedulers[name]
        while len(self._schedulers) < 2:
            name = os.urandom(4).hex()
            self._schedulers[name] = self._start("kschedweb.ops.worker", "scheduler", **LEASE, KSCHED_WORKER_ID=name)
        for name in self._schedulers:
            eventually(lambda name=name: "attempting to acquire" in self.log(name), lambda name=name: self.log(name))  # type: ignore[misc]

    def log(self, name: str) -> str:
        return str(self._schedulers[name].log_path.read_text(errors="replace"))  # type: ignore[attr-defined]

    def leader_of(self, cluster: Cluster) -> str:
        """The name of the worker that leads, once one does."""
        eventually(lambda: self.holder_of(cluster))
        return self.holder_of(cluster)

    def holder_of(self, cluster: Cluster) -> str:
        holder = Lease.objects.filter(cluster=cluster).values_list("holder", flat=True).first() or ""
        return next((name for name in self._schedulers if holder.startswith(f"{name}/")), "")

    def __getitem__(self, name: str) -> subprocess.Popen[bytes]:
        return self._schedulers[name]


@pytest.fixture(scope="module")
def of_this_file(committed: None, valkey_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    with redis.Redis.from_url(valkey_url) as client:
        messages_dropped(client)
    with starting(tmp_path_factory.mktemp("workers")) as start:
        yield Workers(start)


@pytest.fixture
def workers(of_this_file: Workers) -> Workers:
    of_this_file.complete()
    return of_this_file


def small_cluster(name: str, *, pods: int = 60, led_by: str = "") -> Cluster:
    """Room for all: ten nodes, pods of which each node takes a dozen."""
    with transaction.atomic():
        cluster = Cluster.objects.create(name=name, seed=5)
        if led_by:
            Lease.objects.create(cluster=cluster, holder=led_by, duration_seconds=900)
    nodes = [make_node(f"n{i}").capacity(cpu="12", memory="64Gi", pods="110").manifest() for i in range(10)]
    put(cluster, *nodes, *(make_pod(f"p{i}").req(cpu="1", memory="1Gi") for i in range(pods)))
    return cluster


def slow_cluster(name: str) -> Cluster:
    """One whose pods are bound so slowly that a test comes in between, however busy the machine is."""
    cluster = small_cluster(name, pods=0)
    Cluster.objects.filter(pk=cluster.pk).update(pace="slow", pace_rate=2)
    put(cluster, *(make_pod(f"p{i}").req(cpu="1", memory="1Gi") for i in range(110)))
    return cluster


def let_run(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(pace="run", pace_rate=None)
    wake.send("scheduling.ensure_leader", cluster_id=cluster.pk)


def expire(cluster: Cluster) -> None:
    """Let the lease be over, as it would be after its duration."""
    Lease.objects.filter(cluster=cluster).update(duration_seconds=0.5)


def unbound(cluster: Cluster) -> int:
    return Pod.objects.filter(cluster=cluster, node_name="").count()


def assert_bound_once(cluster: Cluster, pods: int) -> None:
    done = Binding.objects.filter(cluster=cluster, status=WorkStatus.DONE)
    assert done.count() == pods
    assert not done.values("pod_uid").annotate(times=Count("id")).filter(times__gt=1).exists()


def assert_identical(cluster: Cluster) -> None:
    """What the workers decided comes out again, whichever of them were killed."""
    replay = replay_of(cluster.pk)
    replay.go()
    assert (replay.difference, replay.unproven) == (None, 0)
    assert replay.cycles >= Binding.objects.filter(cluster=cluster, status=WorkStatus.DONE).count()


def test_pods_are_bound_by_workers_when_woken_by_messages_alone(workers: Workers) -> None:
    cluster = small_cluster("woken")
    eventually(lambda: unbound(cluster) == 0)
    assert Attempt.objects.filter(cluster=cluster, result="scheduled").count() == 60
    assert_identical(cluster)


def test_sweep_finds_work_whose_messages_were_lost(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(wake, "send", lambda *_, **__: None)
        broken.setattr(wake, "BINDINGS_CHANNEL", "nobody")
        cluster = small_cluster("lost", led_by="a worker that is no more")
        host = lead(cluster)
        while host.step().due_in == 0:
            pass
    pending = Binding.objects.filter(cluster=cluster, status=WorkStatus.PENDING)
    assert pending.count() == 60
    Binding.objects.filter(cluster=cluster).update(created_at="2100-01-01T00:00:00Z")
    task = ("scheduling.bindings_run", str(cluster.pk))
    assert task not in sweep()  # too young to be lost
    assert pending.count() == 60
    Binding.objects.filter(cluster=cluster).update(created_at="2020-01-01T00:00:00Z")
    assert task in sweep()
    eventually(lambda: unbound(cluster) == 0)


@pytest.mark.slow  # of the whole service tests/faults has the like
def test_killed_scheduler_is_replaced_and_every_pod_is_bound_once(workers: Workers) -> None:
    cluster = slow_cluster("killed")
    leader = workers.leader_of(cluster)
    eventually(lambda: Binding.objects.filter(cluster=cluster, status=WorkStatus.DONE).count() > 2)
    os.killpg(workers[leader].pid, signal.SIGKILL)
    assert unbound(cluster) > 0
    expire(cluster)
    let_run(cluster)
    eventually(lambda: unbound(cluster) == 0)
    assert_bound_once(cluster, 110)
    assert_identical(cluster)


def test_frozen_leader_writes_nothing_after_another_took_over(workers: Workers) -> None:
    cluster = slow_cluster("frozen")
    old = workers.leader_of(cluster)
    eventually(lambda: Binding.objects.filter(cluster=cluster).count() > 2)
    epoch = LeaseFence.objects.get(cluster=cluster).epoch
    frozen = descendants(workers[old].pid)
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert unbound(cluster) > 0
        expire(cluster)
        eventually(lambda: LeaseFence.objects.get(cluster=cluster).epoch > epoch)
        eventually(lambda: EngineStep.objects.filter(cluster=cluster, epoch__gt=epoch, cycles__gt=0).exists())
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    eventually(lambda: "Leaderelection lost" in workers.log(old))
    let_run(cluster)
    eventually(lambda: unbound(cluster) == 0)
    first = EngineStep.objects.filter(cluster=cluster, epoch__gt=epoch).order_by("id").first()
    assert first is not None
    assert not EngineStep.objects.filter(cluster=cluster, epoch=epoch, id__gt=first.pk).exists()
    assert workers[old].poll() is None  # it goes on as a standby
    assert_bound_once(cluster, 110)


def test_leader_that_is_told_to_end_hands_over(workers: Workers) -> None:
    """At once: nobody waits here for as long as a lease lasts."""
    cluster = small_cluster("handed-over")
    leader = workers.leader_of(cluster)
    eventually(lambda: "engine built" in workers.log(leader))
    process, log_path = workers[leader], Path(workers[leader].log_path)  # type: ignore[attr-defined]
    process.send_signal(signal.SIGTERM)
    eventually(lambda: workers.holder_of(cluster) not in ("", leader))
    eventually(lambda: process.poll() is not None)
    assert process.returncode == 0
    assert "Requested to terminate, exiting" in log_path.read_text(errors="replace")
