"""What changed between two attempts at a pod: which nodes changed verdict, and by which entry of the change log each.

Both attempts are made again. In between, the pod is tried on the cluster as it was *stored* at positions of the log, as
`turning` does; of each node the entry is found by halving with which it has the verdict of the later attempt.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from kschedweb.cluster.models import Change, Cluster
from kschedweb.common.errors import InvalidError, NotFoundError
from kschedweb.scheduling.past import journal, turning, walking
from kschedweb.scheduling.past.attempts import attempt_verdicts
from kschedweb.scheduling.past.comparing import Difference
from kschedweb.scheduling.past.objects import Key, Objects, objects_at
from kschedweb.scheduling.past.turning import Follower
from kschedweb.traces.models import Attempt
from scheduler_core.api.times import microseconds
from scheduler_core.explain import changed
from scheduler_core.model.status import Status


class Cause(StrEnum):
    """Why a node has another verdict."""

    ENTRY = "entry"  # an entry of the change log, which is known
    CONFIGURATION = "configuration"  # another version of the configuration
    ASSUMED = "assumed"  # by what was stored nothing turned it: pods that were only assumed on nodes
    LATE = "late"  # the time was over
    UNPROVEN = "unproven"  # an entry was found, and another engine says otherwise of it


@dataclass(frozen=True, slots=True)
class Turned:
    """A node; its verdicts, None where there was no such node; `entry` with the cause ENTRY."""

    node: str
    before: Status | None
    after: Status | None
    cause: Cause
    entry: Change | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """`nodes`: of both attempts together; `turned`: those that changed verdict; `runs`: how often the pod was tried."""

    since: Attempt
    attempt: Attempt
    nodes: int = 0
    turned: tuple[Turned, ...] = ()
    runs: int = 0
    difference: Difference | None = None


def attempt_changed(*, cluster_id: int, seq: int, since: int | None) -> Told:
    """Say which nodes changed verdict between an attempt and one before it, else the one just before it.

    NotFoundError; InvalidError where they are not of one pod in this order; raises as `attempt_again`.
    """
    cluster = journal.ends(cluster_id)
    rows = Attempt.objects.filter(cluster_id=cluster_id).defer("digest", "matrix")
    row = rows.filter(seq=seq).first()
    if row is None:
        raise NotFoundError("the attempt does not exist", seq=seq)
    of_pod = rows.filter(pod_uid=row.pod_uid, seq__lt=seq)
    earlier = of_pod.order_by("-seq").first() if since is None else of_pod.filter(seq=since).first()
    if earlier is None:
        raise InvalidError("since: no earlier attempt at this pod", since=since)
    before, apart = attempt_verdicts(cluster_id=cluster_id, seq=earlier.seq)
    if apart is None:
        after, apart = attempt_verdicts(cluster_id=cluster_id, seq=seq)
    if apart is not None or before is None or after is None:
        return Told(earlier, row, difference=apart)
    names = list(changed.changed(before, after))
    search = _Search(cluster, earlier, row, {name: after.get(name) for name in names})
    causes = search.causes() if names else {}
    entries = Change.objects.filter(cluster_id=cluster_id, rv__in=set(search.found.values())).defer("object")
    by_rv = {entry.rv: entry for entry in entries}
    turned = tuple(
        Turned(name, before.get(name), after.get(name), causes[name], by_rv.get(search.found.get(name, 0)))
        for name in names
    )
    return Told(earlier, row, len(before.keys() | after.keys()), turned, search.runs)


@dataclass(slots=True)
class _Search:
    """`wanted`: by node the verdict of the later attempt; `found`: the position with which it has that."""

    cluster: Cluster
    since: Attempt
    row: Attempt
    wanted: dict[str, Status | None]
    found: dict[str, int] = field(default_factory=dict)
    runs: int = 0

    def causes(self) -> dict[str, Cause]:
        causes = dict.fromkeys(self.wanted, Cause.ASSUMED)
        follower = self._follower(self.row.config_version)
        lower = objects_at(self.cluster.pk, self.since.rv)
        turned_before = self._there(follower, lower, self.wanted)
        upper = lower.copy()
        upper.advance(self.row.rv)
        turned = self._there(follower, upper, self.wanted) - turned_before
        causes |= dict.fromkeys(self._by_configuration(lower, turned_before), Cause.CONFIGURATION)
        late = self._halve(follower, lower, self.row.rv, turned)
        causes |= dict.fromkeys(late, Cause.LATE)
        for name, proven in self._proven():
            causes[name] = Cause.ENTRY if proven else Cause.UNPROVEN
            if not proven:
                del self.found[name]
        return causes

    def _halve(self, follower: Follower, lower: Objects, until: int, turned: set[str]) -> set[str]:
        """Find the positions; the nodes for which the time did not suffice."""
        ends_at = time.monotonic() + turning.MOST_SECONDS
        waiting, late = [(lower, until, turned)], set[str]()
        while waiting:
            lower, until, names = waiting.pop()
            if not names:
                continue
            if until - lower.rv == 1:
                self.found |= dict.fromkeys(names, until)
            elif time.monotonic() > ends_at:
                late |= names
            else:
                middle = lower.copy()
                middle.advance((lower.rv + until) // 2)
                already = self._there(follower, middle, names)
                waiting += [(lower, middle.rv, already), (middle, until, names - already)]
        return late

    def _by_configuration(self, objects: Objects, turned: set[str]) -> set[str]:
        """Of nodes with the later verdict at the earlier position: those that had another with its configuration."""
        if not turned or self.since.config_version == self.row.config_version:
            return set()
        return turned - self._there(self._follower(self.since.config_version), objects, turned)

    def _proven(self) -> Iterable[tuple[str, bool]]:
        """Of each position that was found: whether another engine says that the node's verdict turns with it."""
        by_rv: dict[int, list[str]] = {}
        for name, rv in self.found.items():
            by_rv.setdefault(rv, []).append(name)
        if not by_rv:
            return
        other = self._follower(self.row.config_version)
        objects = objects_at(self.cluster.pk, min(by_rv) - 1)
        for rv, names in sorted(by_rv.items()):
            objects.advance(rv - 1)
            already = self._there(other, objects, names)
            objects.advance(rv)
            turned = self._there(other, objects, names) - already
            yield from ((name, name in turned) for name in names)

    def _there(self, follower: Follower, objects: Objects, names: Collection[str]) -> set[str]:
        """Those of the nodes that have the verdict of the later attempt with these objects."""
        self.runs += 1
        cycle = follower.cycle(objects)
        if cycle is None:
            return set()
        found = changed.verdicts(cycle)
        return {name for name in names if found.get(name) == self.wanted[name]}

    def _follower(self, version: int) -> Follower:
        key: Key = ("Pod", self.row.namespace, self.row.name)
        return Follower(walking.bare_engine(self.cluster, version), key, microseconds(self.row.started_at))
