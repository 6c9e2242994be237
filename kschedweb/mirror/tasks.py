"""Celery's side of mirrors. Messages only wake: what is to be followed is a row."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_process_shutdown

from kschedweb.mirror import runner


@worker_process_shutdown.connect
def end(**_: Any) -> None:
    runner.stop()


@shared_task(name="mirror.follow", ignore_result=True)
def follow() -> None:
    """Follow what nobody follows; beat asks every few seconds."""
    runner.follow()
