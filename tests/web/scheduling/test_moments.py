"""The engine at a moment is the one that was there, whatever happened since."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import zstandard
from django.db import connection, transaction

from kschedweb.cluster import follow
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.common.errors import ClusterGoneError
from kschedweb.scheduling.past.errors import FutureError, NotReplayableError
from kschedweb.scheduling.past.moments import Position, moment
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from scheduler_core.api.times import moment_of
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import lead, put, settle
from tests.web.scheduling.lived import live

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]


def test_objects_at_a_moment_are_those_of_then(cluster: Cluster) -> None:
    rv = []
    for number in range(6):
        name = f"n{number}"
        put(cluster, make_node(name), make_pod(f"p{number}").req(cpu="1"))
        settle(lead(cluster))
        with transaction.atomic():
            follow.read_only_moment()
            cluster.refresh_from_db()
            puts = follow.stored_changes(cluster_id=cluster.pk)
            stored = [(put.obj.kind, put.obj.key, put.rv) for put in puts]
        rv.append((Position(cluster.rv, cluster.seq), stored))
    for position, stored in reversed(rv):
        with moment(cluster_id=cluster.pk, position=position) as found:
            assert [(put.obj.kind, put.obj.key, put.rv) for put in found.objects.puts()] == stored
            assert len(found.objects.manifests("Node")) == sum(kind == "Node" for kind, _, _ in stored)


def test_database_is_only_read_and_nobody_waits(cluster: Cluster) -> None:
    """Every statement runs where nothing can be written, under the weakest of locks; steps are made meanwhile."""
    live(cluster, rounds=1)
    cluster.refresh_from_db()
    seen: list[tuple[str, set[str]]] = []
    scheduled: list[int] = []

    def schedule() -> None:
        put(cluster, make_pod("meanwhile").req(cpu="1m"))
        settle(lead(cluster))
        scheduled.append(Attempt.objects.filter(cluster=cluster, name="meanwhile", result="scheduled").count())
        connection.close()

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if threading.current_thread() is not threading.main_thread() or not connection.in_atomic_block:
            return execute(sql, params, many, context)
        done = execute(sql, params, many, context)
        if not sql.startswith("SET"):
            with connection.connection.cursor() as cursor:
                cursor.execute("SHOW transaction_read_only")
                (read_only,) = cursor.fetchone()
                cursor.execute("SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid'")
                seen.append((read_only, {mode for (mode,) in cursor.fetchall()}))
            if len(seen) == 8:  # in the midst of one of its transactions
                thread = threading.Thread(target=schedule)
                thread.start()
                thread.join(60)
        return done

    with connection.execute_wrapper(watch), moment(cluster_id=cluster.pk, position=Position(cluster.rv, cluster.seq)):
        pass
    assert scheduled == [1]
    assert {read_only for read_only, _ in seen} == {"on"}
    assert set().union(*(modes for _, modes in seen)) == {"AccessShareLock"}


def test_moments_that_cannot_be_had_say_why(cluster: Cluster) -> None:
    live(cluster, rounds=2)
    cluster.refresh_from_db()
    ahead = Position(cluster.rv, cluster.seq + 1)
    with pytest.raises(FutureError, match=f"{ahead} has not come yet"), moment(cluster_id=cluster.pk, position=ahead):
        pass
    tomorrow = moment_of(EngineStep.objects.filter(cluster=cluster).latest("now_us").now_us) + timedelta(days=1)
    with pytest.raises(FutureError), moment(cluster_id=cluster.pk, at=tomorrow):
        pass
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    state = msgspec.msgpack.decode(zstandard.decompress(bytes(row.engine)))
    row.engine = zstandard.compress(msgspec.msgpack.encode(state | {"version": 1}))
    row.save()
    EngineStep.objects.filter(cluster=cluster, run=row.run).update(began_from=None, seq_from=1, seq_to=1)
    with (
        pytest.raises(NotReplayableError, match="another version of the engine"),
        moment(cluster_id=cluster.pk, position=Position(row.rv, row.seq)),
    ):
        pass
    cluster_services.cluster_delete(cluster_id=cluster.pk)
    with pytest.raises(ClusterGoneError), moment(cluster_id=cluster.pk, position=ahead):
        pass
