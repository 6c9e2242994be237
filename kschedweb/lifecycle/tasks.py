"""Celery's side of the life cycle."""

from __future__ import annotations

from celery import shared_task

from kschedweb.lifecycle import runner


@shared_task(name="lifecycle.tick", ignore_result=True)
def tick(cluster_id: int, follow_up: bool = False) -> None:
    runner.tick(cluster_id, follow_up=follow_up)
