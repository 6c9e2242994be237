"""Why a pod was evicted: who had it deleted, and of a preemption what each node would have cost.

What the change log says of the pod names the cause; the search for victims is what its record says, and what it says
when it is made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import Change, Event, Pod
from kschedweb.common import packing
from kschedweb.common.errors import NotFoundError
from kschedweb.scheduling.models import Eviction
from kschedweb.scheduling.past import comparing, journal
from kschedweb.scheduling.past.attempts import attempt_evicting
from kschedweb.scheduling.past.behind import Behind, Spent, of_drain, of_missing_node, of_taint, spent
from kschedweb.scheduling.past.comparing import Difference
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.traces.choices import LogKind
from kschedweb.traces.models import Attempt, EngineLog
from kschedweb.traces.selectors.history import PREEMPTED, pod_keys
from scheduler_core.apiserver.effects import PREEMPTION_BY_SCHEDULER
from scheduler_core.apiserver.pods import DISRUPTION_TARGET, EVICTED
from scheduler_core.controllers import drain, pod_gc, taint_eviction
from scheduler_core.controllers.pod_status import BY_KUBELET
from scheduler_core.errors import TraceError
from scheduler_core.explain.evicted import Evicting, Searched
from scheduler_core.model.effects import ExtenderExchange, PreemptionRecord
from scheduler_core.trace import codec

DELETED = "deleted"
CAUSES = {
    PREEMPTION_BY_SCHEDULER: "preempted",
    taint_eviction.REASON: "taint",
    EVICTED[0]: "api",
    BY_KUBELET: "kubelet",
    pod_gc.REASON: "podGC",
}  # by reason of the condition
MOST_ATTEMPTS = 20  # of a preemptor, among which the one that took this victim is looked for


@dataclass(frozen=True, slots=True)
class Preempting:
    """The attempt that took the pod as a victim. `found`: of it made again; None where it was not."""

    attempt: Attempt
    record: PreemptionRecord
    exchanges: Sequence[ExtenderExchange] = ()  # with extenders, about its candidates
    found: Evicting | None = None

    @property
    def refusals(self) -> list[tuple[str, int]]:
        """Why nodes that were tried would not do, the most frequent first."""
        counts = Counter(", ".join(status.reasons) for _, status in self.record.not_candidates)
        return counts.most_common()


@dataclass(frozen=True, slots=True)
class Evicted:
    """`cause`: a value of `CAUSES`, or DELETED. `entry`: with which it was to go; `is_cut`: it was already before it.

    `behind`: the change of its node that made its actor do it; `spent`: budgets it was counted against. `gone`: when it
    left, None while it is there. `preemptor`: namespace/name, or the uid where no pod of it is known.
    """

    uid: str
    node: str
    priority: int
    cause: str
    message: str
    entry: Change
    is_cut: bool
    gone: datetime | None
    behind: Behind | None = None
    spent: Sequence[Spent] = ()
    preemptor: str = ""
    preempting: Preempting | None = None
    difference: Difference | None = None


def pod_evicted(*, cluster_id: int, namespace: str, name: str, uid: str = "", again: bool = True) -> Evicted:
    """Say why a pod was evicted: the one with this uid, else the newest of its name that is leaving or left.

    With `again` the search that took it as a victim is made again. NotFoundError, ClusterGoneError; with `again` as
    `attempt_again` raises.
    """
    journal.ends(cluster_id)
    entries = Change.objects.filter(cluster_id=cluster_id, kind="Pod", namespace=namespace, name=name)
    uid = uid or _uid(entries, cluster_id, namespace, name)
    said = _of_log(entries.filter(uid=uid).order_by("rv")) if uid else None
    if said is None:
        raise NotFoundError("no pod of this name is being deleted or was", namespace=namespace, name=name, uid=uid)
    if said.cause != CAUSES[PREEMPTION_BY_SCHEDULER]:
        return said
    preemptor, node = _preemptor(cluster_id, uid)
    said = replace(said, preemptor=pod_keys(cluster_id, [preemptor]).get(preemptor, preemptor) if preemptor else "")
    preempting = _preempting(cluster_id, preemptor, node, f"{namespace}/{name}", said.entry.rv)
    if preempting is None or not again:
        return replace(said, preempting=preempting)
    return _made_again(replace(said, preempting=preempting), preempting)


def _uid(entries: QuerySet[Change], cluster_id: int, namespace: str, name: str) -> str:
    """Of the pod that is leaving, or of the last of the name that left."""
    pod = Pod.objects.filter(cluster_id=cluster_id, namespace=namespace, name=name).first()
    if pod is not None and _is_leaving(pod.manifest):
        return pod.uid
    last = entries.filter(operation=Operation.DELETED).order_by("-rv").values_list("uid", flat=True).first()
    return last or ""


def _of_log(entries: QuerySet[Change]) -> Evicted | None:
    """What the entries about a pod say, oldest first; None where it does not leave."""
    entry, gone, is_cut = None, None, False
    leaving: dict[str, Any] = {}
    for place, each in enumerate(entries):
        if each.operation == Operation.DELETED:
            entry, gone = entry or each, each.at
            leaving = leaving or packing.unpacked(each.object)
            break
        manifest = packing.unpacked(each.object)
        if not _is_leaving(manifest):
            entry, is_cut, leaving = None, False, {}  # the condition was taken back
        elif entry is None:
            entry, leaving = each, manifest
            is_cut = place == 0 and each.operation != Operation.CREATED
    if entry is None:
        return None
    target = _target(leaving)
    cause, node = CAUSES.get(target.get("reason", ""), DELETED), leaving.get("spec", {}).get("nodeName", "")
    return Evicted(
        uid=entry.uid,
        node=node,
        priority=leaving.get("spec", {}).get("priority", 0),
        cause=cause,
        message=target.get("message", ""),
        entry=entry,
        is_cut=is_cut,
        gone=gone,
        behind=_behind(cause, entry, node, leaving),
        spent=spent(entry) if cause == CAUSES[EVICTED[0]] else (),
    )


def _behind(cause: str, entry: Change, node: str, pod: dict[str, Any]) -> Behind | None:
    if cause == CAUSES[taint_eviction.REASON]:
        return of_taint(entry, node, pod)
    if cause == CAUSES[pod_gc.REASON]:
        return of_missing_node(entry, node)
    return of_drain(entry, node) if entry.actor == drain.Drain.actor else None


def _is_leaving(manifest: dict[str, Any]) -> bool:
    return bool(manifest["metadata"].get("deletionTimestamp") or _target(manifest))


def _target(manifest: dict[str, Any]) -> dict[str, Any]:
    """The condition that says why it is to go; empty: none does."""
    conditions = manifest.get("status", {}).get("conditions") or ()
    found = (one for one in conditions if one.get("type") == DISRUPTION_TARGET and one.get("status") == "True")
    return next(found, {})


def _preemptor(cluster_id: int, uid: str) -> tuple[str, str]:
    """(uid of the preemptor, node) of whom the pod was to make room for: of the engine's log, of events, of its work.

    Both empty where nothing says it.
    """
    log = EngineLog.objects.filter(cluster_id=cluster_id, pod_uid=uid, kind=LogKind.EVENT).order_by("-seq")
    events = Event.objects.filter(cluster_id=cluster_id, regarding_uid=uid, reason="Preempted").order_by("-id")
    notes = [*(row.full_payload.get("note", "") for row in log), *events.values_list("note", flat=True)]
    for note in notes:
        if match := PREEMPTED.match(note):
            return match[1], note[match.end() :].strip()
    work = Eviction.objects.filter(cluster_id=cluster_id, pod_uid=uid).order_by("-id")
    return work.values_list("preemptor_uid", "node_name").first() or ("", "")


def _preempting(cluster_id: int, preemptor: str, node: str, victim: str, rv: int) -> Preempting | None:
    """The attempt of the preemptor that chose this victim, before the entry at `rv`; None where it is not stored."""
    rows = Attempt.objects.filter(
        cluster_id=cluster_id, pod_uid=preemptor, preemption__node=node, rv__lt=rv, matrix__isnull=False
    )
    for row in rows.defer("digest").order_by("-seq")[:MOST_ATTEMPTS]:
        try:
            matrix = codec.decode(bytes(row.matrix or b""), journal.node_names(cluster_id, row.node_order))
        except (TraceError, NotReplayableError):
            continue
        record = matrix.post_filter.preemption if matrix.post_filter is not None else None
        if record is not None and victim in record.victims:
            return Preempting(row, record, [each for each in matrix.exchanges if each.point == "preempt"])
    return None


def _made_again(said: Evicted, preempting: Preempting) -> Evicted:
    """With the search made again; where it comes out otherwise only that is said."""
    row, record = preempting.attempt, preempting.record
    nodes = [each.node_name for each in record.candidates]
    searched = Searched(nodes, record.chosen, preempting.exchanges)
    found, difference = attempt_evicting(cluster_id=row.cluster_id, seq=row.seq, searched=searched)
    if found is not None and difference is None:
        told, made = (record.chosen, record.decided_by), (found.best, found.decided_by)
        if told != made:
            key = f"{row.namespace}/{row.name}"
            difference = Difference(
                row.run, row.step, row.seq, key, "node and criterion", comparing.text(told), comparing.text(made)
            )
    if difference is not None:
        return replace(said, difference=difference)
    return replace(said, preempting=replace(preempting, found=found))
