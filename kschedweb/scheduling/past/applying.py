"""A suggestion carried out: what was tried becomes requests to the API server, in one transaction.

A change of what a pod asks for is made by deleting the pod and creating it again, as its spec does not change; one that
a controller would make again is left to whoever changes its template.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction

from kschedweb.cluster import adapters, clock, selectors, services
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Cluster, Node, Pod
from kschedweb.common.errors import ConflictError, InvalidError
from kschedweb.scheduling.past import fitting
from scheduler_core.api.manifests import encode_part
from scheduler_core.api.pod import Pod as CorePod
from scheduler_core.api.resources import is_extended
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.pods import EVICTED
from scheduler_core.apiserver.requests import Create, Delete, Evict, ObjectKey, Patch, Request
from scheduler_core.explain.fits.changes import Change, Kind, Suggestion, World
from scheduler_core.explain.fits.nodes import HOST
from scheduler_core.plugins.node_unschedulable import UNSCHEDULABLE_TAINT

MOST: Final = 100  # suggestions that are looked through
_OF_A_NODE: Final = ("capacity", "allocatable", "conditions", "nodeInfo", "images")
_OF_A_NEW_POD: Final = frozenset({"name", "namespace", "labels", "annotations"})
_AT_ONCE: Final = 0  # seconds of grace
_SPEC_FIELDS: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.NODE_SELECTOR: ("node_selector", "nodeSelector"),
    Kind.NODE_AFFINITY: ("affinity", "affinity"),
    Kind.POD_AFFINITY: ("affinity", "affinity"),
    Kind.POD_ANTI_AFFINITY: ("affinity", "affinity"),
    Kind.SPREAD: ("topology_spread_constraints", "topologySpreadConstraints"),
    Kind.MAX_SKEW: ("topology_spread_constraints", "topologySpreadConstraints"),
}
_PATHS: Final = frozenset({Kind.REQUEST, Kind.HOST_PORT, Kind.CLAIM})
_IN_PLACE: Final = frozenset({Kind.GATE, Kind.TOLERATION})
_OF_OTHERS: Final = frozenset({Kind.UNCORDON, Kind.RELABEL, Kind.EVICT, Kind.ADD_NODE, Kind.QUOTA})
Manifest = dict[str, Any]
Wanted = Mapping[str, str | Sequence[str]]
"""A change as it was told, its pods and further nodes in lists."""


@dataclass(frozen=True, slots=True)
class Written:
    """A request: `verb` as the API server calls it."""

    verb: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Applied:
    """What was written, or would be, and the node that the pod then gets."""

    node: str
    writes: tuple[Written, ...]


def fit_apply(
    *, cluster_id: int, namespace: str, name: str, uid: str, wanted: Sequence[Wanted], dry_run: bool, actor: str
) -> Applied:
    """Carry out the suggestion with these changes; `uid`: of the pod that it was told of, where that is known.

    It is tried again before: ConflictError where it is none any more, which names the field that is another one now.
    InvalidError for what cannot be written here, and else as `fitting.pod_fits`, and as the API server refuses what it
    is asked.
    """
    cluster = _writable(cluster_id)
    told = fitting.pod_fits(cluster_id=cluster_id, namespace=namespace, name=name, at=None, costs="", limit=MOST)
    if uid and uid != told.uid:
        raise ConflictError("uid: the pod was made anew since this was told: ask again", field="uid")
    found = _found(told.fits.suggestions, wanted)
    row = selectors.pod_get(cluster_id=cluster_id, namespace=namespace, name=name)
    return _carried_out(cluster, found, _requests(cluster, row, found), dry_run=dry_run, actor=actor)


def owner_fit_apply(
    *, cluster_id: int, kind: str, namespace: str, name: str, wanted: Sequence[Wanted], dry_run: bool, actor: str
) -> Applied:
    """The same of all pods of an owner together, whose template is not changed. Raises as `fit_apply`."""
    cluster = _writable(cluster_id)
    told = fitting.owner_fits(
        cluster_id=cluster_id, kind=kind, namespace=namespace, name=name, at=None, costs="", limit=MOST
    )
    found = _found(told.fits.suggestions, wanted)
    own = next((each for each in found.changes if each.kind not in _OF_OTHERS), None)
    if own is not None:
        raise InvalidError(f"{own.kind} is of the pods of {kind} {name}: change its template", kind=own.kind)
    requests = (each for change in found.changes for each in _of_others(cluster, namespace, change))
    return _carried_out(cluster, found, requests, dry_run=dry_run, actor=actor)


def _writable(cluster_id: int) -> Cluster:
    cluster = selectors.cluster_get(cluster_id)
    if cluster.is_mirror:
        raise InvalidError("a mirror is not written to: fork it")
    return cluster


def _carried_out(
    cluster: Cluster, found: Suggestion, asked: Iterable[Request], *, dry_run: bool, actor: str
) -> Applied:
    requests = list(asked)
    if not dry_run:
        with transaction.atomic():  # all of it or nothing
            now = clock.now_of(cluster.pk)
            for answer in services.requests_carry_out(cluster_id=cluster.pk, requests=requests, actor=actor, now=now):
                if isinstance(answer, Refused):
                    raise services.error_of(answer.status)
    return Applied(found.node, tuple(dict.fromkeys(map(_written, requests))))


def _found(suggestions: Sequence[Suggestion], wanted: Sequence[Wanted]) -> Suggestion:
    """The one with these changes. ConflictError by the first field of the one that is most alike."""
    offered = [list(map(_told, each.changes)) for each in suggestions]
    for suggestion, changes in zip(suggestions, offered, strict=True):
        if changes == list(wanted):
            return suggestion
    kinds = [each["kind"] for each in wanted]
    alike = [_differing(changes, wanted) for changes in offered if [each["kind"] for each in changes] == kinds]
    if not alike:
        raise ConflictError("changes: none of these kinds makes it fit any more: ask again", field="changes")
    path, now, then = min(alike, key=len)[0]
    raise ConflictError(f"{path}: it is {now} now, and {then} in what was told: ask again", field=path)


def _differing(changes: Sequence[Wanted], wanted: Sequence[Wanted]) -> list[tuple[str, str, str]]:
    """Paths of fields, with what they are and what they are said to be."""
    return [
        (f"changes[{index}].{field}", _plainly(now[field]), _plainly(then[field]))
        for index, (now, then) in enumerate(zip(changes, wanted, strict=True))
        for field in now
        if now[field] != then[field]
    ]


def _plainly(value: str | Sequence[str]) -> str:
    return (value if isinstance(value, str) else ", ".join(value)) or "empty"


def _told(change: Change) -> Wanted:
    return {
        "kind": str(change.kind), "field": change.field, "old": change.old, "new": change.new, "node": change.node,
        "pods": list(change.pods), "more": list(change.more), "of": change.of,
    }  # fmt: skip


def _written(request: Request) -> Written:
    if isinstance(request, Create):
        metadata = request.manifest["metadata"]
        return Written("create", request.manifest["kind"], metadata.get("namespace", ""), metadata["name"])
    assert isinstance(request, Delete | Evict | Patch)
    verb = {Delete: "delete", Evict: "evict", Patch: "patch"}[type(request)]
    return Written(verb, request.key.kind, request.key.namespace, request.key.name)


def _requests(cluster: Cluster, row: Pod, found: Suggestion) -> Iterator[Request]:
    """Of nodes and others first, then of the pod."""
    own = [change for change in found.changes if change.kind not in _OF_OTHERS]
    unwritten = [change for change in own if change.kind not in _SPEC_FIELDS and change.kind not in _PATHS | _IN_PLACE]
    if unwritten:
        raise InvalidError(
            f"{unwritten[0].kind} is not written here: its object has to be made anew", kind=unwritten[0].kind
        )
    for change in found.changes:
        if change.kind in _OF_OTHERS:
            yield from _of_others(cluster, row.namespace, change)
    if not own:
        return
    changed, key = _pod_with(row, own), ObjectKey("Pod", row.namespace, row.name)
    if all(change.kind in _IN_PLACE for change in own):
        spec = {field: changed["spec"].get(field) for field in ("schedulingGates", "tolerations")}
        yield Patch(key, {"spec": spec}, uid=row.uid)
        return
    owner = next(
        (each for each in row.manifest["metadata"].get("ownerReferences") or () if each.get("controller")), None
    )
    if owner is not None:
        raise InvalidError(f"{owner['kind']} {owner['name']} makes the pod: change its template", owner=owner["name"])
    yield Delete(key, _AT_ONCE, uid=row.uid)
    yield Create(changed)


def _of_others(cluster: Cluster, namespace: str, change: Change) -> Iterator[Request]:
    is_frozen = cluster.lifecycle_mode == LifecycleMode.FROZEN
    names = (change.node, *change.more)
    match change.kind:
        case Kind.UNCORDON:
            for row in Node.objects.filter(cluster=cluster, name__in=names).order_by("id"):
                given = row.manifest["spec"].get("taints") or ()
                taints = [each for each in given if each["key"] != UNSCHEDULABLE_TAINT.key]
                spec = {"unschedulable": None, "taints": taints or None}
                yield Patch(ObjectKey("Node", "", row.name), {"spec": spec})
        case Kind.RELABEL:
            labels = {change.field.removeprefix("metadata.labels."): change.new or None}
            yield from (Patch(ObjectKey("Node", "", name), {"metadata": {"labels": labels}}) for name in names)
        case Kind.QUOTA:
            hard = {"hard": {change.field.removeprefix("spec.hard."): change.new}}
            quota = ObjectKey("ResourceQuota", namespace, change.of.partition("/")[2])
            yield Patch(quota, {"spec": hard})
            if is_frozen:  # admission goes by the status, which no controller would write there
                yield Patch(quota, {"status": hard}, subresource="status")
        case Kind.EVICT:
            grace = _AT_ONCE if is_frozen else None  # nobody would end it there
            for pod in change.pods:
                key = ObjectKey("Pod", *pod.split("/"))
                yield Evict(key, *EVICTED, grace_seconds=grace, asks_budgets=True)
        case Kind.ADD_NODE:
            like = Node.objects.get(cluster=cluster, name=change.new).manifest
            yield from (Create(_node_like(like, name)) for name in names)


def _node_like(template: Manifest, name: str) -> Manifest:
    """As it was tried: with its shape, without its pods and its cordon."""
    labels = dict(template["metadata"].get("labels") or {})
    if HOST in labels:
        labels[HOST] = name
    taints = [each for each in template["spec"].get("taints") or () if each["key"] != UNSCHEDULABLE_TAINT.key]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints} if taints else {},
        "status": {key: template["status"][key] for key in _OF_A_NODE if key in template["status"]},
    }


def _pod_with(row: Pod, changes: Sequence[Change]) -> Manifest:
    """The pod's manifest with these changes, as a new one."""
    manifest, pod = deepcopy(row.manifest), adapters.decode(row.manifest)
    assert isinstance(pod, CorePod)
    world, spec = World(pod), manifest["spec"]
    for change in changes:
        world = change.edit(world)
        if change.kind is Kind.GATE:
            spec["schedulingGates"] = [each for each in spec["schedulingGates"] if each["name"] != change.old]
        elif change.kind is Kind.TOLERATION:
            spec["tolerations"] = [*spec.get("tolerations", ()), encode_part((world.pod.spec.tolerations or ())[-1])]
        elif change.kind in _SPEC_FIELDS:
            field, name = _SPEC_FIELDS[change.kind]
            spec[name] = _plain(getattr(world.pod.spec, field))
        else:
            _set(manifest, change)
    metadata = {key: value for key, value in manifest["metadata"].items() if key in _OF_A_NEW_POD}
    kept = {key: value for key, value in spec.items() if value not in (None, [], {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": kept}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [encode_part(each) for each in value]
    return value if value is None or isinstance(value, dict) else encode_part(value)


def _set(manifest: Manifest, change: Change) -> None:
    """Of a field with a path; what others offer has its limit with the request. A port on the node is dropped."""
    path, _, resource = change.field.partition("resources.requests.")
    if resource:
        resources = _at(manifest, path.rstrip("."))["resources"]
        resources["requests"][resource] = change.new
        if is_extended(resource) and resource in resources.get("limits", {}):
            resources["limits"][resource] = change.new
        return
    above, _, name = change.field.rpartition(".")
    place = _at(manifest, above)
    if change.new:
        place[name] = change.new
    else:
        place.pop(name, None)


def _at(manifest: Manifest, path: str) -> Manifest:
    place: Any = manifest
    for step in path.split("."):
        name, _, index = step.partition("[")
        place = place[name][int(index.rstrip("]"))] if index else place[name]
    found: Manifest = place
    return found
