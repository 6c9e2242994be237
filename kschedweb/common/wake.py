"""Wakes work by name after the transaction that wrote it has committed.

Messages only wake: the work itself is a row, and the sweep finds what no message told of. So a broker that is away
is a line in the log, never an error of the request.

Some tasks linger (`hearing`), and hear by notifications what comes soon after the message that began them: they are
sent a message at once, then one for all that comes within some tenths of a second.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import structlog
from django.db import connection, transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from kschedweb.celery import app

# Followers of a cluster's logs LISTEN here; the payload is the cluster's id.
READERS_CHANNEL = "ksched"
# Leaders listen here too: of what is due without an entry in a log.
LEADERS_CHANNEL = "ksched_leaders"
# And workers that carry out what a step has ordered.
BINDINGS_CHANNEL = "ksched_bindings"
EVICTIONS_CHANNEL = "ksched_evictions"

SOON_SECONDS: Final = 0.4

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


def leader(cluster_id: int) -> None:
    """Have the cluster's leader look at it now, though nothing was written to a log of its."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [LEADERS_CHANNEL, str(cluster_id)])
    WAKING.wake("scheduling.ensure_leader", cluster_id)


def soon_after_commit(name: str, *, cluster_id: int) -> None:
    """Send a task that lingers when the present transaction has committed, or soon after."""
    transaction.on_commit(lambda: WAKING.wake(name, cluster_id))


class Waking:
    """Messages to tasks that linger, from any thread.

    What comes soon after a message has one of its own when the time is over: nothing waits for the sweep where nobody
    can listen.
    """

    def __init__(
        self,
        send: Callable[[str, int], None] = lambda name, cluster_id: send(name, cluster_id=cluster_id),
        seconds: float = SOON_SECONDS,
    ) -> None:
        self._send = send
        self._seconds = seconds
        self._guard = threading.Lock()
        self._sent: dict[tuple[str, int], float] = {}
        self._waiting: set[tuple[str, int]] = set()

    def wake(self, name: str, cluster_id: int) -> None:
        """Have the task run for the cluster, now or soon."""
        task, moment = (name, cluster_id), time.monotonic()
        with self._guard:
            if task in self._waiting:
                return
            wait = self._sent.get(task, -math.inf) + self._seconds - moment
            if wait > 0:
                self._waiting.add(task)
            else:
                self._sent[task] = moment
        if wait > 0:
            timer = threading.Timer(wait, self._wake_late, task)
            timer.daemon = True
            timer.start()
        else:
            self._send(*task)

    def _wake_late(self, name: str, cluster_id: int) -> None:
        with self._guard:
            self._waiting.discard((name, cluster_id))
            self._sent[name, cluster_id] = time.monotonic()
        self._send(name, cluster_id)


WAKING: Final = Waking()
