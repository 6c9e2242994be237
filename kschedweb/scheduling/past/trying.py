"""An engine to try pods with, which knows what is stored: now, or at a moment of the past.

That of now is kept, of one cluster in a process, and led on by what has changed since: to make one of a large cluster
takes longer than all that is asked of it. It decides nothing, and what is tried with it is undone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import orjson

from kschedweb.cluster import follow
from kschedweb.cluster.models import ApiObject, Cluster, Pod
from kschedweb.common.collector import without_collecting
from kschedweb.common.errors import ApplicationError
from kschedweb.scheduling.past import asking, journal, stores, walking
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.objects import objects_at
from scheduler_core.api.pod import Pod as CorePod
from scheduler_core.api.times import moment_of
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.scheduler import Budget, Scheduler

_NO_CYCLES = Budget(max_cycles=0)
MOST_CHANGES = 50_000  # that an engine is led on by
Manifests = Callable[[str], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class There:
    """`rv`: the position of what the engine knows. `manifests`: those of a kind that is neither Pod nor Node.

    `object`: that of a kind, namespace and name, None where there is none. `then`: position and time of the past.
    """

    engine: Engine
    rv: int
    manifests: Manifests
    object: Callable[[str, str, str], dict[str, Any] | None]
    then: tuple[Position, datetime] | None = None

    def pods(self) -> list[CorePod]:
        """Those that have not ended."""
        return [pod for pod in self.engine.store.list(CorePod.kind) if isinstance(pod, CorePod)]


@dataclass(frozen=True, slots=True)
class _Kept:
    cluster_id: int
    config_version: int
    rv: int
    scheduler: Scheduler


_kept: list[_Kept] = []
_lock = threading.Lock()


@contextmanager
def there(cluster_id: int, at: str | None) -> Iterator[There]:
    """The engine, which nobody else has within the block.

    ClusterGoneError, NotReplayableError, BusyError; of the past all that `asking.objects` raises.
    """
    if at is None:
        with asking.turn_now(), _lock:
            led = _now(journal.ends(cluster_id))
            try:
                yield There(led.scheduler.engine, led.rv, partial(_manifests, cluster_id), partial(_object, cluster_id))
            except ApplicationError:  # a refusal: what was tried has been undone, as after an answer
                _kept.append(led)
                raise
            _kept.append(led)  # not one that any other error left in a state that nobody knows
        return
    with asking.objects(cluster_id, at) as found:
        cluster = journal.ends(cluster_id)
        scheduler = walking.bare_engine(cluster, found.config_version or cluster.config_version)
        _step(scheduler, found.at, found.objects.puts())
        texts, then = found.objects.texts, (found.position, moment_of(found.at))
        yield There(
            scheduler.engine,
            found.position.rv,
            found.objects.manifests,
            lambda *key: orjson.loads(texts[key][1]) if key in texts else None,
            then,
        )


def forget() -> None:
    """Drop what is kept."""
    with _lock:
        _kept.clear()


def _now(cluster: Cluster) -> _Kept:
    led = _led(_kept[0], cluster) if _kept else None
    if led is not None:
        return led
    scheduler = walking.bare_engine(cluster, cluster.config_version)
    _kept.clear()  # there is room for one, and only now is it known that another one can be made
    _step(scheduler, stores.of(cluster.pk).now(), objects_at(cluster.pk, cluster.rv).puts())
    return _Kept(cluster.pk, cluster.config_version, cluster.rv, scheduler)


def _led(kept: _Kept, cluster: Cluster) -> _Kept | None:
    """The same, knowing what has changed since; None where it is of no use."""
    is_of_it = (kept.cluster_id, kept.config_version) == (cluster.pk, cluster.config_version)
    if not is_of_it or not 0 <= cluster.rv - kept.rv <= MOST_CHANGES:
        return None
    try:
        changes, rv = follow.changes_after(cluster_id=cluster.pk, rv=kept.rv, least=cluster.rv, until=cluster.rv)
    except follow.LogClearedError:
        return None
    stored = [change for change in changes if isinstance(change, ObjectPut | ObjectDeleted)]
    _kept.clear()  # until it is known to be whole again
    _step(kept.scheduler, stores.of(cluster.pk).now(), stored)
    return replace(kept, rv=rv)


def _step(scheduler: Scheduler, now: int, changes: Sequence[Change]) -> None:
    with without_collecting():
        scheduler.step(now, list(changes), _NO_CYCLES)


def _manifests(cluster_id: int, kind: str) -> list[dict[str, Any]]:
    found = ApiObject.objects.filter(cluster_id=cluster_id, kind=kind).order_by("id")
    return list(found.values_list("manifest", flat=True))


def _object(cluster_id: int, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
    if kind == "Pod":
        pods = Pod.objects.filter(cluster_id=cluster_id, namespace=namespace, name=name)
        return pods.values_list("manifest", flat=True).first()
    found = ApiObject.objects.filter(cluster_id=cluster_id, kind=kind, namespace=namespace, name=name)
    return found.values_list("manifest", flat=True).first()
