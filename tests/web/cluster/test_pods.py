"""Pods deleted by people; what all requests do is in the suite of rules (test_store.py)."""

from datetime import UTC, datetime, timedelta

import pytest

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.common.errors import ConflictError, NotFoundError
from tests.cases import cases
from tests.web.rest import items, log, logged_in, pod, upload

pytestmark = pytest.mark.django_db

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    cluster = services.cluster_create(name="c")
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    bound = pod("bound")
    bound["spec"]["nodeName"] = "n9"
    kept = pod("kept", finalizers=["example.com/keep"])
    assert upload(logged_in(), cluster, items(pod("free"), bound, gated, kept)).status_code == 201
    return cluster


def row(name: str) -> Pod:
    return Pod.objects.get(name=name)


@cases(
    "name, grace, left, gone",
    ("an unassigned pod at once", "free", None, None, True),
    ("grace 0 at once", "bound", 0, None, True),
    ("its own grace", "bound", None, 30, False),
    ("the given grace", "bound", 5, 5, False),
    ("a negative grace is one second", "bound", -7, 1, False),
    ("a finalizer keeps it", "kept", None, 0, False),
)
def test_pod_delete_is_graceful(cluster: Cluster, name: str, grace: int | None, left: int | None, gone: bool) -> None:
    assert (
        services.pod_delete(cluster_id=cluster.pk, namespace="default", name=name, actor="ada", grace_seconds=grace)
        == gone
    )
    found = Pod.objects.filter(name=name).first()
    assert (found is None) == gone
    if found is not None:
        assert found.manifest["metadata"]["deletionGracePeriodSeconds"] == left
        assert found.manifest["metadata"]["generation"] == 2
        assert found.deletion_timestamp is not None
    assert log(cluster)[-1][1:] == ("deleted" if gone else "updated", "Pod", name)


def test_pod_delete_only_shortens_the_grace_when_it_comes_again(cluster: Cluster) -> None:
    def delete(grace: int) -> datetime:
        services.pod_delete(cluster_id=cluster.pk, namespace="default", name="bound", actor="ada", grace_seconds=grace)
        moment = row("bound").deletion_timestamp
        assert moment is not None
        return moment

    first, longer, shorter = delete(30), delete(60), delete(10)
    assert longer == first
    assert first - shorter == timedelta(seconds=20)


def test_pod_delete_is_refused_when_the_pod_is_another_or_none(cluster: Cluster) -> None:
    with pytest.raises(ConflictError):
        services.pod_delete(cluster_id=cluster.pk, namespace="default", name="free", actor="ada", uid="other")
    with pytest.raises(NotFoundError):
        services.pod_delete(cluster_id=cluster.pk, namespace="default", name="nobody", actor="ada")
