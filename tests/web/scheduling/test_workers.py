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
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, LeaseFence
from kschedweb.scheduling.runner.sweep import sweep
from kschedweb.traces.models import Attempt
from tests.builders import make_node, make_pod
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
    lead(cluster).step()  # decided by a worker that is no more; nothing was woken
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
