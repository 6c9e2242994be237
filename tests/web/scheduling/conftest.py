"""A cluster with objects, and the scheduler's work on it called without Celery."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.cluster.services.objects import PutOptions, objects_put
from kschedweb.scheduling import leases
from kschedweb.scheduling.runner import bindings
from kschedweb.scheduling.runner.host import EngineHost

PutObjects = Callable[[Cluster, Iterable[dict[str, Any]]], None]


@pytest.fixture
def put_objects() -> PutObjects:
    """Put manifests into a cluster as an upload does."""

    def put(cluster: Cluster, manifests: Iterable[dict[str, Any]]) -> None:
        items = [
            Item(Place("test"), manifest, str(manifest["apiVersion"]), str(manifest["kind"])) for manifest in manifests
        ]
        objects_put(cluster_id=cluster.pk, items=items, options=PutOptions(), actor="test")

    return put


@pytest.fixture
def cluster(db: None) -> Cluster:
    """An empty cluster."""
    return Cluster.objects.create(name="scheduled", seed=1)


def lead(cluster: Cluster, holder: str = "test") -> EngineHost:
    """A new leader's engine."""
    return EngineHost(cluster.pk, leases.fence_raise(cluster_id=cluster.pk, holder=holder))


def bind_untold(cluster: Cluster, name: str, node_name: str) -> None:
    """Let a pod have a node of which the log does not tell, so that the engine does not know it yet."""
    row = Pod.objects.get(cluster=cluster, name=name)
    row.node_name = row.manifest["spec"]["nodeName"] = node_name
    row.save()


def settle(cluster: Cluster, host: EngineHost, rounds: int = 100) -> None:
    """Steps and bindings until nothing is due at once."""
    for _ in range(rounds):
        outcome = host.step()
        bound = bindings.bindings_run(cluster.pk)
        if not bound and not outcome.changes and (outcome.due_in is None or outcome.due_in > 0):
            return
    raise AssertionError("the cluster does not settle")
