"""A cluster with objects, and the scheduler's work on it called without Celery."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.cluster.services.objects import PutOptions, objects_put
from kschedweb.scheduling import due, leases
from kschedweb.scheduling.past import asking, moments, proving, trying
from kschedweb.scheduling.runner import bindings
from kschedweb.scheduling.runner.host import EngineHost
from tests.builders import Builder, make_manifest, make_node, make_pod, scheduler_config
from tests.web.scheduling.extenders import ExtenderServer, serving


@pytest.fixture
def all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories that are lived have nothing of which no log tells."""
    monkeypatch.setattr("tests.web.scheduling.lived.bind_untold", lambda *_: None)


@pytest.fixture
def small(cluster: Cluster) -> Cluster:
    """Few pods: a checkpoint, and something after it."""
    put(cluster, make_manifest("Namespace", "secrets"), make_node("n0").capacity(cpu="2"))
    scheduled(cluster, *(make_pod(f"p{number}").req(cpu="1") for number in range(3)))
    return cluster


@pytest.fixture
def never_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories are proven without waiting until their clusters rest."""
    monkeypatch.setattr(due, "REST_SECONDS", 0)


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    """Of moments, of engines to try pods with, and of what is being proven."""
    kept = (moments, proving, trying)
    for each in kept:
        each.forget()
    yield
    for each in kept:
        each.forget()


@contextmanager
def all_places() -> Iterator[None]:
    """As many moments of the past are being read as may be."""
    with ExitStack() as others:
        for _ in range(asking.MOST_OPEN):
            others.enter_context(asking.OPENING.one(0))
        yield


@pytest.fixture
def extender() -> Iterator[ExtenderServer]:
    with serving() as made:
        yield made


def configure(cluster: Cluster, **fields: Any) -> None:
    """Give a cluster a configuration with these fields."""
    Cluster.objects.filter(pk=cluster.pk).update(scheduler_config=scheduler_config(**fields))


def put(cluster: Cluster, *objects: Builder | dict[str, Any]) -> None:
    """Put objects into a cluster as an upload does."""
    manifests = [each if isinstance(each, dict) else each.manifest() for each in objects]
    items = [Item(Place("test"), each, str(each["apiVersion"]), str(each["kind"])) for each in manifests]
    objects_put(cluster_id=cluster.pk, items=items, options=PutOptions(), actor="test")


def lead(cluster: Cluster, holder: str = "test") -> EngineHost:
    """A new leader's engine."""
    return EngineHost(cluster.pk, leases.fence_raise(cluster_id=cluster.pk, holder=holder))


def scheduled(cluster: Cluster, *objects: Builder | dict[str, Any]) -> EngineHost:
    """Put objects into a cluster, and let a new leader schedule all that can be."""
    put(cluster, *objects)
    return settle(lead(cluster))


def bind_untold(cluster: Cluster, name: str, node_name: str) -> None:
    """Let a pod have a node of which the log does not tell, so that the engine does not know it yet."""
    row = Pod.objects.get(cluster=cluster, name=name)
    row.node_name = row.manifest["spec"]["nodeName"] = node_name
    row.save()


def settle(host: EngineHost, rounds: int = 100) -> EngineHost:
    """Steps and bindings until nothing is due at once."""
    for _ in range(rounds):
        outcome = host.step()
        bound = bindings.bindings_run(host.cluster_id)
        if not bound and not outcome.changes and (outcome.due_in is None or outcome.due_in > 0):
            return host
    raise AssertionError("the cluster does not settle")


@pytest.fixture
def busy(cluster: Cluster) -> Cluster:
    """One node, and a pod that fits on it."""
    put(cluster, make_node("n1").capacity(cpu="4"), make_pod("a").req(cpu="1", memory="1Gi"))
    return cluster
