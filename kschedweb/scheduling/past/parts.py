"""Recorded steps made again by several processes at once, each from a checkpoint to a later one.

A part is as good as what it begins with. It ends where the next one's checkpoint was written, and has to come to the
very state that is in it: then all parts together prove what one process would that goes from the first step to the
last. Where one comes to another state, whatever follows is made again from there, by one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from kschedweb.cluster.models import Cluster
from kschedweb.common.collector import without_collecting
from kschedweb.common.errors import ApplicationError
from kschedweb.scheduling.past import journal, moments, stores, walking
from kschedweb.scheduling.past.comparing import Difference
from kschedweb.scheduling.past.errors import NotReplayableError
from kschedweb.scheduling.past.journal import place_of
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.replaying import Replay, oldest
from kschedweb.scheduling.past.stores import Place
from kschedweb.scheduling.past.walking import START, Walker
from scheduler_core.scheduler import checkpoint

LEAST_ENTRIES = 10_000  # of a part: a process begins in the time that these take


@dataclass(frozen=True, slots=True)
class Part:
    """The steps after a checkpoint, or from where history begins (None), up to `until`."""

    after: Place | None
    until: Place


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a part, as `Replay` tells it. `is_met`: it came to the checkpoint that was written at its end."""

    cycles: int
    unproven: int
    reason: str
    difference: Difference | None
    is_met: bool


Make = Callable[[int, Sequence[Part]], Iterable[Made | str]]
"""Makes parts of a cluster, as `part_made` does each."""


def replayed(*, cluster_id: int, last: Position | None, processes: int, make: Make) -> Made:
    """All steps that are stored, or those up to a position, made again in so many parts at most.

    ClusterGoneError; HistoryCutError, FutureError, NotReplayableError as of a moment.
    """
    cluster = journal.ends(cluster_id)
    if cluster.is_mirror:
        raise NotReplayableError(walking.OF_A_MIRROR)
    position = last or Position(cluster.rv, cluster.seq)
    parts = parts_of(cluster, position, processes)
    cycles = unproven = 0
    reason = ""
    for part, found in zip(parts, make(cluster_id, parts), strict=True):
        is_certain = part is parts[-1] or isinstance(found, str) or found.difference is not None or found.is_met
        if not is_certain:
            found = part_made(cluster_id, Part(part.after, parts[-1].until))
        if isinstance(found, str):
            raise NotReplayableError(found)
        cycles, unproven, reason = cycles + found.cycles, unproven + found.unproven, found.reason or reason
        if found.difference is not None or not is_certain:
            return Made(cycles, unproven, reason, found.difference, is_met=False)
    return Made(cycles, unproven, reason, None, is_met=False)


def parts_of(cluster: Cluster, until: Position, most: int) -> list[Part]:
    """The steps up to a position, in parts of about as many entries of the engine log; none has very few.

    FutureError, HistoryCutError.
    """
    end = moments.step_at(cluster, until) or START
    begins = journal.begins(cluster.pk)[1]
    count = min(most, (until.seq - begins) // LEAST_ENTRIES)
    rows = stores.Tables(cluster.pk).checkpoints_between(begins, until.seq) if count > 1 else ()
    chosen = dict.fromkeys(
        min(rows, key=lambda row: abs(row[1] - begins - number * (until.seq - begins) / count))[0]
        for number in range(1, count if rows else 0)
    )
    edges = [None, *(place for place in chosen if place < end), end]
    return [Part(after, to) for after, to in zip(edges, edges[1:], strict=False) if to is not None]


def part_made(cluster_id: int, part: Part) -> Made | str:
    """Make a part; or say why it cannot be, in words that can be sent to another process."""
    try:
        cluster = journal.ends(cluster_id)
        if part.after is None:
            replay = oldest(cluster, part.until)
        else:
            walker = walking.start_before(cluster, part.after)
            walking.walk(walker, part.after)
            replay = Replay(cluster, part.until, walker, part.after)
        replay.go()
        is_met = replay.difference is None and replay.walker is not None and _is_written(replay.walker, part.until)
    except ApplicationError as error:
        return error.message
    return Made(replay.cycles, replay.unproven, replay.reason, replay.difference, is_met)


def one_after_another(cluster_id: int, parts: Sequence[Part]) -> Iterable[Made | str]:
    """Parts made in this process."""
    return map(partial(part_made, cluster_id), parts)


def _is_written(walker: Walker, place: Place) -> bool:
    """Whether the engine is the one of the checkpoint that was written after a step."""
    row = stores.of(walker.cluster.pk).checkpoint_before(place)
    if walker.engine is None or row is None or place_of(row) != place:
        return False
    came_to = walker.place, walker.rv, walker.seq, walker.config_version, walker.digest or b""
    if came_to != (place, row.rv, row.seq, row.config_version, bytes(row.digest)):
        return False
    with without_collecting():
        made = checkpoint.dump(walker.engine)
        written = walking.state_of(row)
        return made == written or bool(msgspec.msgpack.decode(made) == msgspec.msgpack.decode(written))
