"""Celery's view of the runner. Messages only wake: the work is the Import row."""

from celery import shared_task

from kschedweb.cluster import runner


@shared_task(
    name="cluster.import_execute",
    acks_late=True,
    reject_on_worker_lost=True,
    ignore_result=True,
    soft_time_limit=1800,
    time_limit=1860,
)
def import_execute(import_id: str) -> None:
    runner.import_execute(import_id)
