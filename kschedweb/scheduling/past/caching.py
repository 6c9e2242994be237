"""The scheduler's cache at a moment: what the engine holds, with the times at which the log tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kschedweb import views
from kschedweb.scheduling.past import stores
from kschedweb.scheduling.past.moments import EngineThen
from kschedweb.views import view_of
from scheduler_core.api.times import moment_of
from scheduler_core.explain import cached
from scheduler_core.explain.cached import CachedPod, Stage
from scheduler_core.model.effects import CacheMove

ASSUMED, CONFIRMED, FORGOTTEN = "assumed", "confirmed", "forgotten"


def cache_view(then: EngineThen, *, sought: str, most_pods: int) -> views.SchedulerCache:
    """The cache, of its pods and nodes those sought by a part of their name; empty before the first step."""
    position, at = then.position, moment_of(then.at)
    if then.scheduler is None:
        return views.SchedulerCache(rv=position.rv, seq=position.seq, at=at)
    found = cached.looked_in(then.scheduler.engine, sought=sought, most_pods=most_pods)
    told = _told(then, found.pods)
    return views.SchedulerCache(
        rv=position.rv,
        seq=position.seq,
        at=at,
        stepped_at=then.now,
        generation=found.generation,
        snapshot=views.CacheSnapshot(
            generation=found.snapshot_generation,
            since=found.since,
            changed=found.changed,
            dropped=found.dropped,
            behind=found.behind,
            nodes=found.snapshot_nodes,
        ),
        assumed=found.assumed,
        confirmed=found.confirmed,
        nodes_total=found.cache_nodes,
        nodes=[view_of(views.CacheNode, node) for node in found.nodes],
        pods_found=found.pods_found,
        pods=[_pod_view(pod, told[pod.uid]) for pod in found.pods],
    )


@dataclass(slots=True)
class _Told:
    """What the log says of a pod in the cache; None: it is not known."""

    assumed_at: datetime | None = None
    confirmed_at: datetime | None = None
    attempt: int | None = None
    attempt_seq: int | None = None


def _told(then: EngineThen, pods: tuple[CachedPod, ...]) -> dict[str, _Told]:
    store = stores.of(then.cluster_id)
    moves = store.cache_moves([pod.uid for pod in pods], then.seq)
    assumed = {uid: found for uid, entries in moves.items() if (found := _last_assumed(entries)) is not None}
    attempts = store.attempts_before({uid: seq for uid, (seq, _) in assumed.items()})
    told = {}
    for pod in pods:
        one = told[pod.uid] = _Told(attempt=pod.attempt)
        seq, move = assumed.get(pod.uid, (0, None))
        if move is not None:
            one.assumed_at = moment_of(move.at)
            made = attempts.get(pod.uid)
            if made is not None and made[2] == move.node_name and one.attempt in (None, made[1]):
                one.attempt_seq, one.attempt, _ = made
        if pod.stage is Stage.CONFIRMED:
            one.confirmed_at = _confirmed(moves.get(pod.uid, ()), seq, has_assumed=move is not None)
    return told


def _last_assumed(entries: list[tuple[int, CacheMove]]) -> tuple[int, CacheMove] | None:
    """None also where the last assumption was given up: the pod came to its node in another way."""
    last = next((each for each in reversed(entries) if each[1].kind in (ASSUMED, FORGOTTEN)), None)
    return None if last is None or last[1].kind == FORGOTTEN else last


def _confirmed(entries: list[tuple[int, CacheMove]] | tuple[()], after: int, *, has_assumed: bool) -> datetime | None:
    """When the assumption was confirmed; of a pod that came with its node when it came last."""
    found = [move for seq, move in entries if seq > after and move.kind == CONFIRMED]
    return moment_of(found[0 if has_assumed else -1].at) if found else None


def _pod_view(pod: CachedPod, told: _Told) -> views.CachePod:
    return views.CachePod(
        uid=pod.uid,
        key=pod.key,
        node=pod.node,
        stage=pod.stage.value,
        assumed_at=told.assumed_at,
        attempt=told.attempt,
        attempt_seq=told.attempt_seq,
        confirmed_at=told.confirmed_at,
        awaits=pod.awaits,
        until=None if pod.until is None else moment_of(pod.until),
    )
