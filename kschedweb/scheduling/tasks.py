"""Celery's side of scheduling: thin wrappers, and leases given up at the end."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_process_shutdown

from kschedweb.common import wake
from kschedweb.scheduling import leases
from kschedweb.scheduling.past import proving
from kschedweb.scheduling.retention import prune_all
from kschedweb.scheduling.runner import bindings, slices


@worker_process_shutdown.connect
def end(**_: Any) -> None:
    """Give the leases up, so that a standby takes over at once."""
    slices.worker_stop()


@shared_task(name="scheduling.ensure_leader", ignore_result=True)
def ensure_leader(cluster_id: int) -> None:
    slices.ensure_leader(cluster_id)


@shared_task(name="scheduling.slice_run", ignore_result=True)
def slice_run(cluster_id: int) -> None:
    slices.slice_run(cluster_id)


@shared_task(name="scheduling.bindings_run", acks_late=True, reject_on_worker_lost=True, ignore_result=True)
def bindings_run(cluster_id: int) -> None:
    wake.begun("scheduling.bindings_run", cluster_id)
    bindings.serve(wake.BINDINGS_CHANNEL, cluster_id)


@shared_task(name="scheduling.bindings_evict", acks_late=True, reject_on_worker_lost=True, ignore_result=True)
def bindings_evict(cluster_id: int) -> None:
    wake.begun("scheduling.bindings_evict", cluster_id)
    bindings.serve(wake.EVICTIONS_CHANNEL, cluster_id)


@shared_task(name="scheduling.prune", ignore_result=True, soft_time_limit=600, time_limit=660)
def prune() -> None:
    leases.silent_writers_end()  # the sweep does so sooner, unless its own process is the frozen one
    prune_all()


@shared_task(name="scheduling.prove", ignore_result=True, soft_time_limit=600, time_limit=660)
def prove() -> None:
    proving.prove()
