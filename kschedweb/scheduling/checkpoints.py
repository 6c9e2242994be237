"""Checkpoints in the trace store: engine and objects as of a step, few enough to be kept, dense enough to be of use.

A checkpoint is due every 5,000 steps or entries of the engine's log, and once a day when anything happened at all. A
busy engine takes one a minute at most, and a large one fewer: they may take a hundredth of its time. All of the last
hour are kept, of the last day one an hour, then one in six.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from kschedweb.cluster import adapters as cluster_adapters
from kschedweb.cluster import follow
from kschedweb.cluster.selectors import cluster_get
from kschedweb.common import packing
from kschedweb.scheduling import leases
from kschedweb.scheduling.models import EngineState
from kschedweb.traces.models import Checkpoint

EVERY_ENTRIES = 5_000
EVERY_SECONDS = 86_400.0
LEAST_SECONDS_BETWEEN = 60.0
MOST_SHARE = 0.01  # of the engine's time that checkpoints may take
# A busy engine has better to do, for so many entries.
PUT_OFF_ENTRIES = 50_000
MOST_APART = 10_000  # entries between checkpoints that stay, however old they are
LEVEL = 3


@dataclass(frozen=True, slots=True)
class CheckpointPosition:
    """The step after which the engine was written down, and what it had seen."""

    run: int
    step: int
    seq: int
    rv: int
    config_version: int
    at: datetime
    digest: bytes


@dataclass(slots=True)
class CheckpointTimer:
    """When the next checkpoint is due; times are the caller's monotonic seconds."""

    seq: int
    step: int
    taken_at: float
    cost_seconds: float = 0.0  # of the one before
    first_entries: int = 0  # of the engine's first step: pods that wait for a new engine come first

    def is_due(self, *, seq: int, step: int, monotonic: float, idle: bool, wanted: bool) -> bool:
        """`idle`: nothing is due at once. Somebody who waits for a checkpoint gets it whatever else there is."""
        if wanted:
            return True
        entries, passed = seq - self.seq, monotonic - self.taken_at
        if passed < max(LEAST_SECONDS_BETWEEN, self.cost_seconds / MOST_SHARE) or not entries:
            return False
        if max(entries, step - self.step) >= EVERY_ENTRIES:
            return idle or entries - self.first_entries >= PUT_OFF_ENTRIES
        return idle and passed >= EVERY_SECONDS


def checkpoint_store(*, cluster_id: int, epoch: int, position: CheckpointPosition, engine: bytes) -> None:
    """Keep the engine's state with all objects as of now; FencedOutError when the epoch is over, ClusterGoneError."""
    with transaction.atomic():
        follow.read_only_moment()
        objects_rv = cluster_get(cluster_id).rv
        packed = _packed_objects(cluster_id)
    # A large one takes seconds, for which a fenced transaction may not idle: its session would be ended.
    engine_packed = pack(engine)
    with transaction.atomic():
        leases.fence_hold(cluster_id=cluster_id, epoch=epoch)
        checkpoint_insert(
            cluster_id=cluster_id,
            position=position,
            objects_rv=objects_rv,
            engine_packed=engine_packed,
            objects_packed=packed,
            gates=settings.FEATURE_GATES,
        )
        EngineState.objects.filter(pk=cluster_id).update(checkpoint_wanted=False)
        _thin_out(cluster_id, position.at)


def checkpoint_insert(
    *,
    cluster_id: int,
    position: CheckpointPosition,
    objects_rv: int,
    engine_packed: bytes,
    objects_packed: bytes,
    gates: Mapping[str, bool],
) -> None:
    """Write the row, within the caller's transaction; nothing where there is one of that step."""
    row = Checkpoint(
        cluster_id=cluster_id,
        run=position.run,
        step=position.step,
        seq=position.seq,
        rv=position.rv,
        objects_rv=objects_rv,
        config_version=position.config_version,
        at=position.at,
        digest=position.digest,
        gates=dict(gates),
        engine=engine_packed,
        objects_packed=objects_packed,
    )
    Checkpoint.objects.bulk_create([row], ignore_conflicts=True)


def pack(engine: bytes) -> bytes:
    """The engine's state as a checkpoint keeps it."""
    return packing.checked_compressor(LEVEL).compress(engine)


def checkpoint_want(*, cluster_id: int, wanted: bool = True) -> None:
    """Ask the cluster's engine for a checkpoint after its next step; the caller wakes it. Or take the wish back."""
    EngineState.objects.filter(pk=cluster_id).update(checkpoint_wanted=wanted)


def _packed_objects(cluster_id: int) -> bytes:
    compressor = packing.checked_compressor(LEVEL).compressobj()
    parts = [compressor.compress(line) for line in _object_lines(cluster_id)]
    return b"".join((*parts, compressor.flush()))


def _object_lines(cluster_id: int) -> Iterator[bytes]:
    """Nodes, then other kinds, then pods, each in order of creation: the order in which an engine gets them.

    What is confidential is left out: no engine reads it.
    """
    for kinds in follow.stored_texts(cluster_id):
        # Manifests are passed on as they are stored: nobody has to parse them here.
        lines = (
            b'{"kind":"%b","rv":%d,"manifest":%b}\n' % (kind.encode(), rv, text)
            for kind, text, rv in kinds
            if kind not in cluster_adapters.CONFIDENTIAL_KINDS
        )
        yield b"".join(lines)


def _thin_out(cluster_id: int, now: datetime) -> None:
    """Drop checkpoints that have others close before them, the closer the older they are.

    Between two that stay are never more than `MOST_APART` entries where there was one: a moment is made from there.
    """
    found = list(Checkpoint.objects.filter(cluster_id=cluster_id).order_by("seq", "id").values_list("id", "at", "seq"))
    dropped: list[int] = []
    slots: set[tuple[int, int]] = set()
    kept = 0
    for (pk, at, seq), following in zip(found, [*found[1:], None], strict=True):
        age = now - at
        if age < timedelta(hours=1):
            kept = seq
            continue
        hours = 1 if age < timedelta(days=1) else 6
        slot = (hours, int(at.timestamp()) // (3600 * hours))
        if slot in slots and following is not None and following[2] - kept <= MOST_APART:
            dropped.append(pk)
        else:
            kept = seq
        slots.add(slot)
    if dropped:
        Checkpoint.objects.filter(pk__in=dropped).delete()
