"""Wakes work by name after the transaction that wrote it has committed.

Messages only wake: the work itself is a row, and the sweep finds what no message told of. So a broker that is away
is a line in the log, never an error of the request.

Some tasks linger (`hearing`), and hear by notifications what comes soon after the message that began them. Of these no
more than one message for each cluster waits in a queue: whoever writes while one does is seen by the task that it
begins. Without that limit senders would be quicker than tasks that linger, and what is new would wait behind what has
been done long ago.
"""

from functools import cache
from typing import Any, Final

import redis
import structlog
from django.conf import settings
from django.db import connection, transaction
from kombu.exceptions import OperationalError

from kschedweb.celery import app

# Followers of a cluster's logs LISTEN here; the payload is the cluster's id.
READERS_CHANNEL = "ksched"
# And here: of what was carried out as the scheduler ordered it. Only a pod that needs another one bound waits for that.
EXPECTED_CHANNEL = "ksched_expected"
# Leaders listen here too: of what is due without an entry in a log.
LEADERS_CHANNEL = "ksched_leaders"
# And workers that carry out what a step has ordered.
BINDINGS_CHANNEL = "ksched_bindings"
EVICTIONS_CHANNEL = "ksched_evictions"

# So long is a message believed to wait that no task has taken: it may be lost.
WAITS_SECONDS: Final = 5
ANSWER_SECONDS: Final = 2.0  # of Valkey

log = structlog.get_logger(__name__)


def after_commit(name: str, **kwargs: Any) -> None:
    """Send the task `name` once the present transaction has committed; at once outside of one."""
    transaction.on_commit(lambda: send(name, **kwargs))


def send(name: str, *, queue: str | None = None, expires: float | None = None, **kwargs: Any) -> None:
    """Send the task now; `queue` overrides its route. Nobody takes it once it has waited for `expires` seconds."""
    options: dict[str, Any] = {"queue": queue} if queue else {}
    if expires is not None:
        options["expires"] = expires
    try:
        app.send_task(name, kwargs=kwargs, **options)
    except (OperationalError, redis.RedisError, OSError) as error:
        log.warning("task not sent, the sweep will find the work", task=name, error=str(error))


def leader(cluster_id: int) -> None:
    """Have the cluster's leader look at it now, though nothing was written to a log of its."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [LEADERS_CHANNEL, str(cluster_id)])
    once("scheduling.ensure_leader", cluster_id)


def once_after_commit(name: str, *, cluster_id: int) -> None:
    """`once` the present transaction has committed; at once outside of one."""
    transaction.on_commit(lambda: once(name, cluster_id))


def once(name: str, cluster_id: int) -> None:
    """Send a task that lingers, unless a message to it waits already."""
    try:
        is_first = _valkey().set(_waiting(name, cluster_id), b"", nx=True, ex=WAITS_SECONDS)
    except (redis.RedisError, OSError) as error:
        log.warning("task not sent, the sweep will find the work", task=name, error=str(error))
        return
    if is_first:
        send(name, cluster_id=cluster_id)


def paced(name: str, seconds: int) -> bool:
    """Send a task unless somebody did in the last `seconds`; whether it was sent."""
    try:
        is_first = _valkey().set(f"ksched:paced:{name}", b"", nx=True, ex=seconds)
    except (redis.RedisError, OSError) as error:
        log.warning("task not sent, the sweep will find the work", task=name, error=str(error))
        return False
    if is_first:
        send(name, expires=seconds)
    return bool(is_first)


def begun(name: str, cluster_id: int) -> None:
    """The task has been taken from its queue and has read nothing yet: what is written from now on needs another."""
    try:
        _valkey().delete(_waiting(name, cluster_id))
    except (redis.RedisError, OSError) as error:
        log.warning("messages may be missed, the sweep will find the work", task=name, error=str(error))


def _waiting(name: str, cluster_id: int) -> str:
    return f"ksched:waiting:{name}:{cluster_id}"


@cache
def _valkey() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS
    )
