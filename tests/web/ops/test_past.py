"""The process that answers what is asked about the past."""

import contextlib
import inspect
import json
import os
import re
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
PARAMETER = re.compile("<[^>]+>")
LEADING = ("asking.turn(", "asking.engine(", "asking.export_planned(", "_fits(", "fit_apply(")


MANY = 400  # of which a socket does not hold all
CONNECTIONS = 2  # to the database, of each process, which stay; one there is from the first question on
NAMED = ["again", "cache", "changed", "evicted", "fits", "why", "7"]


def scope_of(path: str, query: str = "", method: str = "GET") -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "query_string": query.encode()}


def leads_engines(pattern: URLPattern) -> bool:
    """Whether the class of a route says that it asks for a moment, whatever `at` is."""
    return any(word in inspect.getsource(pattern.callback.cls) for word in LEADING)  # type: ignore[attr-defined]


@pytest.mark.parametrize("pattern", ROUTES, ids=lambda pattern: str(pattern.pattern))
def test_every_route_that_makes_a_moment_goes_to_the_process(pattern: URLPattern) -> None:
    for name in NAMED:  # objects may have the names of routes
        path = "/" + PARAMETER.sub(name, str(pattern.pattern))
        assert (
            asgi.is_of_past(scope_of(path))
            == asgi.is_of_past(scope_of(path, "at%20=1&find=at"))
            == leads_engines(pattern)
        )
        assert asgi.is_of_past(scope_of(path, "limit=3&find=%E4%B8%AD&node=%ff&at=10m%20ago"))
        assert not asgi.is_of_past(scope_of(path, "at=1.1", "DELETE"))


@cases(
    "path, method, want",
    ("what would make a manifest fit", "/api/clusters/7/fits", "POST", True),
    ("to carry out what would", "/api/clusters/7/pods/default/web/fits", "POST", False),
    ("an import", "/api/clusters/7/import", "POST", False),
    ("a page", "/", "GET", False),
    ("a page of Django's", "/admin/", "GET", False),
    ("a file", "/static/app.js", "GET", False),
)
def test_what_else_goes_there(path: str, method: str, want: bool) -> None:
    assert asgi.is_of_past(scope_of(path, "at=1.1", method)) == want


@pytest.fixture
def web(transactional_db: None, tmp_path: Path) -> Iterator[tcp.Web]:
    with tcp.web_process(tmp_path, KSCHED_DATABASE_POOL=str(CONNECTIONS)) as process:
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


def local_sockets(pid: int) -> set[str]:
    """Those that a process has open within the machine: one for each question, and some that stay."""
    local = {line.split()[6] for line in Path("/proc/net/unix").read_text().splitlines()[1:] if len(line.split()) == 7}
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(each).removeprefix("socket:[").removesuffix("]"))
    return found & local


def test_what_is_asked_about_the_past_is_answered_by_another_process(web: tcp.Web, cluster: Cluster) -> None:
    cookie = tcp.session("ada")
    present = f"/api/clusters/{cluster.pk}/nodes/n1"
    past = f"{present}?at={cluster.rv}.{cluster.seq}"
    assert web.get(present, Cookie=cookie).status == 200 and web.get(past).status == 401
    assert web.get(f"/k8s/quiet/at/{cluster.rv}.{cluster.seq}/api/v1/nodes").status == 403
    assert processes_of(web) == []  # nor for a stranger
    answer = web.get(past, Cookie=cookie)
    assert answer.status == 200 and answer.headers["ksched-position"] == f"{cluster.rv}.{cluster.seq}"
    assert json.loads(answer.body)["manifest"]["metadata"]["name"] == "n1"
    [pid] = processes_of(web)
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, os.getpriority(os.PRIO_PROCESS, web.pid) + NICENESS)
    assert web.get(past.replace("n1", "n2"), Cookie=cookie).status == 404
    head = web.ask("HEAD", past, b"", Cookie=cookie)
    assert head.status == 200 and not head.body and head.headers["content-length"] == str(len(answer.body))
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
    before = local_sockets(web.pid)
    with ThreadPoolExecutor(1) as executor:
        asking = executor.submit(web.get, asked, **headers)
        eventually(lambda: local_sockets(web.pid) - before)
        os.kill(pid, signal.SIGKILL)
        answer = asking.result(HANG_SECONDS)
    assert answer.status == 503 and said in answer.body.decode()
    eventually(lambda: web.get(asked, **headers).status == 200)


def test_client_who_hangs_up_leaves_nothing_open(web: tcp.Web, cluster: Cluster) -> None:
    asked, cookie = f"/api/clusters/{cluster.pk}/nodes/n1?at={cluster.rv}.{cluster.seq}", tcp.session("ada")
    assert web.get(asked, Cookie=cookie).status == 200
    [pid] = processes_of(web)
    before, there = local_sockets(web.pid), local_sockets(pid)
    os.kill(pid, signal.SIGSTOP)
    asking = [web.begin(f"GET {asked} HTTP/1.1\nCookie: {cookie}") for _ in range(5)]
    eventually(lambda: len(local_sockets(web.pid) - before) == len(asking))
    for each in asking:
        each.close()
    eventually(lambda: not local_sockets(web.pid) - before)
    os.kill(pid, signal.SIGCONT)
    assert web.get(asked, Cookie=cookie).status == 200
    eventually(lambda: len(local_sockets(pid) - there) < CONNECTIONS)


def test_present_goes_on_while_too_many_questions_wait(web: tcp.Web, cluster: Cluster) -> None:
    asked, cookie = f"/api/clusters/{cluster.pk}/nodes/n1?at={cluster.rv}.{cluster.seq}", tcp.session("ada")
    assert web.get(asked, Cookie=cookie).status == 200
    [pid] = processes_of(web)
    os.kill(pid, signal.SIGSTOP)
    waiting = [web.begin(f"GET {asked} HTTP/1.1\nCookie: {cookie}") for _ in range(MANY)]
    try:
        assert web.get(f"/api/clusters/{cluster.pk}/nodes/n1", Cookie=cookie).status == 200
        os.kill(pid, signal.SIGCONT)
        assert web.get("/livez").status == 200
    finally:
        for each in waiting:
            each.close()
    eventually(lambda: web.get(asked, Cookie=cookie).status == 200)


def test_process_ends_with_the_web_process(tmp_path: Path, cluster: Cluster) -> None:
    with tcp.web_process(tmp_path) as web:
        assert web.get(f"/api/clusters/{cluster.pk}/cache", Cookie=tcp.session("ada")).status == 200
        [pid] = processes_of(web)
    eventually(lambda: not Path(f"/proc/{pid}").exists())
