"""The engine at a moment is the one that was there, whatever happened since."""

from __future__ import annotations

import threading
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import pytest
import zstandard
from django.db import connection, transaction

from kschedweb.cluster import follow
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.common.errors import ClusterGoneError
from kschedweb.scheduling import retention
from kschedweb.scheduling.past import moments
from kschedweb.scheduling.past.errors import FutureError, HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.moments import Position, moment
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from scheduler_core.api.times import moment_of
from scheduler_core.scheduler import checkpoint
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import lead, put, settle
from tests.web.scheduling.lived import Lived, live

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]

POSITIONS = 50


def asked(lived: Lived, position: Position, place: tuple[int, int]) -> None:
    with moment(cluster_id=lived.cluster.pk, position=position) as found:
        assert (found.run, found.step) == place
        assert found.scheduler is not None
        assert plain(checkpoint.dump(found.scheduler)) == plain(lived.states[place])


def plain(state: bytes) -> dict[str, Any]:
    """What a checkpoint says."""
    found: dict[str, Any] = msgspec.msgpack.decode(state)
    return found


def test_engine_at_any_moment_is_the_one_that_was_there(cluster: Cluster) -> None:
    lived = live(cluster)
    assert Checkpoint.objects.filter(cluster=cluster).count() >= 2
    assert len({run for run, _ in lived.states}) >= 5
    last = dict(lived.places)  # of steps at one position the last counts
    draws = Random(1)
    for position in draws.sample(list(last), min(POSITIONS, len(last))):
        asked(lived, position, last[position])
    moments.forget()
    for position in list(last):  # one after the other, with the engine kept
        asked(lived, position, last[position])


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


def test_time_names_the_last_step_that_had_ended(cluster: Cluster) -> None:
    lived = live(cluster, rounds=2)
    steps = list(EngineStep.objects.filter(cluster=cluster).order_by("run", "step"))
    for step in (steps[0], steps[len(steps) // 2], steps[-1]):
        with moment(cluster_id=cluster.pk, at=moment_of(step.now_us)) as found:
            assert (found.run, found.step) == (step.run, step.step)
            assert found.scheduler is not None
            assert plain(checkpoint.dump(found.scheduler)) == plain(lived.states[step.run, step.step])
    with moment(cluster_id=cluster.pk, at=moment_of(steps[0].now_us) - timedelta(hours=1)) as found:
        assert found.scheduler is None and not found.objects.texts


def test_database_is_only_read_and_nobody_waits(cluster: Cluster) -> None:
    """Every statement runs where nothing can be written, under the weakest of locks; steps are made meanwhile."""
    live(cluster, rounds=3)
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
    lived = live(cluster, rounds=2)
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
    assert lived.states
    cluster_services.cluster_delete(cluster_id=cluster.pk)
    with pytest.raises(ClusterGoneError), moment(cluster_id=cluster.pk, position=ahead):
        pass


def test_what_was_cut_away_names_where_history_begins(cluster: Cluster) -> None:
    lived = live(cluster)
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    retention._clear(cluster.pk, retention.Cut(row.seq, row.rv, row.at), retention.PruneReport())
    first, last = lived.places[0], lived.places[-1]
    begins = f"history begins at {row.objects_rv}.{row.seq}"
    with pytest.raises(HistoryCutError, match=begins), moment(cluster_id=cluster.pk, position=first[0]):
        pass
    kept = [each for each in lived.places if each[0].seq >= row.seq and each[0].rv >= row.objects_rv]
    assert last in kept
    for position, place in dict(kept).items():
        asked(lived, position, place)


def test_old_run_is_not_made_up(cluster: Cluster) -> None:
    """What an engine of an earlier release was made of is not known; from a checkpoint of it on all is."""
    lived = live(cluster)
    EngineStep.objects.filter(cluster=cluster).update(began_from=None)
    last = dict(lived.places)
    row = Checkpoint.objects.filter(cluster=cluster).earliest("seq")
    after = [(position, place) for position, place in last.items() if place[0] == row.run and place[1] >= row.step]
    for position, place in after:
        asked(lived, position, place)
    unknown = next(position for position, place in last.items() if place[0] > row.run)
    with pytest.raises(NotReplayableError, match="earlier release"), moment(cluster_id=cluster.pk, position=unknown):
        pass
