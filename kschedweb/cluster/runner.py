"""The long work of the cluster app, callable without Celery."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import Error as DatabaseError
from django.db import connection

from kschedweb.cluster import gone
from kschedweb.cluster.services import imports
from kschedweb.common.errors import ClusterGoneError
from kschedweb.common.memory import trim

log = structlog.get_logger(__name__)

HEARTBEAT_SECONDS = 5.0


def import_execute(import_id: str) -> None:
    """Carry a queued import to its end; harmless when called again."""
    claim = imports.import_claim(import_id=import_id)
    if claim is None:
        return  # delivered again, or taken by another worker
    with gone.ends_work(claim.cluster_id):
        _carry_out(claim)
    trim()


def _carry_out(claim: imports.Claim) -> None:
    import_id = claim.import_id
    try:
        with gone.noticed(claim.cluster_id), _heartbeat(claim):
            imports.import_apply(
                cluster_id=claim.cluster_id,
                uploads=claim.uploads,
                options=claim.options,
                actor=claim.actor,
                claim=claim,
            )
    except ClusterGoneError:
        raise  # and its imports with it
    except imports.ClaimLostError:
        log.warning("import taken over by another worker", import_id=str(import_id))
    except DatabaseError:
        raise  # the database was away: the row stays claimed, and the sweep gives it back
    except Exception as error:
        log.info("import failed", import_id=str(import_id), error=str(error))
        imports.import_fail(claim=claim, error=imports.error_of(error))


@contextmanager
def _heartbeat(claim: imports.Claim) -> Iterator[None]:
    """Say every few seconds, over a connection of its own, that this worker lives."""
    over = threading.Event()

    def beat() -> None:
        try:
            while not over.wait(HEARTBEAT_SECONDS):
                try:
                    imports.import_heartbeat(claim=claim)
                except DatabaseError as error:
                    log.warning("heartbeat not written", import_id=str(claim.import_id), error=str(error))
                    connection.close()
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name="import-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
