"""The loop with real Celery workers, a real broker and kills."""

import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
from django.db.models import Count

from kschedweb.cluster.models import Cluster, Pod
from kschedweb.common import wake
from kschedweb.ops.processes import wait_until
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, Lease, LeaseFence
from kschedweb.scheduling.runner.sweep import sweep
from kschedweb.traces.models import Attempt, EngineStep
from tests.builders import make_node, make_pod
from tests.faults.service import descendants
from tests.web.scheduling.conftest import PutObjects, lead

pytestmark = pytest.mark.django_db(transaction=True)

StartWorker = Callable[..., "subprocess.Popen[bytes]"]
QUICK_LEASE = {
    "KSCHED_LEASE_DURATION_SECONDS": "3",
    "KSCHED_RENEW_DEADLINE_SECONDS": "2",
    "KSCHED_RETRY_PERIOD_SECONDS": "0.5",
}


def eventually(happens: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Wait until it happens; fail when it does not."""
    ends_at = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < ends_at, "it did not happen in time"
        time.sleep(0.1)


def small_cluster(name: str, put_objects: PutObjects, *, pods: int = 60) -> Cluster:
    """Room for all: ten nodes, pods of which each node takes a dozen."""
    cluster = Cluster.objects.create(name=name, seed=5)
    nodes = [make_node(f"n{i}").capacity(cpu="12", memory="64Gi", pods="110").manifest() for i in range(10)]
    put_objects(cluster, [*nodes, *(make_pod(f"p{i}").req(cpu="1", memory="1Gi").manifest() for i in range(pods))])
    return cluster


def unbound(cluster: Cluster) -> int:
    return Pod.objects.filter(cluster=cluster, node_name="").count()


def test_pods_are_bound_by_workers_when_woken_by_messages_alone(
    start_worker: StartWorker, put_objects: PutObjects
) -> None:
    start_worker("scheduler", **QUICK_LEASE)
    start_worker("binding")
    cluster = small_cluster("woken", put_objects)
    eventually(lambda: unbound(cluster) == 0)
    assert Attempt.objects.filter(cluster=cluster, result="scheduled").count() == 60


def test_sweep_finds_work_whose_messages_were_lost(start_worker: StartWorker, put_objects: PutObjects) -> None:
    cluster = small_cluster("lost", put_objects)
    host = lead(cluster)
    while host.step().due_in == 0:  # decided by a worker that is no more; nothing was woken
        pass
    assert Binding.objects.filter(cluster=cluster).count() == 60
    tasks = {task for task, _ in sweep()}
    assert "scheduling.bindings_run" not in tasks  # too young to be lost
    Binding.objects.update(created_at="2020-01-01T00:00:00Z")
    assert ("scheduling.bindings_run", str(cluster.pk)) in sweep()
    start_worker("binding")
    eventually(lambda: unbound(cluster) == 0)


def test_killed_scheduler_is_replaced_and_every_pod_is_bound_once(
    start_worker: StartWorker, put_objects: PutObjects
) -> None:
    first = start_worker("scheduler", **QUICK_LEASE)
    start_worker("binding")
    Cluster.objects.create(name="warm-up")
    eventually(lambda: LeaseFence.objects.exists())
    cluster = small_cluster("killed", put_objects, pods=110)
    Cluster.objects.filter(pk=cluster.pk).update(pace="slow", pace_rate=40)
    eventually(lambda: Binding.objects.filter(cluster=cluster, status=WorkStatus.DONE).count() > 5)
    os.killpg(first.pid, signal.SIGKILL)
    assert unbound(cluster) > 0
    start_worker("scheduler", **QUICK_LEASE)
    Cluster.objects.filter(pk=cluster.pk).update(pace="run", pace_rate=None)
    wake.send("scheduling.ensure_leader", cluster_id=cluster.pk)
    eventually(lambda: unbound(cluster) == 0)
    done = Binding.objects.filter(cluster=cluster, status=WorkStatus.DONE)
    assert done.count() == 110
    assert not done.values("pod_uid").annotate(times=Count("id")).filter(times__gt=1).exists()
    twin = small_cluster("undisturbed", put_objects, pods=110)
    eventually(lambda: unbound(twin) == 0)
    assert set(Pod.objects.filter(cluster=cluster).exclude(node_name="").values_list("name", flat=True)) == set(
        Pod.objects.filter(cluster=twin).exclude(node_name="").values_list("name", flat=True)
    )


def leader_of(cluster: Cluster, workers: dict[str, "subprocess.Popen[bytes]"]) -> str:
    """The name of the worker that leads."""
    found: list[str] = []

    def is_led() -> bool:
        holder = Lease.objects.filter(cluster=cluster).values_list("holder", flat=True).first() or ""
        found[:] = [name for name in workers if holder.startswith(f"{name}/")]
        return bool(found)

    eventually(is_led)
    return found[0]


def test_frozen_leader_writes_nothing_after_another_took_over(
    start_worker: StartWorker, put_objects: PutObjects
) -> None:
    workers = {name: start_worker("scheduler", **QUICK_LEASE, KSCHED_WORKER_ID=name) for name in ("one", "two")}
    start_worker("binding")
    cluster = small_cluster("frozen", put_objects, pods=110)
    Cluster.objects.filter(pk=cluster.pk).update(pace="slow", pace_rate=20)
    old = leader_of(cluster, workers)
    eventually(lambda: Binding.objects.filter(cluster=cluster).count() > 5)
    epoch = LeaseFence.objects.get(cluster=cluster).epoch
    frozen = descendants(workers[old].pid)
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    stopped_at = time.monotonic()
    try:
        assert unbound(cluster) > 50
        eventually(lambda: LeaseFence.objects.get(cluster=cluster).epoch > epoch, seconds=30)
        # Lease and a jittered pause, the server's patience with a silent transaction, and a busy machine.
        assert time.monotonic() - stopped_at < 3 + 1.1 + 2 + 6
        eventually(lambda: EngineStep.objects.filter(cluster=cluster, epoch__gt=epoch, cycles__gt=0).exists())
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    log = workers[old].log_path  # type: ignore[attr-defined]
    eventually(lambda: "Leaderelection lost" in log.read_text(errors="replace"))
    Cluster.objects.filter(pk=cluster.pk).update(pace="run", pace_rate=None)
    wake.send("scheduling.ensure_leader", cluster_id=cluster.pk)
    eventually(lambda: unbound(cluster) == 0)
    first = EngineStep.objects.filter(cluster=cluster, epoch__gt=epoch).order_by("id").first()
    assert first is not None
    assert not EngineStep.objects.filter(cluster=cluster, epoch=epoch, id__gt=first.pk).exists()
    assert workers[old].poll() is None  # it goes on as a standby
    done = Binding.objects.filter(cluster=cluster, status=WorkStatus.DONE)
    assert done.count() == 110 == done.values("pod_uid").distinct().count()


def test_leader_that_is_told_to_end_hands_over_at_once(start_worker: StartWorker, put_objects: PutObjects) -> None:
    long = {**QUICK_LEASE, "KSCHED_LEASE_DURATION_SECONDS": "60", "KSCHED_RENEW_DEADLINE_SECONDS": "40"}
    workers = {name: start_worker("scheduler", **long, KSCHED_WORKER_ID=name) for name in ("one", "two")}
    cluster = small_cluster("handed-over", put_objects)
    leader = leader_of(cluster, workers)
    other = next(name for name in workers if name != leader)
    eventually(lambda: "engine built" in workers[leader].log_path.read_text(errors="replace"))  # type: ignore[attr-defined]
    eventually(lambda: "attempting to acquire" in workers[other].log_path.read_text(errors="replace"))  # type: ignore[attr-defined]
    workers[leader].send_signal(signal.SIGTERM)
    assert wait_until(lambda: workers[leader].poll() is not None, seconds=30)
    ended_at = time.monotonic()
    eventually(lambda: Lease.objects.get(cluster=cluster).holder.startswith(f"{other}/"), seconds=10)
    assert time.monotonic() - ended_at < 3
    assert workers[leader].returncode == 0
    log = workers[leader].log_path.read_text(errors="replace")  # type: ignore[attr-defined]
    assert "Requested to terminate, exiting" in log
