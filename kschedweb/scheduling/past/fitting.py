"""What would make a pod fit, tried on what is stored, now or at a moment: a pod of the cluster, all that wait of an
owner, or a manifest that is not in it.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kschedweb.cluster import adapters
from kschedweb.cluster.workloads import PART_OF
from kschedweb.common.collector import without_collecting
from kschedweb.common.errors import InvalidError, NotFoundError
from kschedweb.scheduling.past import trying
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.trying import There
from scheduler_core.api.pod import Pod
from scheduler_core.api.times import microseconds
from scheduler_core.explain.fits.changes import Change, with_costs
from scheduler_core.explain.fits.quotas import enlarged
from scheduler_core.explain.fits.search import Fits, fits

_OF_THE_SERVER = frozenset({"uid", "creationTimestamp", "deletionTimestamp", "resourceVersion", "managedFields"})
REPLICATED = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet"})
MOST_PODS = 100  # of an owner, that are placed together


@dataclass(frozen=True, slots=True)
class FitsTold:
    """`rv`: the position of the change log that it is about; `costs`: the whole table that ranked it.

    `pods`: those that were to be placed, in the order in which they were. `then`: position and time of the past.
    `uid`: of a pod that is stored.
    """

    namespace: str
    name: str
    rv: int
    fits: Fits
    costs: Mapping[str, int]
    pods: tuple[str, ...]
    then: tuple[Position, datetime] | None
    uid: str = ""


def pod_fits(*, cluster_id: int, namespace: str, name: str, at: str | None, costs: str, limit: int) -> FitsTold:
    """Of a pod without a node, as it is or as it was `at` a moment.

    NotFoundError, ClusterGoneError; InvalidError for one that has a node, is not tried by this scheduler, or for costs
    that cannot be; NotReplayableError where no engine can be made; of the past all that `asking.objects` raises.
    """
    table = _costs(costs)
    with trying.there(cluster_id, at) as there:
        pod = there.engine.store.pod(f"{namespace}/{name}")
        if pod is None:
            if not there.object("Pod", namespace, name):
                raise NotFoundError(f'pod "{name}" not found', namespace=namespace, name=name)
            raise InvalidError("the scheduler does not know the pod: it has ended")
        if pod.is_assigned:
            raise InvalidError(f"the pod is on {pod.spec.node_name}", node=pod.spec.node_name)
        return replace(_told(there, namespace, name, (pod,), (), table, limit), uid=pod.uid)


def owner_fits(
    *, cluster_id: int, kind: str, namespace: str, name: str, at: str | None, costs: str, limit: int
) -> FitsTold:
    """Of all pods of an owner that have no node, together. Raises as `pod_fits`; InvalidError where there are none."""
    table = _costs(costs)
    with trying.there(cluster_id, at) as there:
        owners = [
            (kind, name),
            *((part, each["metadata"]["name"]) for part, each in _parts(there, kind, namespace, name)),
        ]
        pods = [
            pod for pod in there.pods() if pod.namespace == namespace and not pod.is_assigned and _owner(pod) in owners
        ]
        missing, needed = _refused(there, namespace, owners)
        pods += missing
        if not pods and not there.object(kind, namespace, name):
            raise NotFoundError(f'{kind} "{name}" not found', kind=kind, namespace=namespace, name=name)
        if not pods:
            raise InvalidError("it has no pod that waits for a node")
        if len(pods) > MOST_PODS:
            raise InvalidError(f"{len(pods):,} pods wait for a node, and at most {MOST_PODS} are tried together")
        return _told(there, namespace, name, tuple(sorted(pods, key=_turn)), needed, table, limit)


def manifest_fits(*, cluster_id: int, manifest: Mapping[str, Any], at: str | None, costs: str, limit: int) -> FitsTold:
    """Of the manifest of a pod, as the cluster would admit it; nothing is stored. Raises as `pod_fits`."""
    table = _costs(costs)
    with trying.there(cluster_id, at) as there:
        made, pod = _admitted(_admission(there), manifest, there.engine.now)
        needed = enlarged(_quotas(there, pod.namespace), [made])
        return _told(there, pod.namespace, pod.name, (pod,), needed, table, limit)


def _told(
    there: There,
    namespace: str,
    name: str,
    pods: tuple[Pod, ...],
    needed: tuple[Change, ...],
    costs: Mapping[str, int],
    limit: int,
) -> FitsTold:
    with without_collecting():
        found = fits(there.engine, pods[0], pods[1:], needed=needed, costs=costs, limit=limit)
    if found is None:
        profiles = sorted(there.engine.frameworks)
        other = next((pod for pod in pods if pod.spec.scheduler_name not in profiles), None)
        raise InvalidError(
            f"{pods[0].name} is being deleted"
            if other is None
            else f"no profile of the scheduler is called {other.spec.scheduler_name}",
            profiles=profiles,
        )
    return FitsTold(namespace, name, there.rv, found, costs, tuple(pod.key for pod in pods), there.then)


def _refused(there: There, namespace: str, owners: Sequence[tuple[str, str]]) -> tuple[list[Pod], tuple[Change, ...]]:
    """Pods that a quota keeps from being created, as they would be, and what it would have to allow."""
    quotas, made = _quotas(there, namespace), list[tuple[dict[str, Any], Pod]]()
    if not quotas:
        return [], ()
    counted = Counter(_owner(pod) for pod in there.pods() if pod.namespace == namespace and not pod.is_terminating)
    for kind, name in owners:
        owner = there.object(kind, namespace, name) if kind in REPLICATED else None
        if owner is not None:
            wanted = min(owner["spec"].get("replicas", 1) - counted[kind, name], MOST_PODS + 1)
            names = [f"{name}-missing-{number}" for number in range(wanted)]
            admission, template = _admission(there), _pod_of(owner)
            own = [_admitted(admission, _named(template, each), there.engine.now) for each in names]
            if enlarged(quotas, [manifest for manifest, _ in own]):
                made += own
    return [pod for _, pod in made], enlarged(quotas, [manifest for manifest, _ in made])


def _pod_of(owner: Mapping[str, Any]) -> dict[str, Any]:
    """The pod that a set of pods makes."""
    template, metadata = owner["spec"]["template"], owner["metadata"]
    reference = {
        "apiVersion": owner.get("apiVersion", "apps/v1"), "kind": owner["kind"], "name": metadata["name"],
        "uid": metadata["uid"], "controller": True,
    }  # fmt: skip
    labels = (template.get("metadata") or {}).get("labels") or {}
    own = {"namespace": metadata["namespace"], "labels": labels, "ownerReferences": [reference]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": template["spec"]}


def _named(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "name": name}}


def _quotas(there: There, namespace: str) -> list[dict[str, Any]]:
    return [each for each in there.manifests("ResourceQuota") if each["metadata"]["namespace"] == namespace]


def _parts(there: There, kind: str, namespace: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The ReplicaSets of a Deployment or the Jobs of a CronJob."""
    part = PART_OF.get(kind)
    if part is None:
        return
    for manifest in there.manifests(part):
        metadata = manifest["metadata"]
        controllers = [each for each in metadata.get("ownerReferences") or () if each.get("controller")]
        if metadata["namespace"] == namespace and any(
            (each["kind"], each["name"]) == (kind, name) for each in controllers
        ):
            yield part, manifest


def _owner(pod: Pod) -> tuple[str, str] | None:
    return next(((each.kind, each.name) for each in pod.metadata.owner_references or () if each.controller), None)


def _turn(pod: Pod) -> tuple[int, int, str]:
    """Which pod is tried first: that of the most priority, then the oldest."""
    created = pod.metadata.creation_timestamp
    return -pod.priority, 0 if created is None else microseconds(created), pod.name


def _admission(there: There) -> adapters.Admission:
    return adapters.Admission(each for kind in sorted(adapters.ADMISSION_KINDS) for each in there.manifests(kind))


def _admitted(admission: adapters.Admission, manifest: Mapping[str, Any], now: int) -> tuple[dict[str, Any], Pod]:
    """As the API server would, but for quotas."""
    metadata = {"namespace": "default", **(manifest.get("metadata") or {})}
    given = {key: value for key, value in manifest.items() if key != "status"}
    given["metadata"] = {key: value for key, value in metadata.items() if key not in _OF_THE_SERVER}
    try:
        made = admission.create(given, str(uuid.uuid4()), now)
    except adapters.REFUSALS as error:
        raise InvalidError(f"{error.path}: {error.detail}" if error.path else error.detail, path=error.path) from None
    pod = adapters.decode(made)
    assert isinstance(pod, Pod)
    if pod.is_assigned:
        raise InvalidError(f"spec.nodeName: the pod asks for no scheduler, it is on {pod.spec.node_name}")
    return made, pod


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
