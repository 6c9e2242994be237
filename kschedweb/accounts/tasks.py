"""Celery's side of accounts."""

from celery import shared_task
from django.core.management import call_command


@shared_task(name="accounts.sessions_clear", ignore_result=True, soft_time_limit=600, time_limit=660)
def sessions_clear() -> None:
    """Delete the sessions that are over: Django takes them for ended, and keeps their rows."""
    call_command("clearsessions")
