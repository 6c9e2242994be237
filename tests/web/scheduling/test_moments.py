"""The engine at a moment is the one that was there, whatever happened since."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import zstandard
from django.db import connection, transaction

from kschedweb.cluster import clock, follow
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Change, Cluster
from kschedweb.common.errors import ClusterGoneError
from kschedweb.scheduling.checkpoints import checkpoint_want
from kschedweb.scheduling.past import walking
from kschedweb.scheduling.past.errors import DamagedError, FutureError, HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.moments import Position, moment
from kschedweb.scheduling.past.objects import objects_at
from kschedweb.scheduling.past.replaying import replay_of
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from scheduler_core.api.times import moment_of
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import scheduled
from tests.web.scheduling.lived import asked, cut_at, live

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]


def test_objects_at_a_moment_are_those_of_then(cluster: Cluster) -> None:
    rv = []
    for number in range(6):
        name = f"n{number}"
        scheduled(cluster, make_node(name), make_pod(f"p{number}").req(cpu="1"))
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
    counts: list[int] = []

    def schedule() -> None:
        scheduled(cluster, make_pod("meanwhile").req(cpu="1m"))
        counts.append(Attempt.objects.filter(cluster=cluster, name="meanwhile", result="scheduled").count())
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
    assert counts == [1]
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


@pytest.mark.parametrize("column", ["engine", "objects_packed"])
def test_damaged_checkpoint_is_named(cluster: Cluster, column: str) -> None:
    live(cluster)
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    at = Position(row.rv, row.seq)
    whole = bytes(getattr(row, column))
    header = 6
    for place in range(header, len(whole), len(whole) // 50):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        setattr(row, column, bytes(content))
        row.save()
        with pytest.raises(DamagedError, match="checkpoint .* damaged: "):
            if column == "engine":
                replay_of(cluster.pk, first=at)
            else:
                objects_at(cluster.pk, row.objects_rv)


def test_history_begins_after_steps_that_are_being_cleared_away(cluster: Cluster) -> None:
    """Steps go first: what was between an older checkpoint and the cut is not shown as it was at that checkpoint."""
    lived = live(cluster)
    oldest, row = (Checkpoint.objects.filter(cluster=cluster).order_by("seq")[place] for place in (0, 1))
    EngineStep.objects.filter(cluster=cluster, seq_to__lte=row.seq).delete()
    between = [each for each, _ in lived.places if oldest.seq < each.seq < row.seq and each.rv >= oldest.objects_rv]
    assert between
    for position in between:
        with pytest.raises(HistoryCutError), moment(cluster_id=cluster.pk, position=position):
            pass
    asked(lived, *lived.places[-1])


def test_steps_on_the_way_that_go_meanwhile_are_missed(cluster: Cluster) -> None:
    lived = live(cluster, rounds=2)
    walker = walking.Walker(cluster)
    last = lived.places[-1][1]
    walking.walk(walker, last)
    assert walker.place == last
    with pytest.raises(HistoryCutError):
        walking.walk(walker, (last[0], last[1] + 1))


def test_time_is_found_when_nothing_happened_since_the_cut(cluster: Cluster) -> None:
    host = scheduled(cluster, make_node("n0").capacity(cpu="4"), make_pod("a").req(cpu="1"))
    checkpoint_want(cluster_id=cluster.pk)
    host.step()
    row = Checkpoint.objects.get(cluster=cluster)
    cut_at(row)
    assert not EngineStep.objects.filter(cluster=cluster).exists()
    with moment(cluster_id=cluster.pk, at=moment_of(clock.now_of(cluster.pk))) as found:
        assert (found.run, found.step, found.position.seq) == (row.run, row.step, row.seq)
        assert found.scheduler is not None and len(found.objects.manifests("Pod")) == 1
    with pytest.raises(HistoryCutError), moment(cluster_id=cluster.pk, at=row.at - timedelta(seconds=1)):
        pass


def test_change_that_waited_counts_when_it_was_seen(cluster: Cluster) -> None:
    """Its time is older than its place in the log, as of a large import."""
    live(cluster, rounds=2)
    steps = list(EngineStep.objects.filter(cluster=cluster).order_by("run", "step"))
    middle = len(steps) // 2
    Change.objects.filter(cluster=cluster, rv__gt=steps[-2].log_to).update(at=moment_of(steps[0].now_us))
    with moment(cluster_id=cluster.pk, at=moment_of(steps[middle].now_us)) as found:
        assert steps[middle].log_to <= found.position.rv <= steps[middle + 1].log_to


def test_no_question_reads_a_table_from_its_end(cluster: Cluster) -> None:
    """Steps by position and by time, and first ones of runs, come from indexes in their order."""
    live(cluster, rounds=2)
    step = EngineStep.objects.filter(cluster=cluster).order_by("run", "step")[1]
    asked_for: list[str] = []

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "traces_enginestep" in sql and "LIMIT 1" in sql:
            with connection.connection.cursor() as cursor:
                cursor.execute("SET LOCAL enable_seqscan = off")
                cursor.execute("SET LOCAL enable_bitmapscan = off")
                cursor.execute(
                    "SET LOCAL enable_sort = off"
                )  # of few rows, or of none that anybody counted, it is cheap
                cursor.execute(f"EXPLAIN {sql}", params)
                asked_for.append("\n".join(line for (line,) in cursor.fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch), moment(cluster_id=cluster.pk, at=moment_of(step.now_us)):
        pass
    assert asked_for
    for plan in asked_for:
        assert "Index" in plan and "  Sort  " not in plan, plan
    for index in ("engine_step_by_seq", "engine_step_by_time", "engine_step_first"):
        assert any(index in plan for plan in asked_for), index
