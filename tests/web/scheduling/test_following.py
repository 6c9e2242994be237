"""Whoever follows a cluster keeps one object for equal parts of its pods where many are read at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kschedweb.cluster import follow
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.past.objects import objects_at
from scheduler_core.api import manifests
from scheduler_core.api.pod import Pod
from scheduler_core.model.changes import Change
from tests.builders import make_pod
from tests.cases import cases
from tests.web.scheduling.conftest import put

pytestmark = pytest.mark.django_db(transaction=True)


def pods_of(changes: Sequence[Change]) -> list[Pod]:
    return [change.obj for change in changes if isinstance(getattr(change, "obj", None), Pod)]


def read_anew(pods: Sequence[Pod]) -> list[Pod]:
    """Each as it is without what it shares."""
    return [manifests.convert(manifests.encode(pod), Pod) for pod in pods]


@cases(
    "read",
    ("all that is stored", lambda cluster: follow.stored_changes(cluster_id=cluster.pk)),
    ("many changes", lambda cluster: follow.changes_after(cluster_id=cluster.pk, rv=0)[0]),
    ("an earlier moment", lambda cluster: objects_at(cluster.pk, cluster.rv).puts()),
)
def test_equal_parts_of_many_pods_are_one_object(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, read: Callable[[Cluster], Sequence[Change]]
) -> None:
    monkeypatch.setattr(follow, "MANY", 3)
    put(cluster, make_pod("p0").req(cpu="1"), make_pod("p1").req(cpu="1"), make_pod("p2").req(cpu="2"))
    cluster.refresh_from_db()
    first, second, third = pods = pods_of(read(cluster))
    assert first.spec.containers is second.spec.containers
    assert third.spec.containers is not first.spec.containers
    assert pods == read_anew(pods)
    requests = [str(pod.spec.containers[0].resources.requests["cpu"]) for pod in pods]
    assert requests == ["1", "1", "2"]


def test_few_changes_are_taken_as_they_come(cluster: Cluster) -> None:
    put(cluster, make_pod("p0").req(cpu="1"), make_pod("p1").req(cpu="1"))
    first, second = pods_of(follow.changes_after(cluster_id=cluster.pk, rv=0)[0])
    assert first.spec.containers == second.spec.containers
    assert first.spec.containers is not second.spec.containers
