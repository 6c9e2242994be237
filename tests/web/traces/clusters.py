"""Random clusters as rows of the database: shaped like the sample, and like a trace of tasks with GPUs."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kschedweb.cluster import services
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import ApiObject, Change, Cluster, Event, Node, Pod
from kschedweb.traces.choices import Queue, Result
from kschedweb.traces.models import Attempt, QueueState
from scheduler_core.api.times import microseconds, time_text

NOW = datetime(2030, 6, 1, 12, tzinfo=UTC)
REASONS = (
    ("NodeResourcesFit", "Insufficient cpu"),
    ("NodeResourcesFit", "Insufficient memory"),
    ("TaintToleration", "node(s) had untolerated taint {dedicated: db_x}"),
    ("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"),
    ("VolumeBinding", "100% of cpu_volumes"),
)
COUNTS = ("updatedReplicas", "readyReplicas", "availableReplicas")
OVER_QUOTA = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: cpu_x"}
# (kind, spec, status, state, what it says, {wanted, ready, updated, available})
WORKLOADS: Sequence[tuple[str, dict[str, Any], dict[str, Any], str, str, Sequence[int | None]]] = (
    ("Deployment", {"replicas": 3}, dict.fromkeys((*COUNTS, "replicas"), 3), "available", "", (3, 3, 3, 3)),
    ("Deployment", {"replicas": 3, "paused": True}, {}, "paused", "", (3, 0, 0, 0)),
    ("Deployment", {}, {"conditions": [OVER_QUOTA]}, "stalled", OVER_QUOTA["message"], (1, 0, 0, 0)),
    ("StatefulSet", {"replicas": 4}, {"replicas": 2, "readyReplicas": 1}, "progressing", "", (4, 1, 0, 0)),
    ("DaemonSet", {}, {"desiredNumberScheduled": 0}, "available", "", (0, 0, 0, 0)),
    ("Job", {}, {"active": 1, "ready": 1}, "running", "", (None, 1, None, None)),
    ("Job", {"completions": 2, "suspend": True}, {}, "suspended", "", (2, 0, None, None)),
    ("CronJob", {}, {}, "scheduled", "", (None, None, None, None)),
)


@dataclass(frozen=True)
class Shape:
    """What names and numbers a cluster has."""

    namespaces: Sequence[str]
    pod: str
    nodes: Sequence[str]
    profiles: Sequence[str]
    priorities: Sequence[int]
    owned: float  # share of pods with a controller
    pods: int


SHAPES = {
    "sample": Shape(
        namespaces=("web", "shop", "data_1", "kube-system"), pod="checkout-{:03}",
        nodes=("zone-a-1", "zone-a-2", "zone-b-1"), profiles=("default-scheduler", "batch", "nobody"),
        priorities=(0, 100, 2_000_000_000), owned=0.7, pods=90,
    ),
    "openb": Shape(
        namespaces=("default", "gpu"), pod="openb-pod-{:04}",
        nodes=tuple(f"openb-node-{place:04}" for place in range(20)), profiles=("default-scheduler",),
        priorities=(0, -10, 7), owned=0.0, pods=140,
    ),
}  # fmt: skip


def clusters_like(name: str, seed: int) -> Cluster:
    """A cluster of that shape; the same seed makes the same rows."""
    shape, chance = SHAPES[name], random.Random(f"{name}/{seed}")
    cluster = services.cluster_create(name=f"{name}-{seed}")
    Cluster.objects.filter(pk=cluster.pk).update(
        profiles=[one for one in shape.profiles if one != "nobody"], clock_offset_us=0
    )
    for node in shape.nodes:
        Node.objects.create(
            cluster=cluster, name=node, uid=node, zone=node[:6], ready=chance.random() < 0.8,
            unschedulable=chance.random() < 0.4, manifest={"metadata": {"name": node}},
        )  # fmt: skip
    sets = [_replica_set(cluster, shape, chance, place) for place in range(8)] if shape.owned else []
    pods = [_pod(cluster, shape, chance, place, sets) for place in range(shape.pods)]
    Pod.objects.bulk_create(pods)
    seq = 0
    attempts, queues = [], []
    for pod in chance.sample(pods, len(pods)):
        for number in range(1, chance.randrange(4)):
            seq += 1
            attempts.append(attempt_of(pod, seq, number, chance))
        if not pod.node_name and pod.phase == "Pending" and chance.random() < 0.7:
            queues.append(_queue(pod, seq, chance))
    Attempt.objects.bulk_create(attempts)
    QueueState.objects.bulk_create(queues)
    ApiObject.objects.bulk_create(_workload(cluster, shape, chance, place) for place in range(56))
    Event.objects.bulk_create(_event(pod, chance) for pod in pods)
    rv = cluster.rv + 10
    Change.objects.bulk_create(_change(pod, rv + place, chance) for place, pod in enumerate(pods))
    return cluster


def _workload(cluster: Cluster, shape: Shape, chance: random.Random, place: int) -> ApiObject:
    """Of the kind and state that `WORKLOADS` has at its place."""
    kind, spec, status, *_ = WORKLOADS[place % len(WORKLOADS)]
    namespace, name = chance.choice(shape.namespaces), f"work-{place:03}"
    metadata = {"name": name, "namespace": namespace, "uid": f"w{place}"}
    metadata["creationTimestamp"] = time_text(microseconds(NOW) - chance.choice((0, 60, 600, 90_000)) * 1_000_000)
    return ApiObject(
        cluster=cluster, kind=kind, namespace=namespace, name=name, uid=metadata["uid"],
        manifest={"kind": kind, "metadata": metadata, "spec": spec, "status": status},
    )  # fmt: skip


def _replica_set(cluster: Cluster, shape: Shape, chance: random.Random, place: int) -> ApiObject:
    namespace = chance.choice(shape.namespaces)
    metadata: dict[str, Any] = {"name": f"site-{place % 3}-rev{place}", "namespace": namespace, "uid": f"rs{place}"}
    metadata["creationTimestamp"] = time_text(microseconds(NOW))
    if place % 4:
        metadata["ownerReferences"] = [
            {"kind": "Deployment", "name": f"site-{place % 3}", "uid": f"d{place}", "controller": place % 5 != 0}
        ]
    return ApiObject.objects.create(
        cluster=cluster, kind="ReplicaSet", namespace=namespace, name=metadata["name"], uid=metadata["uid"],
        manifest={"kind": "ReplicaSet", "metadata": metadata, "spec": {"replicas": 0}},
    )  # fmt: skip


def _pod(cluster: Cluster, shape: Shape, chance: random.Random, place: int, sets: Sequence[ApiObject]) -> Pod:
    name, owner = shape.pod.format(place), None
    namespace = chance.choice(shape.namespaces)
    metadata: dict[str, Any] = {"name": name, "uid": f"pod{place}"}
    if chance.random() < shape.owned:
        owner = chance.choice(sets)
        namespace = owner.namespace
        metadata["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner.name, "uid": owner.uid, "controller": True}]
    bound = chance.random() < 0.5
    phases = ("Running", "Succeeded", "Failed", "Pending", "Unknown") if bound else ("Pending", "Pending", "Failed")
    return Pod(
        cluster=cluster, namespace=namespace, name=name, uid=f"pod{place}",
        node_name=chance.choice(shape.nodes) if bound else "", phase=chance.choice(phases),
        priority=chance.choice(shape.priorities), scheduler_name=chance.choice(shape.profiles),
        deletion_timestamp=NOW if chance.random() < 0.1 else None,
        created_at=NOW - timedelta(seconds=chance.choice((0, 60, 600, 3600, 90_000))),
        owner=f"ReplicaSet/{owner.name}" if owner else "", manifest={"metadata": metadata},
    )  # fmt: skip


def attempt_of(pod: Pod, seq: int, number: int, chance: random.Random) -> Attempt:
    """An attempt at the pod; of some the last of equal ones tells of itself."""
    result = chance.choice(Result.values)
    refused = chance.sample(REASONS, chance.randrange(3)) if result != Result.NO_PROFILE else []
    repeats = chance.choice((0, 0, 3))
    last = {"attempt": number + repeats, "duration_us": seq * 3, "durations": {}}
    rejections = [
        {"plugin": plugin, "reason": reason, "code": "Unschedulable", "count": 1} for plugin, reason in refused
    ]
    return Attempt(
        cluster_id=pod.cluster_id, seq=seq, step=1, place=0, pod_uid=pod.uid, namespace=pod.namespace, name=pod.name,
        attempt=number, profile=pod.scheduler_name, result=result,
        node_name=f"n{seq % 5}" if result in (Result.SCHEDULED, Result.PROPOSED) else "",
        nominated_node_name=chance.choice((None, "", "n1")),
        message=f"0/{seq} nodes: {', '.join(reason for _, reason in refused)}",
        started_at=NOW - timedelta(seconds=10 * seq),
        last_seen_at=NOW - timedelta(seconds=chance.choice((seq, 10 * seq))),
        duration_us=chance.choice((7, 1000, 2000)), evaluated=chance.randrange(20), feasible=chance.randrange(5),
        rejections=rejections, refused=sorted({word for pair in refused for word in pair}), repeat_count=repeats,
        preemption=_preemption(chance) if chance.random() < 0.4 else None,
        last_repeat=last if repeats and chance.random() < 0.7 else None, digest=b"d",
    )  # fmt: skip


def _queue(pod: Pod, seq: int, chance: random.Random) -> QueueState:
    queue = chance.choice(Queue.values)
    return QueueState(cluster_id=pod.cluster_id, pod_uid=pod.uid, pod_key=pod.key, queue=queue, since=NOW, seq=seq)


def _preemption(chance: random.Random) -> dict[str, Any]:
    counts = {name: chance.randrange(4) for name in ("num_victims", "candidates", "tried", "num_pdb_violations")}
    return {**counts, "node": "", "victims": [], "tied": 0, "cleared": []}


def _event(pod: Pod, chance: random.Random) -> Event:
    at = NOW - timedelta(seconds=chance.choice((0, 60, 600, 3600, 90_000)))
    return Event(
        cluster_id=pod.cluster_id, namespace=pod.namespace, name=f"{pod.name}.1",
        type=chance.choice(("Normal", "Warning")), reason=chance.choice(("FailedScheduling", "Scheduled", "Preempted")),
        note=chance.choice(("0/3 nodes: cpu_x", "100% done", "")), regarding_kind="Pod",
        regarding_namespace=pod.namespace, regarding_name=pod.name, regarding_uid=pod.uid,
        reporter="default-scheduler", count=chance.randint(1, 3), first_at=at, last_at=at,
    )  # fmt: skip


def _change(pod: Pod, rv: int, chance: random.Random) -> Change:
    return Change(
        cluster_id=pod.cluster_id, rv=rv, kind=chance.choice(("Pod", "Node", "ReplicaSet")), namespace=pod.namespace,
        name=pod.name, uid=pod.uid, operation=chance.choice(Operation.values), object=b"",
        actor=chance.choice(("ada", "scheduler", "token:ci@ada")),
        at=NOW - timedelta(seconds=chance.choice((0, 60, 600, 3600, 90_000))),
    )  # fmt: skip
