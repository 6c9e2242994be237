"""A service that really runs (`./ksched up` in a directory of its own) and a browser that used its login link."""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import (
    APIResponse,
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    StorageState,
    ViewportSize,
    expect,
    sync_playwright,
)

from kschedweb.environment import ROOT
from kschedweb.ops.client import connect
from kschedweb.ops.processes import die_with_parent, wait_until
from tests.browser.axe import ALL_LOOKS, LOOKS, SCRIPT, Axe
from tests.waiting import HANG_SECONDS, eventually
from tools.node import install_front, node_environment

# Less where a test is expected to fail: see tests/mutation/rows.py.
WAIT_SECONDS = float(os.environ.get("KSCHED_TEST_WAIT_SECONDS", HANG_SECONDS))
WAIT_MS = WAIT_SECONDS * 1000
expect.set_options(timeout=WAIT_MS)
IMPORT_SECONDS = 10 * HANG_SECONDS
AGAIN_MS = 100
CLASSES = itertools.count()
SAMPLE_PODS = 250
STILL_SECONDS = 10.0  # that pods which are under way get to come to their end
OWN = {"own", "timed", "shop"}  # fixtures that show a cluster of the test's own
FIRST = 1_000_000_000  # the highest priority there is for users: no pod of the sample comes before
T = TypeVar("T")
RESTORE = "stored => { localStorage.clear(); for (const { name, value } of stored) localStorage.setItem(name, value) }"
# What the browser itself says of answers and connections: tests refuse and break them on purpose, and a database that
# does not answer in time is asked again.
OF_THE_NETWORK = re.compile(
    r"Failed to load resource: (net::|the server responded with a status of (4|503))|WebSocket connec"
)
LOGIN_LINK = re.compile(r"open (http\S+)\s+\(logs you in")


@dataclass
class Service:
    url: str
    login_link: str
    data: Path
    lines: list[str] = field(default_factory=list)
    cookies: StorageState | None = None  # of a browser that has used the link


@dataclass
class Cluster:
    """The sample cluster through REST, as the logged-in user."""

    page: Page
    url: str
    id: int

    @property
    def address(self) -> str:
        """Of its page, without what is chosen there."""
        return f"{self.url}/#/clusters/{self.id}"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        response = self.fetch(method, path, body)
        assert response.ok, response.text()
        return response.json() if response.text() else None

    def fetch(self, method: str, path: str, body: Any = None) -> APIResponse:
        cookies = {cookie["name"]: cookie["value"] for cookie in self.page.context.cookies()}
        return self.page.request.fetch(
            f"{self.url}/api/clusters/{self.id}/{path}",
            method=method,
            headers={"X-CSRFToken": cookies["ksched_csrf"], "Content-Type": "application/json"},
            data=body,
        )

    def remove(self, path: str) -> None:
        """Delete what may go by itself meanwhile, as a victim does."""
        response = self.fetch("DELETE", path)
        assert response.ok or response.status == HTTPStatus.NOT_FOUND, response.text()

    def live(self, mode: str) -> None:
        """Whether kubelets and controllers are at work: simulate or frozen."""
        self.call("PATCH", f"../{self.id}", {"lifecycle_mode": mode})

    def made(self) -> set[str]:
        """Where the nodes are, and the pods of the namespace in which tests make theirs."""
        snapshot = self.call("GET", "snapshot")
        pods = {f"objects/Pod/{pod['key']}" for pod in snapshot["pods"] if pod["key"].startswith("default/")}
        return pods | {f"objects/Node/{node['name']}" for node in snapshot["nodes"]}

    def pod_create(self, name: str, *, cpu: str = "10m", priority: int = 0) -> None:
        container = {"name": "main", "image": "main:1", "resources": {"requests": {"cpu": cpu}}}
        spec: dict[str, Any] = {"containers": [container]}
        if priority:
            # The service is shared, and a class of another test stays.
            spec["priorityClassName"] = f"browser-{next(CLASSES)}"
            klass = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": priority}
            self.call("POST", "objects", {**klass, "metadata": {"name": spec["priorityClassName"]}})
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        self.call("POST", "objects", pod)


def until(page: Page, fact: Callable[[], T], seconds: float = WAIT_SECONDS) -> T:
    """Ask again and again until the answer is true; the answer. The page lives on meanwhile."""
    ends_at = time.monotonic() + seconds
    while not (answer := fact()):
        assert time.monotonic() < ends_at, f"never so: {fact}"
        page.wait_for_timeout(AGAIN_MS)
    return answer


@contextmanager
def running(data: Path, *options: str) -> Iterator[Service]:
    """`./ksched up` with its data in that folder; its log is shown when it does not come up."""
    ours = ("KSCHED_", "DJANGO_", "DATABASE_URL", "REDIS_URL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["PYTHONPATH"] = str(ROOT)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["kschedweb.ops.cli", "up", "--data-dir", str(data), "--port", str(port), *options]
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=die_with_parent(signal.SIGTERM),
    )
    lines: list[str] = []
    found = threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if LOGIN_LINK.search(line):
                found.set()
        found.set()

    threading.Thread(target=read, daemon=True).start()
    try:
        found.wait(HANG_SECONDS)
        links = [match[1] for line in lines if (match := LOGIN_LINK.search(line))]
        if not links:
            pytest.fail("the service did not come up:\n" + "".join(lines) + _logs(data))
        yield Service(f"http://127.0.0.1:{port}", links[0], data, lines)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


@contextmanager
def imported(data: Path, cluster: str, *files: Path) -> Iterator[Service]:
    """A service that has nothing but the cluster of these files, all of whose pods have been tried."""
    with running(data, "--no-sample") as service:
        words = ["kschedweb.ops.cli", "import", "--data-dir", str(data), "--cluster", cluster, "--wait"]
        done = subprocess.run(
            [sys.executable, "-m", *words, *map(str, files)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=IMPORT_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        yield service


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("service")) as service:
        _settle(service.data)
        yield service


def _settle(data: Path) -> None:
    """Let the sample's controllers make their pods, and then stand still: its traffic takes as much as the tests do."""
    client = connect(data)
    (sample,) = client.all("/api/clusters")
    path = f"/api/clusters/{sample['id']}"
    eventually(lambda: client.call("GET", f"{path}/summary")[1]["objects"].get("Pod", 0) >= SAMPLE_PODS)
    _freeze(
        lambda mode: client.call("PATCH", path, json.dumps({"lifecycle_mode": mode}).encode()),
        lambda: client.call("GET", f"{path}/summary")[1],
    )


def _freeze(put: Callable[[str], object], summary: Callable[[], Any]) -> None:
    """Stop kubelets and controllers at a moment at which no pod is under way: one that waits for a volume of theirs
    would be bound by nobody.
    """

    def is_still() -> bool:
        pending = summary()["pending"]
        return bool(pending["pods"] == sum(pending["queues"].get(name, 0) for name in ("unschedulable", "gated")))

    def is_frozen() -> bool:
        if not is_still():
            return False
        put("frozen")
        if wait_until(is_still, seconds=STILL_SECONDS):
            return True
        put("simulate")
        return False

    eventually(is_frozen)


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    """The service with its sample cluster; one for all files that name no other."""
    return shared_service


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = os.environ.get("KSCHED_CHROMIUM", "/usr/bin/chromium")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"],
        )


@pytest.fixture(scope="module")
def session(browser: Browser, service: Service) -> StorageState:
    """The cookies of a browser that used the one-time link of the terminal."""
    if service.cookies is None:
        with browser.new_context() as context:
            page = context.new_page()
            page.goto(service.login_link)
            page.get_by_role("heading", name="Scheduling queue").wait_for(timeout=WAIT_MS)
            service.cookies = context.storage_state()
    return service.cookies


@contextmanager
def context_of(browser: Browser, session: StorageState) -> Iterator[BrowserContext]:
    """A browser that nobody has used since the login."""
    # Without animations: painting them takes half of the time of a browser that has no graphics processor.
    size: ViewportSize = {"width": 1440, "height": 1000}
    with browser.new_context(storage_state=session, viewport=size, reduced_motion="reduce") as context:
        context.set_default_timeout(WAIT_MS)
        yield context


@pytest.fixture(scope="module")
def kept_context(browser: Browser, session: StorageState) -> Iterator[BrowserContext]:
    """One for all tests of a file: a page costs half as much where the scripts are there already."""
    with context_of(browser, session) as context:
        yield context


@pytest.fixture
def context(kept_context: BrowserContext, service: Service, session: StorageState) -> Iterator[BrowserContext]:
    """What a test leaves in it is taken away: pages, cookies, and what the dashboard stores."""
    yield kept_context
    ours = [page for page in kept_context.pages if page.url.startswith(service.url)]
    last = ours[0] if ours else kept_context.new_page()
    for page in kept_context.pages:
        if page != last:
            page.close()
    last.goto(f"{service.url}/healthz")
    last.evaluate(RESTORE, [one for origin in session["origins"] for one in origin["localStorage"]])
    last.close()
    # Once no dashboard is open: one that is refused for want of a cookie goes to the login, whatever comes meanwhile.
    kept_context.clear_cookies()
    cookies: Any = session["cookies"]  # as they were read is as they are set
    kept_context.add_cookies(cookies)


@pytest.fixture
def page(context: BrowserContext, service: Service, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The dashboard of the sample cluster unless another is shown; what `problems_of` tells of fails the test."""
    page = context.new_page()
    problems = problems_of(page, service)
    if OWN.isdisjoint(request.fixturenames):
        page.goto(service.url)
        page.get_by_role("heading", name="Scheduling queue").wait_for()
    yield page
    assert not problems


def problems_of(page: Page, service: Service) -> list[str]:
    """What goes wrong in the page from now on: errors, warnings on its console, requests to other hosts."""
    problems: list[str] = []

    def hear(said: ConsoleMessage) -> None:
        if said.type in ("warning", "error") and not OF_THE_NETWORK.match(said.text):
            problems.append(f"{said.type}: {said.text}")

    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", hear)
    page.on("request", lambda request: None if request.url.startswith(service.url) else problems.append(request.url))
    return problems


@pytest.fixture
def cluster(page: Page, service: Service) -> Iterator[Cluster]:
    """The cluster the page shows; after the test it runs again, without the pods and nodes the test made."""
    page.wait_for_url(re.compile(r"#/clusters/\d+"))
    cluster = Cluster(page, service.url, int(page.url.rpartition("/")[2]))
    before = cluster.made()
    yield cluster
    cluster.call("POST", "pace", {"pace": "run"})
    for path in cluster.made() - before:
        cluster.remove(path)


def clusters(page: Page, service: Service, method: str = "GET", path: str = "", body: Any = None) -> Any:
    """/api/clusters, as the logged-in user."""
    return Cluster(page, service.url, 0).call(method, f"../../clusters{path}", body)


@pytest.fixture
def lively(cluster: Cluster) -> Iterator[Cluster]:
    """The sample's kubelets and controllers at work for as long as the test is."""
    cluster.live("simulate")
    yield cluster
    cluster.call("POST", "pace", {"pace": "run"})
    _freeze(cluster.live, lambda: cluster.call("GET", "summary"))


@pytest.fixture
def own(page: Page, service: Service) -> Iterator[Cluster]:
    """A frozen cluster of the test's own, shown on the page, with nothing in it."""
    made = clusters(page, service, "POST", "", {"name": f"own-{datetime.now(UTC):%H%M%S%f}"})
    cluster = Cluster(page, service.url, made["id"])
    show(page, service, cluster)
    yield cluster
    if any(one["id"] == made["id"] for one in clusters(page, service)["results"]):
        clusters(page, service, "DELETE", f"/{made['id']}")


@pytest.fixture
def timed(page: Page, service: Service) -> Iterator[Cluster]:
    """A simulated cluster of the test's own with a node, shown on the page."""
    name = f"timed-{datetime.now(UTC):%H%M%S%f}"
    made = clusters(page, service, "POST", "", {"name": name, "lifecycle_mode": "simulate"})
    cluster = Cluster(page, service.url, made["id"])
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}, "conditions": conditions}
    cluster.call(
        "POST", "objects", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "room"}, "status": status}
    )
    show(page, service, cluster)
    yield cluster
    clusters(page, service, "DELETE", f"/{made['id']}")


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> Axe:
    install_front(node_environment())
    return Axe(SCRIPT.read_text(), ALL_LOOKS if request.config.getoption("--long") else LOOKS)


def show(page: Page, service: Service, cluster: Cluster) -> None:
    is_there = page.url.startswith(service.url)
    page.goto(f"{service.url}/#/clusters/{cluster.id}")
    if is_there:  # then nothing was loaded: the address differs behind its # alone
        page.reload()
    page.get_by_role("status").filter(has_text="Live").wait_for()


def _logs(data: Path) -> str:
    return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}\n" for log in data.rglob("*.log"))
