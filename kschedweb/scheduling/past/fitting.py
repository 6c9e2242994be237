"""What would make a pod fit, tried on what is stored now: a pod of the cluster, or a manifest that is not in it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kschedweb.cluster import adapters, selectors
from kschedweb.cluster.models import Cluster
from kschedweb.common.errors import InvalidError
from kschedweb.scheduling.past import journal, stores, walking
from kschedweb.scheduling.past.objects import Objects, objects_at
from scheduler_core.api.pod import Pod
from scheduler_core.explain.fits.changes import with_costs
from scheduler_core.explain.fits.search import Fits, fits
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.scheduler import Budget

_NO_CYCLES = Budget(max_cycles=0)
_OF_THE_SERVER = frozenset({"uid", "creationTimestamp", "deletionTimestamp", "resourceVersion", "managedFields"})


@dataclass(frozen=True, slots=True)
class FitsTold:
    """`rv`: the position of the change log that it is about; `costs`: the whole table that ranked it."""

    namespace: str
    name: str
    rv: int
    fits: Fits
    costs: Mapping[str, int]


def pod_fits(*, cluster_id: int, namespace: str, name: str, costs: str, limit: int) -> FitsTold:
    """Of a pod without a node. NotFoundError, ClusterGoneError; InvalidError for one that has a node, is not tried by
    this scheduler, or for costs that cannot be; NotReplayableError where no engine can be made.
    """
    cluster, table = journal.ends(cluster_id), _costs(costs)
    row = selectors.pod_get(cluster_id=cluster_id, namespace=namespace, name=name)
    if row.node_name:
        raise InvalidError(f"the pod is on {row.node_name}", node=row.node_name)
    engine = _engine(cluster, objects_at(cluster_id, cluster.rv))
    pod = engine.store.pod(f"{namespace}/{name}")
    if pod is None:
        raise InvalidError("the scheduler does not know the pod: it has ended")
    return _told(cluster, engine, pod, table, limit)


def manifest_fits(*, cluster_id: int, manifest: Mapping[str, Any], costs: str, limit: int) -> FitsTold:
    """Of the manifest of a pod, as the cluster would admit it; nothing is stored. Raises as `pod_fits`."""
    cluster, table = journal.ends(cluster_id), _costs(costs)
    there = objects_at(cluster_id, cluster.rv)
    engine = _engine(cluster, there)
    pod = _admitted(there, manifest, engine.now)
    return _told(cluster, engine, pod, table, limit)


def _told(cluster: Cluster, engine: Engine, pod: Pod, costs: Mapping[str, int], limit: int) -> FitsTold:
    with walking.without_collecting():
        found = fits(engine, pod, costs=costs, limit=limit)
    if found is None:
        name = pod.spec.scheduler_name
        raise InvalidError(
            "the pod is being deleted" if pod.is_terminating else f"no profile of the scheduler is called {name}",
            profiles=sorted(engine.frameworks),
        )
    return FitsTold(pod.namespace, pod.name, cluster.rv, found, costs)


def _engine(cluster: Cluster, objects: Objects) -> Engine:
    """An engine of its own that knows these objects."""
    scheduler = walking.bare_engine(cluster, cluster.config_version)
    with walking.without_collecting():
        scheduler.step(stores.of(cluster.pk).now(), objects.puts(), _NO_CYCLES)
    return scheduler.engine


def _admitted(there: Objects, manifest: Mapping[str, Any], now: int) -> Pod:
    known = (each for kind in sorted(adapters.ADMISSION_KINDS) for each in there.manifests(kind))
    metadata = {"namespace": "default", **(manifest.get("metadata") or {})}
    given = {key: value for key, value in manifest.items() if key != "status"}
    given["metadata"] = {key: value for key, value in metadata.items() if key not in _OF_THE_SERVER}
    try:
        made = adapters.Admission(known).create(given, str(uuid.uuid4()), now)
    except adapters.REFUSALS as error:
        raise InvalidError(f"{error.path}: {error.detail}" if error.path else error.detail, path=error.path) from None
    pod = adapters.decode(made)
    assert isinstance(pod, Pod)
    if pod.is_assigned:
        raise InvalidError(f"spec.nodeName: the pod asks for no scheduler, it is on {pod.spec.node_name}")
    return pod


def _costs(text: str) -> dict[str, int]:
    """The table with what a text sets, as in `evict=10,relabel=5`. InvalidError."""
    given: dict[str, int] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, points = part.partition("=")
        if not (points.isascii() and points.isdigit() and len(points) <= 9):
            raise InvalidError(f"costs: expected KIND=POINTS, not {part}", fields={"costs": [part]})
        given[name.strip()] = int(points)
    try:
        return with_costs(given)
    except ValueError as error:
        raise InvalidError(f"costs: {error}", fields={"costs": [str(error)]}) from None
