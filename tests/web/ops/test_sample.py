"""The sample in the tables: loaded once, all of it, and alive when the life cycle ticks."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from kschedweb.cluster.models import ApiObject, Change, Cluster, Node, Pod
from kschedweb.lifecycle.runner import ControllerHost
from kschedweb.ops import sample
from scheduler_core.sim.otter_post.apps import SERVICES
from scheduler_core.sim.otter_post.script import SCRIPT

pytestmark = pytest.mark.django_db
OWNERS = ("Deployment", "StatefulSet", "DaemonSet", "Job")


START = datetime(2026, 3, 2, 12, tzinfo=UTC)  # when it starts decides what arrives when


def started_sample() -> tuple[Cluster, int]:
    """The sample as loaded at START, and START in microseconds."""
    cluster = sample.load()
    cluster.created_at = START
    cluster.save(update_fields=["created_at"])
    return cluster, int(START.timestamp()) * 1_000_000


def names_of_owners() -> set[tuple[str, str]]:
    return set(ApiObject.objects.filter(kind__in=OWNERS).values_list("kind", "name"))


def test_sample_loads_nodes_classes_services_and_the_first_jobs() -> None:
    cluster = sample.load()
    assert (cluster.is_sample, cluster.lifecycle_mode) == (True, "simulate")
    nodes = Node.objects.filter(cluster=cluster)
    assert nodes.count() == 60
    assert set(nodes.values_list("zone", flat=True)) == {"river-a", "river-b", "river-c"}
    assert not Pod.objects.filter(cluster=cluster).exists()  # controllers make them
    assert {each for each in names_of_owners() if each[0] != "Job"} == {(each.kind, each.name) for each in SERVICES}
    assert 10 < ApiObject.objects.filter(cluster=cluster, kind="Job").count() < 60
    assert ApiObject.objects.filter(cluster=cluster, kind="PodDisruptionBudget").count() == 3
    assert ApiObject.objects.filter(cluster=cluster, kind="CSINode").count() == 60
    assert ApiObject.objects.filter(cluster=cluster, kind="PriorityClass").count() == 4
    cluster.refresh_from_db()
    assert Change.objects.filter(cluster_id=cluster.pk).count() == cluster.rv


def test_sample_is_loaded_once() -> None:
    first = sample.load()
    assert sample.load().pk == first.pk
    assert Cluster.objects.count() == 1


def test_sample_is_the_same_each_time_it_is_made() -> None:
    sample.load()
    names = names_of_owners()
    ApiObject.objects.all().delete()
    Cluster.objects.all().update(is_sample=False, name="earlier")
    sample.load()
    assert names_of_owners() == names


@pytest.mark.django_db(transaction=True)
def test_services_have_their_pods_and_jobs_arrive_when_the_life_cycle_ticks() -> None:
    cluster, start = started_sample()
    first = ApiObject.objects.filter(cluster=cluster, kind="Job").count()
    host = ControllerHost.build(cluster.pk)
    for second in range(1, 21):
        host.step(start + second * 1_000_000)
    assert host.due is not None
    assert host.due <= start + 21_000_000
    pods = Pod.objects.filter(cluster=cluster)
    apps = Counter(pod.manifest["metadata"]["labels"]["app"] for pod in pods)
    for service in SERVICES:
        # Those of a StatefulSet come one after the other, and nobody schedules here.
        assert apps[service.name] == (1 if service.kind == "StatefulSet" else service.replicas), service.name
    assert set(pods.values_list("priority", flat=True)) == {1_000_000, 1_000, -100}
    assert pods.filter(gated=True).count() == 4
    arrived = ApiObject.objects.filter(cluster=cluster, kind="Job").count() - first
    assert 2 < arrived < 12
    assert Change.objects.filter(cluster_id=cluster.pk, actor="sample", kind="Job").count() == first + arrived


@pytest.mark.django_db(transaction=True)
def test_drain_closes_a_node_for_a_while_when_its_time_has_come() -> None:
    cluster, start = started_sample()
    host = ControllerHost.build(cluster.pk)
    closed = Node.objects.filter(cluster=cluster, unschedulable=True)
    for second in (SCRIPT.drain_at - 20, SCRIPT.drain_at - 1):
        host.step(start + second * 1_000_000)
    assert not closed.exists()
    # What the script asks for is done in the next step.
    for second in (1, 2):
        host.step(start + (SCRIPT.drain_at + second) * 1_000_000)
    assert closed.get().manifest["spec"]["unschedulable"] is True
    host.step(start + (SCRIPT.drain_at + SCRIPT.drain_seconds + 1) * 1_000_000)
    assert not closed.exists()
