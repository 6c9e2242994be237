"""Carrying out what engines decided: bindings and evictions, in batches until none is left."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from kschedweb.common import wake
from kschedweb.common.hearing import Hearing
from kschedweb.scheduling import services
from kschedweb.scheduling.due import work_pending

_hearing: Hearing | None = None


def listen() -> None:
    """Have tasks of this process linger: what is ordered soon after one of them needs no message."""
    global _hearing
    _hearing = Hearing(wake.BINDINGS_CHANNEL, wake.EVICTIONS_CHANNEL)


def serve(channel: str, cluster_id: int) -> None:
    """Carry out what is pending, that of the cluster first, then what steps order, until none does for a while."""
    if _hearing is None:
        _run(channel, cluster_id)
        return

    def begin() -> bool:
        worked = _run(channel, cluster_id)
        # Nobody heard what was ordered between the last task and this one; its message may be the last of many.
        for missed_channel, missed in work_pending():
            worked |= _run(missed_channel, missed)
        return worked

    for late_channel, late in _hearing.serve(begin, _run):
        _run(late_channel, late)


def _run(channel: str, cluster_id: int) -> bool:
    carry_out = bindings_run if channel == wake.BINDINGS_CHANNEL else evictions_run
    return carry_out(cluster_id) > 0


def bindings_run(cluster_id: int) -> int:
    """Carry out pending bindings; how many were claimed."""
    return _drain(cluster_id, services.bindings_carry_out)


def evictions_run(cluster_id: int) -> int:
    """Carry out pending evictions; how many were claimed."""
    return _drain(cluster_id, services.evictions_carry_out)


def _drain(cluster_id: int, carry_out: Callable[..., int]) -> int:
    with structlog.contextvars.bound_contextvars(cluster=cluster_id):
        return _drain_batches(cluster_id, carry_out)


def _drain_batches(cluster_id: int, carry_out: Callable[..., int]) -> int:
    total = 0
    while claimed := carry_out(cluster_id=cluster_id):
        total += claimed
        # The verdicts are in the log: the engine may go on while the next batch is written.
        wake.once("scheduling.ensure_leader", cluster_id)
        if claimed < services.BATCH:
            break  # what was asked for since has a message of its own
    return total
