"""A cluster that is deleted while somebody works on it: told once, whatever the work stumbles over.

Rows that refer to the cluster cannot be inserted any more, a log holds nothing, a claim is lost: behind each of them is
the same fact. Whoever serves somebody says it (ClusterGoneError), a worker ends with a line in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import InterfaceError, OperationalError, connection

from kschedweb.cluster.models import Cluster
from kschedweb.common import bulk
from kschedweb.common.errors import ClusterGoneError

log = structlog.get_logger(__name__)


def check(cluster_id: int) -> None:
    """ClusterGoneError unless there is such a cluster."""
    if not is_there(cluster_id):
        raise ClusterGoneError(cluster_id)


def is_there(cluster_id: int) -> bool:
    """Whether there is such a cluster. Asked with every request, hence no query set that is made anew each time."""
    return bool(bulk.read_rows(f"SELECT 1 FROM {Cluster._meta.db_table} WHERE id = %s", [cluster_id]))


def explains(error: Exception, cluster_id: int) -> bool:
    """Whether work on the cluster failed because there is no such cluster any more."""
    if isinstance(error, ClusterGoneError):
        return True
    if isinstance(error, OperationalError | InterfaceError) or connection.needs_rollback:
        return False  # nothing can be asked
    return not is_there(cluster_id)


@contextmanager
def noticed(cluster_id: int) -> Iterator[None]:
    """ClusterGoneError in the place of whatever fails within the block because the cluster is gone."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ClusterGoneError) or not explains(error, cluster_id):
            raise
        raise ClusterGoneError(cluster_id) from error


@contextmanager
def ends_work(cluster_id: int) -> Iterator[None]:
    """The work of the block ends, with one line in the log, when the cluster is gone."""
    try:
        with noticed(cluster_id):
            yield
    except ClusterGoneError as error:
        log.info("the cluster is gone", cluster=cluster_id, reason=str(error.__cause__ or error))
