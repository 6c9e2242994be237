"""The engine and the objects of a cluster as they were at a moment, made again beside the scheduler.

The process holds no lease and the database is only read. What was made is kept for the next question: one about a
later moment goes on from it. Objects alone need no engine: they can also be had where steps cannot be made again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from kschedweb.cluster.models import Cluster
from kschedweb.common.collector import without_collecting
from kschedweb.scheduling.past import journal, stores, walking
from kschedweb.scheduling.past.errors import FutureError, HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.objects import Objects, objects_at
from kschedweb.scheduling.past.stores import Place
from kschedweb.scheduling.past.walking import Walker
from scheduler_core.api.times import microseconds, moment_of
from scheduler_core.scheduler.scheduler import Scheduler

MOST_KEPT = 2  # clusters whose engines are kept in a process
MOST_OBJECTS = 100_000  # of all that are kept, unless one has more
NEAR = 5_000  # entries of the engine log that are gone through again sooner than a checkpoint is read


@dataclass(frozen=True, slots=True)
class Position:
    """How far the change log and the engine log had come."""

    rv: int
    seq: int

    def __str__(self) -> str:
        return f"{self.rv}.{self.seq}"


@dataclass(frozen=True, slots=True)
class Moment:
    """A cluster as it was: the engine after the last step that had ended by then, and the objects of then.

    `scheduler` is None before the first step. Neither may be changed: they are kept. `at`: the time that was asked
    for, or that of the position, in microseconds.
    """

    cluster_id: int
    position: Position
    at: int
    run: int
    step: int
    seq: int  # where the engine log ended after the step
    now: datetime | None  # of the step
    scheduler: Scheduler | None
    objects: Objects


@dataclass(frozen=True, slots=True)
class ObjectsThen:
    """The objects of a cluster as they were, which may not be changed; `at` and `seq` as of a `Moment`.

    `stepped_at`: when the last step was, in microseconds; 0 before the first. `config_version`: that of the step; None
    before the first.
    """

    cluster_id: int
    position: Position
    at: int
    seq: int
    stepped_at: int
    objects: Objects
    config_version: int | None = None

    @property
    def without_engine(self) -> Moment:
        """The same as a moment of which nobody asks what the scheduler knew."""
        return Moment(self.cluster_id, self.position, self.at, 0, 0, self.seq, None, None, self.objects)


@dataclass(frozen=True, slots=True)
class EngineThen:
    """The engine of a cluster as it was, without the objects; its fields are those of a `Moment`."""

    cluster_id: int
    position: Position
    at: int
    seq: int
    now: datetime | None
    scheduler: Scheduler | None


@dataclass(slots=True)
class _Kept:
    walker: Walker | None  # None, of either: nobody asked for it so far
    objects: Objects | None


_kept: OrderedDict[int, _Kept] = OrderedDict()
_lock = threading.Lock()


@contextmanager
def moment(*, cluster_id: int, position: Position | None = None, at: datetime | None = None) -> Iterator[Moment]:
    """The cluster at a position of its logs, or at a time; nobody else has the engine within the block.

    ClusterGoneError; HistoryCutError for what has been cleared away, FutureError for what has not come yet,
    NotReplayableError where the record does not suffice, as with a checkpoint of another version of the engine.
    """
    with _lock:
        try:
            found = _made(cluster_id, position, at)
        except BaseException:
            _kept.pop(cluster_id, None)  # whatever state it is in
            raise
        yield found


@contextmanager
def objects_then(
    *, cluster_id: int, position: Position | None = None, at: datetime | None = None
) -> Iterator[ObjectsThen]:
    """The objects alone, made without an engine; nobody else has them within the block.

    ClusterGoneError, HistoryCutError, FutureError.
    """
    with _lock:
        place = _located(cluster_id, position, at)
        kept = _kept.pop(cluster_id, None)
        objects = _objects(cluster_id, place.position.rv, kept)
        _keep(cluster_id, _Kept(None if kept is None else kept.walker, objects))
        seq, stepped_at, version = _ended(cluster_id, place.target)
        yield ObjectsThen(cluster_id, place.position, place.time, seq, stepped_at, objects, version)


@contextmanager
def engine_then(
    *, cluster_id: int, position: Position | None = None, at: datetime | None = None
) -> Iterator[EngineThen]:
    """The engine alone, which may not be changed; nobody else has it within the block. Raises as `moment` does."""
    with _lock:
        try:
            place = _located(cluster_id, position, at)
            kept = _kept.pop(cluster_id, None)
            walker = None if place.target is None else _led(place.cluster, place.target, kept)
            _keep(cluster_id, _Kept(walker, None if kept is None else kept.objects))
        except BaseException:
            _kept.pop(cluster_id, None)
            raise
        if walker is None:
            yield EngineThen(cluster_id, place.position, place.time, 0, None, None)
        else:
            now = moment_of(walker.now)
            yield EngineThen(cluster_id, place.position, place.time, walker.seq, now, walker.engine)


def located(*, cluster_id: int, position: Position | None = None, at: datetime | None = None) -> tuple[Position, int]:
    """The position that a time stands for, and the time of a position; raises as `objects_then` does."""
    place = _located(cluster_id, position, at)
    return place.position, place.time


def engine_at(*, cluster_id: int, position: Position) -> Walker:
    """The engine after the last step that had ended at a position, as a copy that may be led on.

    Raises as `moment` does, and NotReplayableError where no step had ended.
    """
    with _lock:
        kept = _kept.pop(cluster_id, None)
        with stores.of(cluster_id).reading():
            cluster = journal.ends(cluster_id)
            target = step_at(cluster, position)
        if target is None:
            raise NotReplayableError(f"there was no engine yet at {position}")
        walker = _led(cluster, target, kept)
        _keep(cluster_id, _Kept(walker, None if kept is None else kept.objects))
        return walker.copy()


def forget() -> None:
    """Drop what is kept."""
    with _lock:
        _kept.clear()


@dataclass(frozen=True, slots=True)
class _Located:
    cluster: Cluster
    position: Position
    target: Place | None
    time: int


def _located(cluster_id: int, position: Position | None, at: datetime | None) -> _Located:
    with stores.of(cluster_id).reading():
        cluster = journal.ends(cluster_id)
        if position is None:
            assert at is not None
            position = _position_at(cluster, at)
        target = step_at(cluster, position)
        time = _time_of(cluster, position, target) if at is None else microseconds(at)
    return _Located(cluster, position, target, time)


def _made(cluster_id: int, position: Position | None, at: datetime | None) -> Moment:
    place = _located(cluster_id, position, at)
    position, target, time = place.position, place.target, place.time
    kept = _kept.pop(cluster_id, None)
    if target is None:
        objects = objects_at(cluster_id, position.rv)
        return Moment(cluster_id, position, time, 0, 0, 0, None, None, objects)
    walker = _led(place.cluster, target, kept)
    objects = _objects(cluster_id, position.rv, kept)
    _keep(cluster_id, _Kept(walker, objects))
    now = moment_of(walker.now)
    return Moment(cluster_id, position, time, *walker.place, walker.seq, now, walker.engine, objects)


def _objects(cluster_id: int, rv: int, kept: _Kept | None) -> Objects:
    """The kept ones led on to a position, or others where that lies behind them."""
    with without_collecting():
        earlier = None if kept is None else kept.objects
        objects = objects_at(cluster_id, rv) if earlier is None or earlier.rv > rv else earlier
        objects.advance(rv)
    return objects


def _ended(cluster_id: int, target: Place | None) -> tuple[int, int, int | None]:
    """Where the engine log ended after a step, of which retention may have left a checkpoint only, its time, and its
    version of the configuration.
    """
    if target is None:
        return 0, 0, None
    store = stores.of(cluster_id)
    step = store.step(target)
    if step is not None:
        return step.seq_to, step.now_us, step.config_version
    seq, at, version = store.checkpoint_at(target)
    return seq, microseconds(at), version


def _keep(cluster_id: int, made: _Kept) -> None:
    _kept[cluster_id] = made
    while len(_kept) > MOST_KEPT or (len(_kept) > 1 and _objects_kept() > MOST_OBJECTS):
        _kept.popitem(last=False)


def _objects_kept() -> int:
    return sum(len(each.objects.texts) for each in _kept.values() if each.objects is not None)


def _time_of(cluster: Cluster, position: Position, target: Place | None) -> int:
    """When the cluster came to the position: the time of the step, or of a change after it."""
    store = stores.of(cluster.pk)
    changed = store.changed_at(position.rv)
    step = None if target is None else store.step(target)
    found = max(0 if changed is None else microseconds(changed), 0 if step is None else step.now_us)
    return found or _beginning(cluster.pk)


def _beginning(cluster_id: int) -> int:
    """Before anything had happened: the time of what happened first."""
    first = stores.of(cluster_id).changed_first()
    return 0 if first is None else microseconds(first)


def step_at(cluster: Cluster, asked: Position) -> Place | None:
    """The last step that had ended at a position, None before the first; HistoryCutError, FutureError."""
    if asked.rv > cluster.rv or asked.seq > cluster.seq:
        raise FutureError(str(asked), cluster.rv, cluster.seq)
    begins = journal.begins(cluster.pk)
    if asked.rv < begins[0] or asked.seq < begins[1]:
        raise HistoryCutError(*begins)
    store = stores.of(cluster.pk)
    found = store.last_step(asked.rv, asked.seq), store.last_checkpoint(asked.rv, asked.seq)
    return max((each for each in found if each is not None), default=None)


def position_at(cluster_id: int, at: datetime) -> Position:
    """Where the logs had come by a time of the cluster's clock; ClusterGoneError, FutureError."""
    with stores.of(cluster_id).reading():
        return _position_at(journal.ends(cluster_id), at)


def _position_at(cluster: Cluster, at: datetime) -> Position:
    """Where the logs had come by a time: to the last step, or the checkpoint it was cut at, and the last change.

    FutureError.
    """
    store = stores.of(cluster.pk)
    if microseconds(at) > store.now():
        raise FutureError(at.isoformat(), cluster.rv, cluster.seq)
    before, seen = store.steps_around(at)
    rv, seq = before or store.checkpoint_by(at) or (0, 0)
    # What the following step had not seen either came later, whatever its time: a writer may have waited.
    return Position(store.changed_by(rv, cluster.rv if seen is None else seen, at) or rv, seq)


def _led(cluster: Cluster, target: Place, kept: _Kept | None) -> Walker:
    walker = _walker(cluster, target, kept)
    walking.walk(walker, target)
    return walker


def _walker(cluster: Cluster, target: Place, kept: _Kept | None) -> Walker:
    """The kept one when it is on the way and near, else one from where the fewest steps lead there."""
    walker = None if kept is None else kept.walker
    if walker is None or walker.place > target or walker.engine is None:
        return walking.start_before(cluster, target)
    begins = journal.begins(cluster.pk)
    if walker.rv < begins[0] or walker.seq < begins[1]:
        return walking.start_before(cluster, target)  # the steps that lead on from it have been cleared away
    if stores.of(cluster.pk).has_checkpoint_beyond(walker.seq + NEAR, target[0]):
        started = walking.start_before(cluster, target)
        return started if started.seq > walker.seq + NEAR else walker
    return walker
