"""The sample in the tables: loaded once, all of it, and alive when the life cycle ticks."""

from __future__ import annotations

import pytest

from kschedweb.cluster.models import ApiObject, Change, Cluster, Node, Pod
from kschedweb.lifecycle.runner import ControllerHost
from kschedweb.ops import sample
from scheduler_core.sim.otter_post import FIRST_WAVE
from scheduler_core.sim.otter_post.apps import SCRIPT

pytestmark = pytest.mark.django_db


def test_sample_loads_nodes_classes_and_the_first_wave() -> None:
    cluster = sample.load()
    assert (cluster.is_sample, cluster.lifecycle_mode) == (True, "simulate")
    nodes = Node.objects.filter(cluster=cluster)
    assert nodes.count() == 60
    assert set(nodes.values_list("zone", flat=True)) == {"river-a", "river-b", "river-c"}
    pods = Pod.objects.filter(cluster=cluster)
    assert pods.count() == FIRST_WAVE
    assert pods.filter(gated=True).count() == 4
    assert pods.filter(node_name="").count() == FIRST_WAVE
    assert ApiObject.objects.filter(cluster=cluster, kind="PodDisruptionBudget").count() == 3
    assert ApiObject.objects.filter(cluster=cluster, kind="PersistentVolumeClaim").count() == 2
    assert ApiObject.objects.filter(cluster=cluster, kind="CSINode").count() == 60
    assert set(pods.values_list("priority", flat=True)) == {1_000_000, 1_000, -100}
    assert ApiObject.objects.filter(cluster=cluster, kind="PriorityClass").count() == 4
    cluster.refresh_from_db()
    assert Change.objects.filter(cluster_id=cluster.pk).count() == cluster.rv


def test_sample_is_loaded_once() -> None:
    first = sample.load()
    assert sample.load().pk == first.pk
    assert Cluster.objects.count() == 1
    assert Pod.objects.count() == FIRST_WAVE


def test_sample_is_the_same_each_time_it_is_made() -> None:
    names = set(Pod.objects.filter(cluster=sample.load()).values_list("namespace", "name"))
    Pod.objects.all().delete()
    Cluster.objects.all().update(is_sample=False, name="earlier")
    assert set(Pod.objects.filter(cluster=sample.load()).values_list("namespace", "name")) == names


@pytest.mark.django_db(transaction=True)
def test_jobs_arrive_when_the_life_cycle_ticks() -> None:
    cluster = sample.load()
    host = ControllerHost.build(cluster.pk)
    start = int(cluster.created_at.timestamp() * 1_000_000)
    for half in range(1, 21):
        due = host.step(start + half * 500_000)
    assert due is not None
    assert due <= 0.5
    jobs = {job.name for job in SCRIPT.jobs}
    new = [pod for pod in Pod.objects.filter(cluster=cluster) if pod.manifest["metadata"]["labels"]["app"] in jobs]
    assert 10 < len(new) - (FIRST_WAVE - sum(service.replicas for service in SCRIPT.services)) < 35
    assert Change.objects.filter(cluster_id=cluster.pk, actor="sample", kind="Pod").count() == Pod.objects.count()


@pytest.mark.django_db(transaction=True)
def test_drain_closes_a_node_for_a_while_when_its_time_has_come() -> None:
    cluster = sample.load()
    host = ControllerHost.build(cluster.pk)
    start = int(cluster.created_at.timestamp() * 1_000_000)
    closed = Node.objects.filter(cluster=cluster, unschedulable=True)
    host.step(start + 119_000_000)
    assert not closed.exists()
    host.step(start + (SCRIPT.drain_at + 1) * 1_000_000)
    assert closed.count() == 1
    assert closed.get().manifest["spec"]["unschedulable"] is True
    host.step(start + (SCRIPT.drain_at + SCRIPT.drain_seconds + 1) * 1_000_000)
    assert not closed.exists()
