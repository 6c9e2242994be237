"""A cluster is deleted while everybody writes to it: no deadlock, nothing left behind, the others go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import orjson
import pytest
from django.apps import apps
from django.db import close_old_connections, connection

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster import store
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.cluster.services import clusters
from kschedweb.cluster.services import objects as object_services
from kschedweb.common.errors import ApplicationError, ClusterGoneError, NotFoundError
from kschedweb.scheduling import leases, services
from kschedweb.scheduling.elector import Elector, LeaseTimes
from kschedweb.scheduling.runner import bindings
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.scheduling.runner.slices import Worker
from tests.builders import make_node, make_pod
from tests.waiting import HANG_SECONDS, eventually, joined
from tests.web.rest import items, logged_in, upload
from tests.web.scheduling.conftest import lead, put

pytestmark = pytest.mark.django_db(transaction=True)


def node(number: int) -> dict[str, Any]:
    manifest: dict[str, Any] = make_node(f"n{number}").capacity(cpu="64", memory="64Gi", pods="110").manifest()
    return manifest


def pod(name: str) -> dict[str, Any]:
    manifest: dict[str, Any] = make_pod(name).req(cpu="1", memory="1Gi").manifest()
    return manifest


def left_of(cluster_ids: set[int]) -> dict[str, int]:
    """Rows of the clusters, by table."""
    found = {}
    for model in apps.get_models():
        if any(field.name == "cluster" for field in model._meta.fields):
            count = model._base_manager.filter(cluster_id__in=cluster_ids).count()
            if count:
                found[model._meta.db_table] = count
    return found


def waits_for_a_lock(statement: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            " AND query LIKE %s",
            [f"%{statement}%"],
        )
        return bool(cursor.fetchone()[0])


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, failed


def wait_for_a_lock(statement: str, waiting: threading.Thread, seen: Callable[[], object]) -> None:
    """Until that statement of the thread waits for a lock; a failure shows what is `seen`."""
    ends_at = time.monotonic() + HANG_SECONDS
    while not waits_for_a_lock(statement):
        assert time.monotonic() < ends_at and waiting.is_alive(), seen()
        time.sleep(0.01)


@contextmanager
def another_session(statement: str, cluster: Cluster) -> Iterator[Any]:
    """A connection with a transaction in which this was done to the cluster."""
    other = connection.copy()
    try:
        other.connect()
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(statement, [cluster.pk])
        yield other
    finally:
        other.close()


@pytest.fixture
def held_commits(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], tuple[threading.Event, threading.Event]]:
    """`held, go_on = held_commits(module)`: whoever commits changes by it says so, and waits."""

    def hold(module: Any) -> tuple[threading.Event, threading.Event]:
        held, go_on = threading.Event(), threading.Event()
        commit = module.changes_commit

        def slow_commit(**arguments: Any) -> int:
            if arguments["entries"]:
                held.set()
                assert go_on.wait(HANG_SECONDS)
            return int(commit(**arguments))

        monkeypatch.setattr(module, "changes_commit", slow_commit)
        return held, go_on

    return hold


Held = Callable[[Any], tuple[threading.Event, threading.Event]]


@pytest.mark.usefixtures("patient_fence")
@pytest.mark.parametrize("who", ["binding worker", "leader", "upload"])
def test_deletion_waits_for_a_writer_that_has_locked_objects(cluster: Cluster, held_commits: Held, who: str) -> None:
    """The writer stands before the cluster's counter, with rows of objects locked."""
    put(cluster, node(1), pod("a"), make_pod("big").req(cpu="99"))
    host = lead(cluster)
    if who == "binding worker":
        host.step()
    held, deleting = held_commits(object_services if who == "upload" else store)
    client = logged_in()
    again = {**pod("a"), "metadata": {**pod("a")["metadata"], "labels": {"new": "label"}}}
    work = {
        "binding worker": lambda: services.bindings_carry_out(cluster_id=cluster.pk),
        "leader": host.step,
        "upload": lambda: put(cluster, again),
    }[who]
    writer, failed = in_thread(work)
    assert held.wait(HANG_SECONDS)
    answers: list[int] = []
    deleter, broken = in_thread(lambda: answers.append(client.delete(f"/api/clusters/{cluster.pk}").status_code))
    wait_for_a_lock("FOR UPDATE", deleter, lambda: (answers, broken, failed))
    deleting.set()
    joined(writer, deleter)
    assert (answers, broken, failed) == ([204], [], [])
    assert left_of({cluster.pk}) == {}


@pytest.mark.usefixtures("patient_fence")
def test_import_that_changes_the_life_cycle_waits_for_a_binding_worker(cluster: Cluster, held_commits: Held) -> None:
    """It changes objects as well, and the cluster's own row comes last here too."""
    put(cluster, node(1), pod("a"))
    lead(cluster).step()
    held, importing = held_commits(store)
    worker, failed = in_thread(lambda: services.bindings_carry_out(cluster_id=cluster.pk))
    assert held.wait(HANG_SECONDS)
    body, client, answers = orjson.dumps(items(pod("a"), pod("b"))), logged_in(), list[int]()
    query = "?filename=f.json&lifecycle=simulate"
    importer, broken = in_thread(lambda: answers.append(upload(client, cluster, body, query).status_code))
    wait_for_a_lock("FOR UPDATE", importer, lambda: (answers, broken, failed))
    importing.set()
    joined(worker, importer)
    assert (failed, broken) == ([], []) and answers[0] < 300
    cluster.refresh_from_db()
    assert cluster.lifecycle_mode == "simulate" and Pod.objects.filter(cluster=cluster).count() == 2


def test_deletion_steps_back_for_whoever_has_a_row_it_did_not_know_and_waits_for_the_counter(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a pod would be that was put in after the deletion had locked all pods."""
    put(cluster, node(1))
    monkeypatch.setattr(clusters, "DELETE_TRIES", 1_000)
    with another_session("SELECT 1 FROM cluster_change WHERE cluster_id = %s FOR UPDATE", cluster) as other:
        deleter, broken = in_thread(lambda: cluster_services.cluster_delete(cluster_id=cluster.pk))
        wait_for_a_lock('DELETE FROM "cluster_change"', deleter, lambda: broken)
        with other.cursor() as cursor:
            cursor.execute("UPDATE cluster_cluster SET rv = rv WHERE id = %s", [cluster.pk])
        other.commit()
        joined(deleter)
    assert broken == [] and left_of({cluster.pk}) == {}


ROUNDS, CLUSTERS = 3, 4


@pytest.fixture
def busy_workers(patient_fence: None) -> Iterator[dict[str, Any]]:
    """A scheduler worker and two binding workers, which work on all clusters until the test ends."""
    over = threading.Event()
    failures: list[BaseException] = []
    worker = Worker("one", Elector("one/1", LeaseTimes(), wake=lambda _: None))

    def everywhere(work: Callable[[int], object]) -> None:
        while not over.is_set():
            for cluster_id in list(Cluster.objects.values_list("pk", flat=True)):
                try:
                    work(cluster_id)
                except NotFoundError:
                    pass  # deleted under its hands
                except BaseException as error:
                    failures.append(error)
                    close_old_connections()

    def schedule(cluster_id: int) -> None:
        worker.ensure_leader(cluster_id)
        worker.elector.renew()

    started = [
        in_thread(lambda work=work: everywhere(work))[0]
        for work in (schedule, bindings.bindings_run, bindings.bindings_run)
    ]
    try:
        yield {"failures": failures, "worker": worker}
    finally:
        over.set()
        joined(*started)


def test_clusters_are_deleted_under_full_scheduling_and_the_others_go_on(busy_workers: dict[str, Any]) -> None:
    stays = Cluster.objects.create(name="stays", seed=1)
    put(stays, node(1), *(pod(f"p{i}") for i in range(40)))
    client = logged_in()

    def delete(url: str, answers: list[int]) -> None:
        answers.append(client.delete(url).status_code)

    gone: set[int] = set()
    for round_ in range(ROUNDS):
        doomed = [Cluster.objects.create(name=f"doomed-{round_}-{number}", seed=1) for number in range(CLUSTERS)]
        for cluster in doomed:
            put(cluster, node(0), node(1), *(pod(f"p{i}") for i in range(80)))
        answers: list[int] = []
        uploads: list[tuple[threading.Thread, list[BaseException]]] = []
        deletions = []
        for cluster in doomed:
            eventually(
                Pod.objects.filter(cluster=cluster).exclude(node_name="").exists, lambda: busy_workers["failures"]
            )
            uploads.append(in_thread(lambda cluster=cluster: put(cluster, *(pod(f"q{i}") for i in range(40)))))
            url = f"/api/clusters/{cluster.pk}"
            deletions.append(in_thread(partial(delete, url, answers)))
            gone.add(cluster.pk)
        for thread, failed in (*deletions, *uploads):
            joined(thread)
            assert all(isinstance(error, ApplicationError) for error in failed), failed
        assert answers == [204] * CLUSTERS
    assert left_of(gone) == {}
    put(stays, pod("last"))
    unbound = Pod.objects.filter(cluster=stays, node_name="")
    eventually(lambda: not unbound.exists(), lambda: busy_workers["failures"])
    assert busy_workers["failures"] == []
    assert busy_workers["worker"].elector.led_clusters() == [stays.pk]


def test_engine_of_a_cluster_that_is_gone_ends_quietly(cluster: Cluster, log_lines: Callable[[], list[str]]) -> None:
    put(cluster, node(1), pod("a"))
    worker = Worker("one", Elector("one/1", LeaseTimes(), wake=lambda _: None))
    worker.ensure_leader(cluster.pk)
    assert cluster.pk in worker.hosts
    cluster_services.cluster_delete(cluster_id=cluster.pk)
    worker.slice(cluster.pk)
    assert not worker.hosts and not worker.elector.led_clusters()
    assert log_lines() and all(line.startswith("I") for line in log_lines()), "a deletion is no failure"
    with pytest.raises(ClusterGoneError):
        EngineHost(cluster.pk, 1).step()


@contextmanager
def patience(seconds: str) -> Iterator[None]:
    """Whoever waits longer for a lock fails."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = %s", [seconds])
    try:
        yield
    finally:
        connection.close()


def test_deletion_waits_for_no_writer_of_another_cluster(cluster: Cluster) -> None:
    busy = Cluster.objects.create(name="busy")
    put(busy, make_pod("p").req(cpu="1"))
    with another_session("SELECT 1 FROM cluster_pod WHERE cluster_id = %s FOR UPDATE", busy), patience("1s"):
        cluster_services.cluster_delete(cluster_id=cluster.pk)
    assert list(Cluster.objects.values_list("name", flat=True)) == ["busy"]


def test_renewal_waits_for_no_lease_that_somebody_is_writing(cluster: Cluster) -> None:
    two = Cluster.objects.create(name="two")
    elector = Elector("one", LeaseTimes(), wake=lambda _: None)
    elector.tick()
    views = [view for view in leases.leases_list() if view.holder == "one"]
    with another_session("SELECT 1 FROM leases WHERE cluster_id = %s FOR UPDATE", cluster), patience("5s"):
        renewed = leases.leases_renew(views=views, duration_seconds=15)
    assert set(renewed) == {two.pk}
