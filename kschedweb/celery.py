"""The Celery application: which queue carries which task, and how little a lost message matters.

Messages only wake; the work itself is rows. So results are dropped, a message may come twice, no task has an ETA, and
publishing gives up soon (the sweep, every two seconds, finds what was left lying). Beat sends what comes seldom.
"""

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, task_prerun

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

from django.conf import settings
from django.db import close_old_connections

from kschedweb import broker
from kschedweb.environment import broker_url

SCHEDULER_QUEUE = "scheduler"
BINDING_QUEUE = "binding"
LIFECYCLE_QUEUE = "lifecycle"

PRUNE_SECONDS = 300.0
SESSIONS_SECONDS = 3600.0
NEVER = 1 << 62

broker.install()
app = Celery("kschedweb")
app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    broker_connection_retry=True,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "visibility_timeout": 60,
        "socket_connect_timeout": 2,
        # A worker reads when something is there: without a limit one answer that never comes blocks it for good.
        "socket_timeout": 5,
        "socket_keepalive": True,
        "retry_on_timeout": True,
    },
    task_publish_retry_policy={"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1},
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_send_task_events=False,
    # Its channel is read without any limit: on a connection made anew, an answer that went with the old one is waited
    # for forever, and the worker with it.
    worker_enable_remote_control=False,
    task_default_queue=LIFECYCLE_QUEUE,
    task_create_missing_queues=True,
    task_routes={
        "scheduling.slice_*": {"queue": SCHEDULER_QUEUE},
        "scheduling.ensure_leader": {"queue": SCHEDULER_QUEUE},
        "scheduling.bindings_*": {"queue": BINDING_QUEUE},
        "scheduling.prune": {"queue": LIFECYCLE_QUEUE},
        "scheduling.prove": {"queue": LIFECYCLE_QUEUE},
        "accounts.*": {"queue": LIFECYCLE_QUEUE},
        "lifecycle.*": {"queue": LIFECYCLE_QUEUE},
        "mirror.*": {"queue": LIFECYCLE_QUEUE},
        "cluster.import_*": {"queue": LIFECYCLE_QUEUE},
    },
    beat_schedule={
        "prune": {"task": "scheduling.prune", "schedule": PRUNE_SECONDS, "options": {"expires": PRUNE_SECONDS}},
        "sessions": {
            "task": "accounts.sessions_clear",
            "schedule": SESSIONS_SECONDS,
            "options": {"expires": SESSIONS_SECONDS},
        },
    },
    enable_utc=True,
    timezone="UTC",
    # Celery would close the database connection around every task, and a server process that is new to every table
    # costs more than most tasks. Connections that broke are noticed below.
    CELERY_DB_REUSE_MAX=NEVER,
)
app.autodiscover_tasks()


@task_prerun.connect
def keep_good_connections(**_: Any) -> None:
    """Go on with the connection the last task used, unless it broke; its first statement looks whether it still works.

    A task that Celery runs within a transaction, as tests do, keeps its connection.
    """
    close_old_connections()


@setup_logging.connect
def use_django_logging(**_: Any) -> None:
    """Celery logs as the rest of the service does."""
    logging.config.dictConfig(settings.LOGGING)
