"""Wakes work by name after the transaction that wrote it has committed.

Messages only wake: the work itself is a row, and the sweep finds what no message told of. So a broker that is away
is a line in the log, never an error of the request.
"""

from typing import Any

import structlog
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from kschedweb.celery import app

# Followers of a cluster's logs LISTEN here; the payload is the cluster's id.
READERS_CHANNEL = "ksched"

log = structlog.get_logger(__name__)


def after_commit(name: str, **kwargs: Any) -> None:
    """Send the task `name` once the present transaction has committed; at once outside of one."""
    transaction.on_commit(lambda: send(name, **kwargs))


def send(name: str, *, queue: str | None = None, **kwargs: Any) -> None:
    """Send the task now; `queue` overrides its route."""
    options = {"queue": queue} if queue else {}
    try:
        app.send_task(name, kwargs=kwargs, **options)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("task not sent, the sweep will find the work", task=name, error=str(error))
