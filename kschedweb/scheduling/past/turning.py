"""Which entry of the change log made a pod unschedulable: just before it the pod fits on a node, with it on none.

The pod is tried on the cluster as it was *stored* at a position, nothing of which is changed: pods count on nodes
once their binding is in the log, extenders are not asked. Where it fits need not hang together, so what is found is the
turn nearest to the end that steps of doubled length find, then those between them; it is proven by two runs of another
engine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice, pairwise

import orjson

from kschedweb.cluster import follow
from kschedweb.cluster.models import Change, Cluster, Pod
from kschedweb.common.collector import without_collecting
from kschedweb.scheduling.past import journal, walking
from kschedweb.scheduling.past.objects import Key, Objects, objects_at
from scheduler_core.api import manifests
from scheduler_core.api import pod as core
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.explain import pending
from scheduler_core.model import changes as core_changes
from scheduler_core.scheduler.scheduler import Budget, Scheduler

MOST_SECONDS = 20.0  # after which no further position is tried
MOST_TRIED = 150  # positions, until one is found where the pod fits
_NO_CYCLES = Budget(max_cycles=0)
_RUNS_OF_PROOF = 2


class Verdict(StrEnum):
    """What came of the search."""

    ENTRY = "entry"  # it is known
    FITS = "fits"  # by what is stored the pod fits at the end: it was not tried since, or room was taken meanwhile
    NEVER = "never"  # it fitted at none of the positions, back to the first of all
    CUT = "cut"  # the same, back to where history begins
    LATE = "late"  # the time was over
    UNPROVEN = "unproven"  # one was found, and another engine says otherwise of it


@dataclass(frozen=True, slots=True)
class Turn:
    """The entry with which the pod fits nowhere. `fitting`: nodes just before it, `node` the first of them.

    `existed`: the pod was there already; else a pod as it is would have fitted.
    """

    rv: int
    kind: str
    namespace: str
    name: str
    operation: str
    actor: str
    at: datetime
    fitting: int
    node: str
    existed: bool


@dataclass(frozen=True, slots=True)
class Turning:
    """`until`: the position at which the pod fits nowhere; `runs`: how often it was tried.

    `created`: where it was created, None where that is not in the log any more; `fitted_then`: whether it fitted when
    it was, None where that was not tried. `begins`: where history begins.
    """

    verdict: Verdict
    until: int
    runs: int
    created: int | None
    fitted_then: bool | None
    begins: int
    turn: Turn | None = None


@dataclass(slots=True)
class Follower:
    """An engine that is led to positions of the change log, later or earlier ones, by what differs between them."""

    scheduler: Scheduler
    key: Key
    now: int
    pod: core.Pod | None = None  # as it was when it was there last
    runs: int = 0
    _held: dict[Key, tuple[int, bytes]] = field(default_factory=dict)

    def cycle(self, objects: Objects) -> Cycle | None:
        """The cycle that the pod would have with these objects; None where it would have none."""
        self.runs += 1
        with without_collecting():
            self.scheduler.step(self.now, list(self._changes(objects)), _NO_CYCLES)
        self._held = dict(objects.texts)
        there = self.scheduler.engine.store.pod(f"{self.key[1]}/{self.key[2]}")
        self.pod = there or self.pod
        return None if self.pod is None else pending.cycle_now(self.scheduler.engine, self.pod)

    def fitting(self, objects: Objects) -> Iterator[str]:
        """The nodes that the pod would fit on."""
        cycle = self.cycle(objects)
        return iter(()) if cycle is None else pending.fitting(cycle)

    def _changes(self, objects: Objects) -> Iterator[core_changes.Change]:
        """What leads from the objects that are held to these. A pod that differs is another: bindings are undone."""
        for key, (rv, _) in self._held.items():
            found = objects.texts.get(key)
            if key[0] in manifests.KINDS and (found is None or (key[0] == "Pod" and found[0] != rv)):
                yield core_changes.ObjectDeleted(*key)
        for key, (rv, text) in objects.ordered():
            held = self._held.get(key)
            if (held is None or held[0] != rv) and (put := follow.object_put(key[0], orjson.loads(text), rv)):
                yield put


def turning(cluster: Cluster, row: Pod, follower: Follower, *, until: int, version: int) -> Turning:
    """Look for the entry, backwards from a position; `follower`: an engine of this version of the configuration.

    ClusterGoneError, HistoryCutError, NotReplayableError.
    """
    key = follower.key
    begins, created = journal.begins(cluster.pk)[0], _created(row)
    if any(follower.fitting(objects_at(cluster.pk, until))):
        return Turning(Verdict.FITS, until, follower.runs, created, None, begins)
    pod, lower, unfit = follower.pod, None, [until]
    fitted_then = False if created == until else None
    ends_at = time.monotonic() + MOST_SECONDS
    for rv in islice(_back_from(until, created, begins), MOST_TRIED):
        if time.monotonic() > ends_at:
            return Turning(Verdict.LATE, until, follower.runs, created, fitted_then, begins)
        tried = objects_at(cluster.pk, rv)
        fits = any(follower.fitting(tried))
        fitted_then = fits if rv == created else fitted_then
        if fits:
            lower = tried
            break
        unfit.append(rv)
    if lower is None:
        verdict = Verdict.NEVER if begins == 0 else Verdict.CUT
        return Turning(verdict, until, follower.runs, created, fitted_then, begins)
    upper = min(rv for rv in unfit if rv > lower.rv)
    while upper - lower.rv > 1:
        if time.monotonic() > ends_at:
            return Turning(Verdict.LATE, until, follower.runs, created, fitted_then, begins)
        middle = lower.copy()
        middle.advance((lower.rv + upper) // 2)
        if any(follower.fitting(middle)):
            lower = middle
        else:
            upper = middle.rv
    turn = _confirmed(lower, upper, Follower(walking.bare_engine(cluster, version), key, follower.now, pod))
    verdict = Verdict.UNPROVEN if turn is None else Verdict.ENTRY
    return Turning(verdict, until, follower.runs + _RUNS_OF_PROOF, created, fitted_then, begins, turn)


def _confirmed(objects: Objects, rv: int, other: Follower) -> Turn | None:
    """The entry, if another engine says the same of it; `objects`: those just before it, which are led on."""
    existed, before = other.key in objects.texts, list(other.fitting(objects))
    objects.advance(rv)
    if not before or any(other.fitting(objects)):
        return None
    entry = Change.objects.get(cluster_id=objects.cluster_id, rv=rv)
    return Turn(
        rv=rv,
        kind=entry.kind,
        namespace=entry.namespace,
        name=entry.name,
        operation=entry.operation,
        actor=entry.actor,
        at=entry.at,
        fitting=len(before),
        node=before[0],
        existed=existed,
    )


def _created(row: Pod) -> int | None:
    """Where the pod was created."""
    entries = Change.objects.filter(cluster_id=row.cluster_id, uid=row.uid, kind="Pod", operation="created")
    return entries.order_by("rv").values_list("rv", flat=True).first()


def _back_from(until: int, created: int | None, begins: int) -> Iterator[int]:
    """Positions in steps of doubled length, where the pod was created among them, back to where history begins.

    Then those halfway between them, and so on, until all were there.
    """
    there = [until]
    length = 1
    while there[-1] > begins:
        rv = max(until - length, begins)
        length *= 2
        if created is not None and rv < created < there[-1]:
            there.append(created)
            yield created
        there.append(rv)
        yield rv
    while halves := [(above + below) // 2 for above, below in pairwise(there) if above - below > 1]:
        yield from halves
        there = sorted((*there, *halves), reverse=True)
