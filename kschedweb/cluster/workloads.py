"""Reads of workloads: what makes pods, how far each is, its pods, and what those that are not ready wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kschedweb import views
from kschedweb.cluster import in_vain
from kschedweb.cluster.choices import TERMINAL_PHASES
from kschedweb.cluster.models import ApiObject, Node, Pod
from kschedweb.cluster.related import Stored
from kschedweb.cluster.workload_states import KINDS, workload_view
from kschedweb.common.errors import NotFoundError
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.printing.pods import pod_state
from scheduler_core.controllers.workloads.revisions import REVISION_HASH
from scheduler_core.controllers.workloads.rollout import REVISION

LONGEST_CHAIN: Final = 4
PART_OF: Final = {"Deployment": "ReplicaSet", "CronJob": "Job"}  # what a kind has between itself and its pods

Manifest = Mapping[str, Any]


def workload_list(cluster_id: int, limit: int) -> views.Workloads:
    """Workloads that no other workload controls, by namespace and name."""
    own = [manifest for _, manifest in _own(cluster_id)]
    return views.Workloads([workload_view(manifest) for manifest in own[:limit]], len(own))


def workload_rows(cluster_id: int, manifests: Iterable[Manifest] | None = None) -> list[dict[str, Any]]:
    """The same, all of them, as columns: what a workload says in its manifest no table has by itself.

    `manifests`: those of the kinds at another time, instead of those there are.
    """
    own = _own(cluster_id) if manifests is None else _uncontrolled((one["metadata"]["uid"], one) for one in manifests)
    return [
        {
            "cluster_id": cluster_id,
            "uid": uid,
            "kind": view.kind,
            "namespace": view.namespace,
            "name": view.name,
            "status": view.state,
            "created": time_text(view.created_ms * 1000),
            "message": view.said,
            "wanted": view.wanted,
            "ready": view.ready,
            "updated": view.updated,
            "available": view.available,
        }
        for uid, manifest in own
        for view in [workload_view(manifest)]
    ]


def _own(cluster_id: int) -> list[tuple[str, Manifest]]:
    """uid and manifest of each."""
    rows = ApiObject.objects.filter(cluster_id=cluster_id, kind__in=KINDS).order_by("namespace", "name", "kind")
    return _uncontrolled(rows.values_list("uid", "manifest"))


def _uncontrolled(found: Iterable[tuple[str, Manifest]]) -> list[tuple[str, Manifest]]:
    return [(uid, manifest) for uid, manifest in found if _controller(manifest) is None]


def workload_detail(
    cluster_id: int, kind: str, namespace: str, name: str, *, limit: int, now: int, frozen: bool
) -> views.WorkloadDetail:
    """A workload with at most `limit` of its pods; `now` is in microseconds, `frozen`: see `in_vain`. NotFoundError."""
    row = None
    if kind in KINDS:
        row = ApiObject.objects.filter(cluster_id=cluster_id, kind=kind, namespace=namespace, name=name).first()
    if row is None:
        raise NotFoundError(f'{kind} "{name}" not found', kind=kind, namespace=namespace, name=name)
    manifest = row.manifest
    parts = _parts(cluster_id, manifest)
    owners = {row.uid: ""} if not parts and kind not in PART_OF else {}
    owners |= {part["metadata"]["uid"]: part["metadata"]["name"] for part in parts}
    pods = _pods(cluster_id, namespace, owners)
    newest = _newest_revision(cluster_id, manifest, parts)
    shown = [_pod_view(pod, owners, newest, now) for pod in pods]
    down = _not_ready_nodes(cluster_id, {pod.node for pod in shown if pod.node})
    shown = [_with_node(pod, down) for pod in shown]
    spec = manifest["spec"]
    return views.WorkloadDetail(
        rv=row.rv,
        manifest=manifest,
        workload=workload_view(manifest),
        owners=_owners(cluster_id, manifest),
        strategy=_strategy(manifest),
        min_ready_seconds=spec.get("minReadySeconds") or 0,
        conditions=[_condition(one) for one in (manifest.get("status") or {}).get("conditions") or ()],
        parts=[_part_view(part, newest) for part in parts],
        pods=sorted(shown, key=lambda pod: (not _waits(pod), pod.name))[:limit],
        pods_total=len(shown),
        waits=_grouped(pod for pod in shown if _waits(pod)),
        in_vain=in_vain.of_object(manifest, Stored(cluster_id), frozen=frozen),
    )


def _controller(manifest: Manifest) -> Manifest | None:
    references: Sequence[Manifest] = manifest["metadata"].get("ownerReferences") or ()
    return next((one for one in references if one.get("controller") and one["kind"] in KINDS), None)


def _owners(cluster_id: int, manifest: Manifest) -> list[views.PodOwner]:
    found: list[views.PodOwner] = []
    namespace = manifest["metadata"]["namespace"]
    while len(found) < LONGEST_CHAIN and (owner := _controller(manifest)) is not None:
        found.append(views.PodOwner(kind=owner["kind"], name=owner["name"]))
        rows = ApiObject.objects.filter(
            cluster_id=cluster_id, kind=owner["kind"], namespace=namespace, name=owner["name"]
        )
        stored = rows.values_list("manifest", flat=True).first()
        if stored is None:
            break
        manifest = stored
    return found


def _parts(cluster_id: int, manifest: Manifest) -> list[Manifest]:
    """The ReplicaSets of a Deployment or the Jobs of a CronJob, the newest first."""
    kind, metadata = PART_OF.get(manifest["kind"]), manifest["metadata"]
    if kind is None:
        return []
    rows = ApiObject.objects.filter(cluster_id=cluster_id, kind=kind, namespace=metadata["namespace"])
    found = [one for one in rows.values_list("manifest", flat=True) if _is_of(one, {metadata["uid"]})]
    found.sort(
        key=lambda one: (_revision(one), one["metadata"].get("creationTimestamp") or "", one["metadata"]["name"])
    )
    return found[::-1]


def _is_of(manifest: Manifest, uids: Iterable[str]) -> bool:
    owner = _controller(manifest)
    return owner is not None and owner["uid"] in uids


def _revision(manifest: Manifest) -> int:
    written = (manifest["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(written) if written.isdecimal() else 0


def _newest_revision(cluster_id: int, manifest: Manifest, parts: Sequence[Manifest]) -> str | None:
    """The name of a Deployment's newest ReplicaSet, the newest hash of a set of pods; None where there is none."""
    kind, metadata = manifest["kind"], manifest["metadata"]
    if kind == "Deployment":
        wanted = _revision(manifest)
        return next((one["metadata"]["name"] for one in parts if wanted and _revision(one) == wanted), None)
    if kind == "StatefulSet":
        return (manifest.get("status") or {}).get("updateRevision") or None
    if kind != "DaemonSet":
        return None
    rows = ApiObject.objects.filter(
        cluster_id=cluster_id, kind="ControllerRevision", namespace=metadata["namespace"]
    ).values_list("manifest", flat=True)
    own = [one for one in rows if _is_of(one, {metadata["uid"]})]
    newest = max(own, key=lambda one: one.get("revision") or 0, default=None)
    return None if newest is None else (newest["metadata"].get("labels") or {}).get(REVISION_HASH)


def _pods(cluster_id: int, namespace: str, owners: Mapping[str, str]) -> list[Manifest]:
    """The pods that one of the owners, by uid, controls."""
    if not owners:
        return []
    rows = Pod.objects.filter(cluster_id=cluster_id, namespace=namespace).order_by("name")
    return [one for one in rows.values_list("manifest", flat=True) if _is_of(one, owners)]


def _pod_view(pod: Manifest, owners: Mapping[str, str], newest: str | None, now: int) -> views.WorkloadPod:
    state = pod_state(pod, now)
    owner = _controller(pod)
    part = owners[owner["uid"]] if owner is not None else ""
    revision = part or (pod["metadata"].get("labels") or {}).get(REVISION_HASH)
    return views.WorkloadPod(
        name=pod["metadata"]["name"],
        node=pod["spec"].get("nodeName") or "",
        status=state.word,
        ready=state.ready,
        containers=state.containers,
        restarts=state.restarts,
        part=part,
        is_updated=None if newest is None else revision == newest,
        waits_for=_reason(pod),
    )


def _reason(pod: Manifest) -> str:
    """Why a pod is not ready, in the words of scheduler and kubelet; empty when they say nothing."""
    status = pod.get("status") or {}
    if status.get("phase") in TERMINAL_PHASES:
        return str(status.get("message") or "")
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return str(scheduled.get("message") or "")
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("message"):
            return str(waiting["message"])
    ready = conditions.get("Ready") or {}
    return str(ready.get("message") or "") if ready.get("status") == "False" else ""


def _waits(pod: views.WorkloadPod) -> bool:
    """Whether a pod is not ready though its work is not done; failed ones are among these."""
    return pod.status not in ("Completed", "Succeeded") and (pod.ready < pod.containers or pod.status == "Terminating")


def _not_ready_nodes(cluster_id: int, names: Iterable[str]) -> frozenset[str]:
    found = Node.objects.filter(cluster_id=cluster_id, name__in=names, ready=False)
    return frozenset(found.values_list("name", flat=True))


def _with_node(pod: views.WorkloadPod, down: frozenset[str]) -> views.WorkloadPod:
    """The pod, with its node as what it waits for where the kubelet is not heard."""
    if pod.node not in down:
        return pod
    fields = {name: getattr(pod, name) for name in pod.__struct_fields__}
    return views.WorkloadPod(**fields | {"waits_for": f"node {pod.node} is not ready"})


def _grouped(pods: Iterable[views.WorkloadPod]) -> list[views.WorkloadWait]:
    """Pods by status and reason, the most common first."""
    examples: dict[tuple[str, str], str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for pod in pods:
        key = pod.status, pod.waits_for
        examples.setdefault(key, pod.name)
        counts[key] += 1
    return [
        views.WorkloadWait(status, why, count, examples[status, why]) for (status, why), count in counts.most_common()
    ]


def _part_view(part: Manifest, newest: str | None) -> views.WorkloadPart:
    name, revision = part["metadata"]["name"], _revision(part)
    return views.WorkloadPart(
        kind=part["kind"],
        name=name,
        revision=str(revision) if revision else "",
        is_current=name == newest,
        workload=workload_view(part),
    )


def _condition(one: Manifest) -> views.WorkloadCondition:
    since = one.get("lastTransitionTime")
    return views.WorkloadCondition(
        type=one["type"],
        status=one.get("status") or "",
        reason=one.get("reason") or "",
        message=one.get("message") or "",
        since=datetime.fromisoformat(since) if since else None,
    )


def _strategy(manifest: Manifest) -> str:
    """How updates are rolled out, as the spec names it, with its bounds."""
    spec = manifest["spec"]
    strategy = spec.get("strategy") or spec.get("updateStrategy")
    if not strategy:
        return ""
    bounds = strategy.get("rollingUpdate") or {}
    return " · ".join([strategy.get("type") or "RollingUpdate", *(f"{name} {value}" for name, value in bounds.items())])
