"""A running service says when PostgreSQL, Valkey or the scheduler is away, and measures all its processes."""

import contextlib
import http.client
import os
import signal
from collections.abc import Iterator

from kschedweb.ops.processes import wait_until
from tests.cases import cases
from tests.faults import workloads
from tests.faults.service import Service, descendants
from tests.waiting import HANG_SECONDS

# A lease and its grace, and what a busy machine adds.


def ask(service: Service, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=HANG_SECONDS)
    try:
        connection.request("GET", path, headers={"Host": "localhost"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()


@contextlib.contextmanager
def frozen(service: Service, name: str) -> Iterator[None]:
    parent = service.pid(name)
    assert parent is not None
    pids = descendants(parent)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@cases(
    "name, check",
    ("valkey", "valkey", "valkey"),
    ("postgresql", "postgres", "postgresql"),
    ("the scheduler", "scheduler", "leaderElection"),
)
def test_health_fails_while_a_part_is_away_and_recovers(service: Service, name: str, check: str) -> None:
    cluster_id = service.cluster_create(f"health-{name}")
    service.upload(cluster_id, workloads.roomy(nodes=2, pods=5).files)
    service.wait_settled(cluster_id)
    paths = ("/healthz", "/readyz")
    assert wait_until(lambda: all(ask(service, path)[0] == 200 for path in paths), seconds=HANG_SECONDS)
    with frozen(service, name):
        failed = wait_until(lambda: ask(service, f"/healthz/{check}")[0] == 503, seconds=HANG_SECONDS)
        assert failed, ask(service, "/healthz?verbose")
        for path in paths:
            status, text = ask(service, path)
            assert status == 503 and f"[-]{check} failed: reason withheld" in text, text
        assert ask(service, "/livez") == (200, "ok")
    assert wait_until(lambda: all(ask(service, path)[0] == 200 for path in paths), seconds=HANG_SECONDS)


def test_metrics_of_a_running_service_come_from_all_its_processes(service: Service) -> None:
    cluster_id = service.cluster_create("measured")
    service.upload(cluster_id, workloads.roomy(nodes=5, pods=40).files)
    service.wait_settled(cluster_id)

    def scraped() -> bool:
        text = ask(service, "/metrics?by=cluster")[1]
        bound = 'call_type="pod_binding",cluster="measured",result="success"'
        wanted = (
            'scheduler_schedule_attempts_total{cluster="measured",profile="default-scheduler",result="scheduled"} 40.0',
            f"scheduler_async_api_call_execution_total{{{bound}}} 40.0",
            'scheduler_cache_size{cluster="measured",type="pods"} 40.0',
            'leader_election_master_status{cluster="measured",name="kube-scheduler"} 1.0',
        )
        return all(line in text for line in wanted)

    assert wait_until(scraped, seconds=HANG_SECONDS), ask(service, "/metrics?by=cluster")[1][:3000]
