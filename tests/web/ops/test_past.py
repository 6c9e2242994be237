"""The process that answers what is asked about the past."""

import inspect
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern

from kschedweb import asgi, urls
from kschedweb.accounts import services as account_services
from kschedweb.accounts.choices import Role
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.ops.idle import descendants
from kschedweb.ops.past import NICENESS
from tests.cases import cases
from tests.waiting import HANG_SECONDS, eventually
from tests.web import tcp
from tests.web.scheduling.conftest import put

ROUTES = [each for each in urls.urlpatterns if isinstance(each, URLPattern) and str(each.pattern).startswith("api/")]
LEADING = ("asking.turn(", "asking.engine(", "asking.export_planned(", "_fits(", "fit_apply(")


def scope_of(pattern: URLPattern, query: str = "") -> dict[str, Any]:
    path = "/" + str(pattern.pattern).replace("<int:cluster_id>", "7")
    return {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}


def leads_engines(pattern: URLPattern) -> bool:
    """Whether the class of a route says that it asks for a moment, whatever `at` is."""
    return any(word in inspect.getsource(pattern.callback.cls) for word in LEADING)  # type: ignore[attr-defined]


@pytest.mark.parametrize("pattern", ROUTES, ids=lambda pattern: str(pattern.pattern))
def test_every_route_that_makes_a_moment_goes_to_the_process(pattern: URLPattern) -> None:
    assert asgi.is_of_past(scope_of(pattern)) == leads_engines(pattern)
    assert asgi.is_of_past(scope_of(pattern, "limit=3&at=10m%20ago"))


def test_what_else_has_an_at_does_not() -> None:
    for path in ("/", "/admin/", "/static/app.js", "/metrics"):
        assert not asgi.is_of_past({"type": "http", "path": path, "query_string": b"at=1.1"})


@pytest.fixture
def web(transactional_db: None, tmp_path: Path) -> Iterator[tcp.Web]:
    with tcp.web_process(tmp_path) as process:
        yield process


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    cluster = cluster_services.cluster_create(name="quiet")
    put(cluster, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    return Cluster.objects.get(pk=cluster.pk)


@pytest.fixture
def token(cluster: Cluster) -> str:
    """Of an administrator."""
    admin = User.objects.create(username="grace", is_superuser=True)
    return account_services.token_create(user=admin, name="t", max_role=Role.ADMIN, days=1, actor="grace")[1]


def processes_of(web: tcp.Web) -> list[int]:
    """Those below the web process that read the past."""
    return [pid for pid in descendants(web.pid) if b"kschedweb.ops.past" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_what_is_asked_about_the_past_is_answered_by_another_process(web: tcp.Web, cluster: Cluster) -> None:
    cookie = tcp.session("ada")
    present = f"/api/clusters/{cluster.pk}/nodes/n1"
    assert web.get(present, Cookie=cookie).status == 200 and processes_of(web) == []
    past = f"{present}?at={cluster.rv}.{cluster.seq}"
    answer = web.get(past, Cookie=cookie)
    assert answer.status == 200 and answer.headers["ksched-position"] == f"{cluster.rv}.{cluster.seq}"
    assert json.loads(answer.body)["manifest"]["metadata"]["name"] == "n1"
    [pid] = processes_of(web)
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, os.getpriority(os.PRIO_PROCESS, web.pid) + NICENESS)
    assert web.get(past).status == 401 and web.get(past.replace("n1", "n2"), Cookie=cookie).status == 404
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: web.get(past, Cookie=cookie).body == answer.body)  # a question to one that is ending is refused
    assert processes_of(web) not in ([], [pid])


@cases(
    "path, said",
    ("REST", "/api/clusters/{id}/nodes/n1?at={position}", "past_unavailable"),
    ("Kubernetes API", "/k8s/{name}/at/{position}/api/v1/nodes/n1", "ServiceUnavailable"),
)
def test_process_that_is_killed_over_a_question(
    web: tcp.Web, cluster: Cluster, token: str, path: str, said: str
) -> None:
    asked = path.format(id=cluster.pk, name=cluster.name, position=f"{cluster.rv}.{cluster.seq}")
    headers = {"Authorization": f"Bearer {token}"}
    assert web.get(asked, **headers).status == 200
    [pid] = processes_of(web)
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as executor:
        asking = executor.submit(web.get, asked, **headers)
        os.kill(pid, signal.SIGKILL)
        answer = asking.result(HANG_SECONDS)
    # The question may have come after the end, so that another process had it.
    assert answer.status in (200, 503) and (answer.status == 200 or said in answer.body.decode())
    assert web.get(asked, **headers).status == 200


def test_process_ends_with_the_web_process(tmp_path: Path, cluster: Cluster) -> None:
    with tcp.web_process(tmp_path) as web:
        assert web.get(f"/api/clusters/{cluster.pk}/cache", Cookie=tcp.session("ada")).status == 200
        [pid] = processes_of(web)
    eventually(lambda: not Path(f"/proc/{pid}").exists())
