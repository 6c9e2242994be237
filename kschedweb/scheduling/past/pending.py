"""Why a pod is pending: what its record says, and what it says when its last attempt is made again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import QuerySet

from kschedweb.cluster import selectors
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.common.errors import InvalidError
from kschedweb.scheduling.past import journal, stores, turning, walking
from kschedweb.scheduling.past.attempts import attempt_judged
from kschedweb.scheduling.past.comparing import Difference
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.scheduling.past.objects import objects_at
from kschedweb.scheduling.past.turning import Follower, Turning
from kschedweb.traces.choices import Queue, Result
from kschedweb.traces.models import Attempt, QueueState
from scheduler_core.api.times import microseconds, moment_of
from scheduler_core.errors import TraceError
from scheduler_core.explain import pending
from scheduler_core.explain.pending import Judged, Waker
from scheduler_core.preemption.evaluator import POLICY_NEVER, TERMINATING_ON_NOMINATED_NODE
from scheduler_core.trace import codec

MOST_REFUSALS = 20  # kinds of nodes tried for victims in vain
_DONE = (Result.SCHEDULED, Result.PROPOSED)


@dataclass(frozen=True, slots=True)
class Since:
    """The first of the unbroken series of attempts in vain. `is_cut`: earlier ones are not stored any more."""

    at: datetime
    seq: int
    attempts: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where the pod waits, and for what. `retried_at`: at the latest; None: never without an event, or at once."""

    row: QueueState
    retried_at: datetime | None
    wakers: tuple[Waker, ...]


@dataclass(frozen=True, slots=True)
class Preempted:
    """What preemption came to. `outcome`: found, failed, noHelp, never, terminating, other (the message) or notAsked.

    `potential`: nodes whose refusal evictions could lift; `refusals`: why those that were tried would not do.
    """

    outcome: str
    message: str = ""
    potential: int = 0
    candidates: int = 0
    node: str = ""
    victims: tuple[str, ...] = ()
    refusals: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PodTold:
    """`rv`: the position that `judged` is of; `made_again`: of the attempt made again, else of what was stored then."""

    pod: Pod
    attempt: Attempt | None
    since: Since | None
    waiting: Waiting | None
    preempted: Preempted | None
    rv: int | None = None
    judged: Judged | None = None
    made_again: bool = False
    turning: Turning | None = None
    difference: Difference | None = None


def pod_why(*, cluster_id: int, namespace: str, name: str, again: bool, now: bool, limit: int) -> PodTold:
    """Say why a pod has no node.

    With `again` its last attempt is made again, or the pod is tried on what is stored now where that is asked for or
    the attempt cannot be made again; then the entry that turned it is looked for from that position on. NotFoundError,
    ClusterGoneError; InvalidError for a pod that has a node; with `again` HistoryCutError, and NotReplayableError
    where no engine can be made.
    """
    cluster = journal.ends(cluster_id)
    pod = selectors.pod_get(cluster_id=cluster_id, namespace=namespace, name=name)
    if pod.node_name:
        raise InvalidError(f"the pod is on {pod.node_name}", node=pod.node_name)
    attempts = Attempt.objects.filter(cluster_id=cluster_id, pod_uid=pod.uid).defer("digest")
    last = attempts.order_by("-seq").first()
    version = cluster.config_version if last is None or now else last.config_version
    told = PodTold(pod, last, _since(attempts, last), _waiting(cluster, pod), _preempted(last))
    return _tried(cluster, told, None if now else last, version, limit) if again else told


def _tried(cluster: Cluster, told: PodTold, last: Attempt | None, version: int, limit: int) -> PodTold:
    """With what the pod is found to be when it is tried: again, or without an attempt at the end of the log."""
    rv = cluster.rv if last is None else last.rv
    told = replace(told, rv=rv)
    if last is not None:
        try:
            judged, difference = attempt_judged(cluster_id=cluster.pk, seq=last.seq, limit=limit)
            told = replace(told, judged=judged, difference=difference, made_again=judged is not None)
        except NotReplayableError:
            pass  # a mirror, say: the pod is tried on what was stored then
    at = stores.of(cluster.pk).now() if last is None else microseconds(last.started_at)
    key = ("Pod", told.pod.namespace, told.pod.name)
    follower = Follower(walking.bare_engine(cluster, version), key, at)
    if told.judged is None and told.difference is None:
        cycle = follower.cycle(objects_at(cluster.pk, rv))
        told = replace(told, judged=None if cycle is None else pending.judged(cycle, limit))
    return replace(told, turning=turning.turning(cluster, told.pod, follower, until=rv, version=version))


def _since(attempts: QuerySet[Attempt], last: Attempt | None) -> Since | None:
    """None where the last attempt was none in vain."""
    if last is None or last.result in _DONE:
        return None
    done = attempts.filter(result__in=_DONE).order_by("-seq").first()
    first = attempts.filter(seq__gt=0 if done is None else done.seq).earliest("seq")
    number = 0 if done is None else done.last_attempt
    return Since(first.started_at, first.seq, last.last_attempt - first.attempt + 1, first.attempt > number + 1)


def _waiting(cluster: Cluster, pod: Pod) -> Waiting | None:
    row = QueueState.objects.filter(cluster_id=cluster.pk, pod_uid=pod.uid).first()
    if row is None:
        return None
    try:
        engine = walking.bare_engine(cluster, cluster.config_version).engine
    except NotReplayableError:
        return Waiting(row, row.backoff_until, ())
    at = row.backoff_until
    if row.queue == Queue.UNSCHEDULABLE:
        at = moment_of(engine.queue.left_over_at(microseconds(row.since)))
    events = row.queue in (Queue.UNSCHEDULABLE, Queue.GATED)
    found = pending.wakers(engine, pod.scheduler_name, frozenset(row.plugins)) if events else ()
    return Waiting(row, None if row.queue == Queue.GATED else at, found)


def _preempted(last: Attempt | None) -> Preempted | None:
    """None where it is not known."""
    if last is None or last.matrix is None:
        return None
    try:
        names = journal.node_names(last.cluster_id, last.node_order)
        found = codec.decode(bytes(last.matrix), names).post_filter
    except (TraceError, NotReplayableError):
        return None
    if found is None:
        return Preempted("notAsked")
    record = found.preemption
    if record is None or not record.dry_run:
        refused = {POLICY_NEVER: "never", TERMINATING_ON_NOMINATED_NODE: "terminating"}
        outcome = next((word for text, word in refused.items() if text in found.message), "")
        return Preempted(outcome or ("other" if record is None else "noHelp"), found.message)
    refusals = Counter(", ".join(status.reasons) for _, status in record.not_candidates)
    return Preempted(
        outcome="found" if record.chosen else "failed",
        message=found.message,
        potential=len(record.potential_nodes),
        candidates=len(record.candidates),
        node=record.chosen,
        victims=record.victims,
        refusals=tuple(refusals.most_common(MOST_REFUSALS)),
    )
