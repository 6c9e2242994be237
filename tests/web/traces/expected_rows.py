"""What a list should show, worked out in plain Python from the rows of a cluster."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from kschedweb.cluster.models import ApiObject, Change, Cluster, Event, Node, Pod
from kschedweb.query import KEYS, LISTS, Term
from kschedweb.traces.models import Attempt, QueueState
from kschedweb.traces.selectors.lists import order_of
from tests.web.traces.clusters import NOW, WORKLOADS

Facts = Mapping[str, Any]


def last_of(attempt: Attempt) -> int:
    return attempt.last_repeat["attempt"] if attempt.last_repeat else attempt.attempt + attempt.repeat_count


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def of_object(namespace: str, name: str, at: datetime) -> Facts:
    """What keys of every list about objects are compared with."""
    return {"ns": {namespace}, "": f"{namespace}/{name}", "age": (NOW - at).total_seconds()}


def pods(cluster: Cluster) -> Iterator[Facts]:
    """A row of each pod, and what its keys are compared with."""
    profiles = Cluster.objects.get(pk=cluster.pk).profiles
    queues = {one.pod_uid: one.queue for one in QueueState.objects.filter(cluster=cluster)}
    last: dict[str, Attempt] = {}
    for attempt in Attempt.objects.filter(cluster=cluster).order_by("seq"):
        last[attempt.pod_uid] = attempt
    above = {}
    for one in ApiObject.objects.filter(cluster=cluster):
        found = [each["name"] for each in one.manifest["metadata"].get("ownerReferences", ()) if each["controller"]]
        above[one.namespace, one.name] = found
    for pod in Pod.objects.filter(cluster=cluster):
        tried = last.get(pod.uid)
        pending = not pod.node_name and pod.phase not in ("Succeeded", "Failed")
        if pod.phase in ("Succeeded", "Failed"):
            status = pod.phase.lower()
        elif pod.deletion_timestamp:
            status = "deleting"
        elif pod.node_name:
            status = {"Running": "running", "Unknown": "unknown"}.get(pod.phase, "bound")
        else:
            status = queues.get(pod.uid) or ("unseen" if pod.scheduler_name in profiles else "noProfile")
        owners = [one["name"] for one in pod.manifest["metadata"].get("ownerReferences", ())]
        owners += [name for owner in owners for name in above[pod.namespace, owner]]
        yield {
            "row": {
                "namespace": pod.namespace, "name": pod.name, "status": status, "node": pod.node_name,
                "owner": f"ReplicaSet/{owners[0]}" if owners else "", "profile": pod.scheduler_name,
                "priority": pod.priority, "created": iso(pod.created_at), "attempts": last_of(tried) if tried else 0,
                "result": tried.result if tried else "", "message": tried.message if tried and pending else "",
                "uid": pod.uid,
            },
            "status": {status, *(["pending"] if pending else [])},
            **of_object(pod.namespace, pod.name, pod.created_at),
            "node": {pod.node_name},
            "owner": set(owners),
            "rejections": tried.rejections if tried and pending else [],
            "profile": {pod.scheduler_name},
            "priority": pod.priority,
            "attempts": last_of(tried) if tried else 0,
            "result": {tried.result if tried else ""},
        }  # fmt: skip


def attempts(cluster: Cluster) -> Iterator[Facts]:
    for one in Attempt.objects.filter(cluster=cluster):
        duration = one.last_repeat["duration_us"] if one.last_repeat else None if one.repeat_count else one.duration_us
        yield {
            "row": {
                "seq": one.seq, "seen": iso(one.last_seen_at), "namespace": one.namespace, "name": one.name,
                "attempt": last_of(one), "times": one.repeat_count + 1, "result": one.result, "node": one.node_name,
                "nominated": one.nominated_node_name or "", "profile": one.profile, "evaluated": one.evaluated,
                "feasible": one.feasible, "duration": duration, "message": one.message, "uid": one.pod_uid,
            },
            **of_object(one.namespace, one.name, one.last_seen_at),
            "node": {one.node_name},
            "rejections": one.rejections,
            "profile": {one.profile},
            "attempts": last_of(one),
            "result": {one.result},
        }  # fmt: skip


def preemptions(cluster: Cluster) -> Iterator[Facts]:
    of_seq = {one.seq: one for one in Attempt.objects.filter(cluster=cluster)}
    for facts in attempts(cluster):
        one, row = of_seq[facts["row"]["seq"]], facts["row"]
        if one.preemption is None:
            continue
        found = {
            "victims": one.preemption["num_victims"],
            "candidates": one.preemption["candidates"],
            "tried": one.preemption["tried"],
            "violations": one.preemption["num_pdb_violations"],
        }
        names = [column.name for column in LISTS["preemptions"].columns]
        yield {**facts, "node": {row["nominated"]}, "row": {name: (row | found)[name] for name in names}}


def nodes(cluster: Cluster) -> Iterator[Facts]:
    held = Counter(
        pod.node_name for pod in Pod.objects.filter(cluster=cluster) if pod.phase not in ("Succeeded", "Failed")
    )
    for node in Node.objects.filter(cluster=cluster):
        status = "notReady" if not node.ready else "cordoned" if node.unschedulable else "ready"
        yield {
            "row": {
                "name": node.name, "status": status, "zone": node.zone, "region": node.region, "pods": held[node.name],
                "uid": node.uid,
            },
            "status": {status},
            "node": {node.name},
            "": node.name,
        }  # fmt: skip


def workloads(cluster: Cluster) -> Iterator[Facts]:
    for one in ApiObject.objects.filter(cluster=cluster):
        metadata = one.manifest["metadata"]
        if any(owner["controller"] for owner in metadata.get("ownerReferences", ())):
            continue
        planted = WORKLOADS[int(one.uid[1:]) % len(WORKLOADS)][3:] if one.uid[0] == "w" else None
        status, message, (wanted, ready, updated, available) = planted or ("available", "", (0, 0, None, 0))
        yield {
            "row": {
                "kind": one.kind, "namespace": one.namespace, "name": one.name, "status": status, "wanted": wanted,
                "ready": ready, "updated": updated, "available": available, "created": metadata["creationTimestamp"],
                "message": message, "uid": one.uid,
            },
            **of_object(one.namespace, one.name, datetime.fromisoformat(metadata["creationTimestamp"])),
            "status": {status},
            "kind": {one.kind},
        }  # fmt: skip


def events(cluster: Cluster) -> Iterator[Facts]:
    for one in Event.objects.filter(cluster=cluster):
        yield {
            "row": {
                "id": one.pk, "seen": iso(one.last_at), "type": one.type, "reason": one.reason,
                "kind": one.regarding_kind, "namespace": one.regarding_namespace, "name": one.regarding_name,
                "times": one.count, "message": one.note, "uid": one.regarding_uid,
            },
            **of_object(one.regarding_namespace, f"{one.regarding_name} {one.note}", one.last_at),
            "type": {one.type},
            "kind": {one.regarding_kind},
            "reason": one.reason,
        }  # fmt: skip


def changes(cluster: Cluster) -> Iterator[Facts]:
    for one in Change.objects.filter(cluster=cluster):
        yield {
            "row": {
                "rv": one.rv, "seen": iso(one.at), "operation": one.operation, "kind": one.kind,
                "namespace": one.namespace, "name": one.name, "actor": one.actor, "uid": one.uid,
            },
            **of_object(one.namespace, one.name, one.at),
            "operation": {one.operation},
            "kind": {one.kind},
            "actor": {one.actor},
        }  # fmt: skip


FACTS: Mapping[str, Callable[[Cluster], Iterator[Facts]]] = {
    "pods": pods, "attempts": attempts, "preemptions": preemptions, "nodes": nodes, "workloads": workloads,
    "events": events, "changes": changes,
}  # fmt: skip


REJECTING = ("pods", "attempts", "preemptions")  # where a reason is that of a rejection


def number_holds(term: Term, value: float) -> bool:
    compared = {
        ":": lambda wanted: value == wanted,
        ">": lambda wanted: value > wanted,
        "<": lambda wanted: value < wanted,
        ">=": lambda wanted: value >= wanted,
        "<=": lambda wanted: value <= wanted,
    }[term.operator]
    return any(compared(wanted) for wanted in term.values)


def rejection_holds(term: Term, one: Facts) -> bool:
    if term.key == "plugin":
        return any(fnmatchcase(one["plugin"], str(value)) for value in term.values)
    return any(str(value).lower() in one["reason"].lower() for value in term.values)


def holds(term: Term, facts: Facts) -> bool:
    """Whether a term is true of a row, without regard to a negation."""
    if isinstance(facts.get(term.key), str):
        return any(str(value).lower() in facts[term.key].lower() for value in term.values)
    if term.key in ("plugin", "reason"):
        return any(rejection_holds(term, one) for one in facts["rejections"])
    if KEYS[term.key].is_compared:
        return number_holds(term, facts[term.key])
    return any(fnmatchcase(have, str(value)) for have in facts[term.key] for value in term.values)


def expected(cluster: Cluster, what: str, terms: Sequence[Term], sort: str) -> list[Facts]:
    together = [term for term in terms if term.key in ("plugin", "reason") and what in REJECTING and not term.negated]
    others = [term for term in terms if term not in together]
    found = [
        facts["row"]
        for facts in FACTS[what](cluster)
        if all(holds(term, facts) is not term.negated for term in others)
        and (not together or any(all(rejection_holds(term, one) for term in together) for one in facts["rejections"]))
    ]
    order = order_of(LISTS[what], sort)
    # Texts of these clusters are of lower-case letters, digits, "-" and "_", or stand apart by the whole: see `alike`.
    return sorted(found, key=lambda row: [_order(row[name]) for name in order], reverse=sort.startswith("-"))


def _order(value: Any) -> Any:
    return -1 if value is None else value
