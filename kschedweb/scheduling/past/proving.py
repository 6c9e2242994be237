"""Each cluster's record is made again beside the scheduler, a little at a time, and what came of it is kept.

On its way it also writes the checkpoints that a busy engine had no time for, so that a moment is never far from one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from kschedweb.cluster import gone
from kschedweb.cluster.models import Cluster
from kschedweb.common.collector import without_collecting
from kschedweb.scheduling import checkpoints
from kschedweb.scheduling.due import clusters_unproven
from kschedweb.scheduling.models import EngineState, HistoryProof
from kschedweb.scheduling.past import journal, walking
from kschedweb.scheduling.past.errors import HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.objects import Objects, objects_at
from kschedweb.scheduling.past.replaying import Replay, oldest
from kschedweb.scheduling.past.walking import Walker
from kschedweb.traces.models import Checkpoint, EngineLog
from scheduler_core.api.times import moment_of
from scheduler_core.scheduler import checkpoint

log = structlog.get_logger(__name__)

SECONDS_AT_ONCE = 0.5  # of a run of the task, but for making the first engine


@dataclass(slots=True)
class _Kept:
    """The cluster that was looked at last; its engine waits for further steps."""

    replay: Replay
    next_checkpoint: int  # position of the engine log at which one is missing
    objects: Objects | None = None


_kept: _Kept | None = None


def prove(
    *, seconds: float = SECONDS_AT_ONCE, monotonic: Callable[[], float] = time.monotonic, cluster_id: int | None = None
) -> int | None:
    """Go on with the cluster that has waited longest, or this one, for a bounded time; its id, None if none waits."""
    if cluster_id is None:
        cluster_id = next(iter(clusters_unproven()), None)
    if cluster_id is None:
        return None
    with gone.ends_work(cluster_id):
        try:
            _prove(cluster_id, seconds, monotonic)
        except Exception as error:
            if not gone.explains(error, cluster_id):
                # It keeps no other cluster from its turn.
                HistoryProof.objects.update_or_create(pk=cluster_id, defaults={"checked_at": timezone.now()})
            raise
    return cluster_id


def forget() -> None:
    """Drop the engine that is kept."""
    global _kept
    _kept = None


def _prove(cluster_id: int, seconds: float, monotonic: Callable[[], float]) -> None:
    global _kept
    proof = HistoryProof.objects.filter(pk=cluster_id).first() or HistoryProof(cluster_id=cluster_id)
    kept, _kept = _kept, None  # whatever goes wrong, this engine is not gone on with
    state = EngineState.objects.get(pk=cluster_id)
    until = state.run, state.step
    if kept is None or kept.replay.cluster.pk != cluster_id or kept.replay.place != (proof.run, proof.step):
        kept = _begun(journal.ends(cluster_id), proof, until)
    replay = kept.replay
    replay.until, replay.on_step = until, lambda walker: _checkpoint_if_missing(walker, kept)
    ends_at = monotonic() + seconds
    replay.go(lambda: monotonic() >= ends_at)
    _keep(proof, replay)
    if replay.difference is None and replay.walker is not None and replay.walker.engine is not None:
        _kept = kept
    if replay.difference is not None:
        log.error("the record differs", cluster=cluster_id, **msgspec.structs.asdict(replay.difference))


def _begun(cluster: Cluster, proof: HistoryProof, until: tuple[int, int]) -> _Kept:
    """From where it was left, or the nearest place after it that there is an engine of."""
    replay = Replay(cluster, until, None, (proof.run, proof.step), reason=proof.reason)
    if replay.place > until or replay.place == walking.START:  # the journal was begun anew, or nothing was looked at
        replay = oldest(cluster, until)
        replay.reason = replay.reason or proof.reason
    else:
        try:
            replay.walker = walking.start_before(cluster, replay.place)
            walking.walk(replay.walker, replay.place)
        except (HistoryCutError, NotReplayableError) as error:
            replay.pass_over(error.message)
    return _Kept(replay, _next_missing(cluster.pk, 0 if replay.walker is None else replay.walker.seq))


def _keep(proof: HistoryProof, replay: Replay) -> None:
    """Write down how far it came."""
    walker = replay.walker
    proof.run, proof.step = replay.place
    if walker is not None and walker.engine is not None and walker.place == replay.place:
        proof.rv, proof.seq, proof.at = walker.rv, walker.seq, moment_of(walker.now)
    proof.cycles += replay.cycles
    proof.unproven += replay.unproven
    replay.cycles = replay.unproven = 0
    proof.reason = replay.reason
    found = replay.difference
    proof.difference = None if found is None else msgspec.structs.asdict(found)
    proof.checked_at = timezone.now()
    with transaction.atomic():
        proof.save()


def _next_missing(cluster_id: int, seq: int) -> int:
    """Where the next checkpoint is missing after a position."""
    rows = Checkpoint.objects.filter(cluster_id=cluster_id).exclude(engine=b"")
    before = rows.filter(seq__lte=seq).order_by("-seq").values_list("seq", flat=True).first() or 0
    return before + checkpoints.EVERY_ENTRIES


def _checkpoint_if_missing(walker: Walker, kept: _Kept) -> None:
    cluster_id = walker.cluster.pk
    if walker.seq < kept.next_checkpoint:
        return
    kept.next_checkpoint = _next_missing(cluster_id, walker.seq)
    if walker.seq < kept.next_checkpoint or walker.engine is None:
        return
    if kept.objects is None or kept.objects.rv > walker.rv:
        kept.objects = objects_at(cluster_id, walker.rv)
    with without_collecting():
        kept.objects.advance(walker.rv)
        engine_packed = checkpoints.pack(checkpoint.dump(walker.engine))
    run, step = walker.place
    position = checkpoints.CheckpointPosition(
        run=run,
        step=step,
        seq=walker.seq,
        rv=walker.rv,
        config_version=walker.config_version,
        at=moment_of(walker.now),
        digest=walker.digest or b"",
    )
    with transaction.atomic():
        if not EngineLog.objects.filter(cluster_id=cluster_id, seq=walker.seq).exists():
            return  # it has been cut away meanwhile
        checkpoints.checkpoint_insert(
            cluster_id=cluster_id,
            position=position,
            objects_rv=kept.objects.rv,
            engine_packed=engine_packed,
            objects_packed=kept.objects.packed(checkpoints.LEVEL),
            gates=settings.FEATURE_GATES if walker.gates is None else walker.gates,
        )
    kept.next_checkpoint = walker.seq + checkpoints.EVERY_ENTRIES
