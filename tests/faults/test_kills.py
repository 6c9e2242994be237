"""Processes are killed while pods are being scheduled: nothing is lost, nothing is done twice, the end is the same."""

import contextlib
import os
import random
import signal
import threading
from collections.abc import Sequence
from functools import partial

import psycopg
import pytest

from kschedweb.ops import up
from kschedweb.ops.client import Refused
from kschedweb.ops.processes import wait_until
from tests.faults import audit, workloads
from tests.faults.service import Service, descendants
from tests.faults.workloads import Workload
from tests.waiting import HANG_SECONDS

# `/child` is the process of the pool, which does the work; its worker starts another.
WORKERS = ("scheduler/child", "binding", "lifecycle", "scheduler", "beat", "web")
EVERYTHING = ("scheduler/child", "binding/child", "valkey", "binding", "postgres", "scheduler", "lifecycle", "beat")


@pytest.mark.slow  # the short storm does the like to each of them
def test_nothing_is_lost_when_each_worker_is_killed_in_turn(service: Service) -> None:
    workload = workloads.mixed(nodes=100, pods=800, seed=1)
    cluster_id = service.cluster_create("killed", seed=1)
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "slow", "rate": 100})
    service.upload(cluster_id, workload.files)
    at = kill_in_turn(service, cluster_id, WORKERS, until=450, seed=1)
    assert at["scheduler"] < 600 and at["binding"] < 600  # they had work left to lose
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "run"})
    service.wait_settled(cluster_id)
    assert 0 < service.bound(cluster_id) < 800
    assert_sound(service, cluster_id, workload)


def test_import_is_whole_or_absent_when_the_web_process_is_killed(service: Service) -> None:
    workload = workloads.mixed(nodes=20, pods=400, seed=2)
    cluster_id = service.cluster_create("torn", seed=1)
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "pause"})
    upload_and_kill(service, cluster_id, workload, after_seconds=random.Random(2).uniform(0.05, 0.4))
    rows = service.rows("SELECT count(*) FROM cluster_pod WHERE cluster_id = %s", cluster_id)
    assert rows[0][0] in (0, 400)
    service.upload(cluster_id, workload.files)
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "run"})
    service.wait_settled(cluster_id)
    assert_sound(service, cluster_id, workload)


def test_bound_pods_are_those_of_a_run_without_kills_when_there_is_room_for_all(service: Service) -> None:
    workload = workloads.roomy(nodes=10, pods=300)
    bound = []
    for name, kills in (("calm", ()), ("stormy", ("scheduler/child", "binding/child"))):
        cluster_id = service.cluster_create(name, seed=3)
        if kills:
            service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "slow", "rate": 100})
        service.upload(cluster_id, workload.files)
        kill_in_turn(service, cluster_id, kills, until=200, seed=3)
        service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "run"})
        service.wait_settled(cluster_id)
        assert_sound(service, cluster_id, workload)
        query = "SELECT namespace || '/' || name FROM cluster_pod WHERE cluster_id = %s AND node_name <> ''"
        bound.append({row[0] for row in service.rows(query, cluster_id)})
    assert bound[0] == bound[1] == workload.pods


def test_workers_go_on_when_the_broker_was_started_anew_while_they_were_stopped(service: Service) -> None:
    workload = workloads.roomy(nodes=10, pods=300)
    cluster_id = service.cluster_create("frozen", seed=1)
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "slow", "rate": 50})
    service.upload(cluster_id, workload.files)
    assert wait_until(partial(_has_bound, service, cluster_id, 20), seconds=HANG_SECONDS), service.logs()
    workers = [pid for name in ("binding", "lifecycle", "scheduler") for pid in descendants(service.pid(name) or 0)]
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        is_back = service.kill("valkey")
        assert wait_until(is_back, seconds=HANG_SECONDS), service.logs()
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "run"})
    service.wait_settled(cluster_id)
    assert [
        pid for name in ("binding", "lifecycle", "scheduler") for pid in descendants(service.pid(name) or 0)
    ] == workers
    assert_sound(service, cluster_id, workload)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_of_the_recorded_cluster_is_lost_when_everything_is_killed(service: Service, seed: int) -> None:
    workload = workloads.openb()
    cluster_id = service.cluster_create(f"openb-{seed}", seed=seed)
    upload_and_kill(service, cluster_id, workload, after_seconds=random.Random(seed).uniform(0.5, 4.0))
    if service.count("SELECT count(*) FROM cluster_pod WHERE cluster_id = %s", cluster_id) == 0:
        service.upload(cluster_id, workload.files)
    at = kill_in_turn(service, cluster_id, EVERYTHING, until=7500, seed=seed)
    assert at["scheduler"] < 8000
    service.wait_settled(cluster_id)
    assert_sound(service, cluster_id, workload)


def kill_in_turn(service: Service, cluster_id: int, names: Sequence[str], *, until: int, seed: int) -> dict[str, int]:
    """Kill each when so many pods are bound, drawn from the seed and at most `until`; how many were, by name.

    Returns when all run again and, where a scheduler was killed, another has taken the cluster over.
    """
    chance = random.Random(seed)
    at: dict[str, int] = {}
    for place, name in enumerate(names):
        low, high = until * place // len(names), until * (place + 1) // len(names)
        wanted = chance.randrange(low, high)
        wait_until(
            lambda wanted=wanted: _bound(service, cluster_id) >= wanted, seconds=HANG_SECONDS, pause_seconds=0.02
        )  # type: ignore[misc]
        at[name], epoch = _bound(service, cluster_id), service.epoch(cluster_id)
        is_back = service.kill(name)
        assert wait_until(is_back, seconds=HANG_SECONDS), f"{name} did not come back\n{service.logs()}"
        if name.startswith("scheduler"):
            taken = wait_until(lambda epoch=epoch: service.epoch(cluster_id) > epoch, seconds=HANG_SECONDS)  # type: ignore[misc]
            assert taken, f"nobody leads after {name} was killed\n{service.logs()}"
        elif name == "postgres":
            assert wait_until(lambda: _answers(service), seconds=HANG_SECONDS), service.logs()
    assert wait_until(lambda: up.answers_ready("127.0.0.1", service.port), seconds=HANG_SECONDS), service.logs()
    return at


def upload_and_kill(service: Service, cluster_id: int, workload: Workload, *, after_seconds: float) -> None:
    """Import, and kill the web process meanwhile; the import may or may not have come through."""

    def upload() -> None:
        with contextlib.suppress(Refused):
            service.upload(cluster_id, workload.files)

    uploading = threading.Thread(target=upload)
    uploading.start()
    uploading.join(after_seconds)
    is_back = service.kill("web")
    uploading.join()
    assert wait_until(is_back, seconds=HANG_SECONDS), service.logs()
    assert wait_until(lambda: up.answers_ready("127.0.0.1", service.port), seconds=HANG_SECONDS), service.logs()


def assert_sound(service: Service, cluster_id: int, workload: Workload) -> None:
    with service.connect() as connection:
        found = audit.problems(connection, cluster_id, workload)
    assert not found, "\n".join(found)


def _bound(service: Service, cluster_id: int) -> int:
    try:
        return service.bound(cluster_id)
    except psycopg.OperationalError:
        return 0


def _has_bound(service: Service, cluster_id: int, wanted: int) -> bool:
    return _bound(service, cluster_id) >= wanted


def _answers(service: Service) -> bool:
    try:
        return service.count("SELECT 1") == 1
    except psycopg.OperationalError:
        return False
