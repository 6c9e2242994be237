"""How far into the change log a step goes, so that pods of a stream are tried in the order they come in.

kube-scheduler takes a millisecond or two for a pod: of pods that a client creates one after the other each is tried
before the next is there. A step takes in all that came since the last one, and its queue gives the most important pod
first, before others that came earlier. Such a pod waits for the next step, and all that came after it does, unless many
pods wait or extenders are asked: those would wait in kube-scheduler's queue too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice, pairwise
from typing import Final

import msgspec

from kschedweb.cluster import follow
from scheduler_core.api.pod import Pod
from scheduler_core.model.changes import Change, ObjectPut
from scheduler_core.scheduler.scheduler import Scheduler

MOST_IN_TURN: Final = 100  # pods that were not tried yet; of more, the most important is tried first


class _Coming(msgspec.Struct, frozen=True):
    """A pod that a change brings to the queue; `rv` is the change's position."""

    rv: int
    priority: int


def in_turn(
    scheduler: Scheduler, changes: list[Change], log_to: int, *, cluster_id: int, now: int
) -> tuple[list[Change], int]:
    """The changes for a step, and where in the log it ends: at `log_to`, or before a pod that has to wait."""
    coming = [] if scheduler.engine.extenders else _coming(scheduler, changes)
    if not coming:
        return changes, log_to
    waiting = _waiting(scheduler, now)
    priorities = [*sorted(waiting, reverse=True), *(pod.priority for pod in coming)]
    if len(priorities) > MOST_IN_TURN or all(later <= earlier for earlier, later in pairwise(priorities)):
        return changes, log_to
    # What one transaction wrote comes at once.
    moments = follow.moments(cluster_id=cluster_id, rvs=[pod.rv for pod in coming])
    for _, group in groupby(coming, key=lambda pod: moments.get(pod.rv)):
        together = list(group)
        if waiting and max(pod.priority for pod in together) > min(waiting):
            end = together[0].rv - 1
            return [change for change in changes if change.rv <= end], end
        waiting += [pod.priority for pod in together]
    return changes, log_to


def _coming(scheduler: Scheduler, changes: Sequence[Change]) -> list[_Coming]:
    engine = scheduler.engine
    found: list[_Coming] = []
    seen: set[str] = set()
    for change in changes:
        if not isinstance(change, ObjectPut) or not isinstance(change.obj, Pod):
            continue
        pod = change.obj
        if pod.is_assigned or pod.is_terminal or pod.spec.scheduling_gates:
            continue
        known = engine.store.get(Pod.kind, pod.key)
        is_new = not isinstance(known, Pod) or known.uid != pod.uid or bool(known.spec.scheduling_gates)
        if is_new and pod.uid not in seen and pod.spec.scheduler_name in engine.frameworks:
            seen.add(pod.uid)
            found.append(_Coming(change.rv, pod.priority))
    return found


def _waiting(scheduler: Scheduler, now: int) -> list[int]:
    """Priorities of pods that are ready now and were never tried; of no more than it takes to be too many."""
    if scheduler.next_due(now) != now:
        return []
    untried = (info.pod.priority for info in scheduler.engine.queue.active.heap if not info.attempts)
    return list(islice(untried, MOST_IN_TURN + 1))
