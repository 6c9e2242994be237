"""Measures the Kubernetes API of a running service: pods created by many clients, watchers, lists. A line each.

Clients are threads with a connection each and one token; watchers are sockets that one thread reads. How far these
are behind is the time from the moment a reader of the database could see a change until the last watcher has it.
"""

from __future__ import annotations

import http.client
import json
import re
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import psycopg

from kschedweb.cluster.versions import rv_of
from tools.bench import level3
from tools.bench.listening import CHANGES, CommitClock
from tools.bench.promises import Promise
from tools.bench.running import RunningService, ServiceProblem
from tools.bench.worker import Job

CLIENTS, PODS = 10, 2_000
CREATED_SECONDS, BOUND_SECONDS = 10.0, 5.0
WATCHERS, WATCHED_PODS, BEHIND_SECONDS = 100, 200, 1.0
LISTED, PAGE, LISTED_SECONDS = 10_000, 500, 3.0
WARM_UP = 50
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
_PODS = "/api/v1/namespaces/default/pods"


def measure(service: RunningService, job: Job) -> Iterator[Promise]:
    """The promises of the Kubernetes API, each when it is measured."""
    name = f"bench-{time.time_ns() // 1_000_000}"
    cluster_id = int(service.client.post("/api/clusters", {"name": name, "lifecycle_mode": "simulate"})["id"])
    level3.load(service, cluster_id, [level3.written(each) for each in job.workload().objects()])
    api = _Api(service, name)
    with psycopg.connect(service.database_url, autocommit=True) as database:
        _created(api, "warm", WARM_UP)
        level3.settled(database, cluster_id)
        yield _creation(service, api, database, cluster_id)
        level3.settled(database, cluster_id)
        yield _watching(service, api, database, cluster_id)
    service.client.call("DELETE", f"/api/clusters/{cluster_id}")
    yield _listing(service)


class _Api:
    def __init__(self, service: RunningService, cluster: str) -> None:
        self.port = service.port
        self.base = f"/k8s/{cluster}"
        self.headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None) -> bytes:
        connection.request(method, self.base + path, body=body, headers=self.headers)
        response = connection.getresponse()
        text = response.read()
        if response.status >= 300:
            raise ServiceProblem(f"{method} {path}: {response.status} {text[:300]!r}")
        return text


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "registry/app:1", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    metadata = {"name": name, "labels": {"app": "bench", "tier": name[:1]}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def _created(api: _Api, prefix: str, number: int, clients: int = CLIENTS) -> None:
    """Create pods, each client its share, one after the other."""

    def client(first: int) -> None:
        connection = api.connection()
        for place in range(first, number, clients):
            api.ask(connection, "POST", _PODS, json.dumps(_pod(f"{prefix}-{place}")).encode())
        connection.close()

    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(client, range(clients)))


def _creation(service: RunningService, api: _Api, database: psycopg.Connection[Any], cluster_id: int) -> Promise:
    started = time.monotonic()
    _created(api, "made", PODS)
    created = time.monotonic() - started
    level3.wait_bound(database, cluster_id, PODS + WARM_UP)
    bound = time.monotonic() - started - created
    text = (
        f"{PODS:,} pods by {CLIENTS} clients created in {created:.1f} s, target under {CREATED_SECONDS:.0f}; all bound"
        f" {bound:.1f} s later, target under {BOUND_SECONDS:.0f}"
    )
    values = {"created_seconds": created, "bound_seconds": bound}
    return Promise("kube-api creation", text, values, created < CREATED_SECONDS and bound < BOUND_SECONDS)


def _watching(service: RunningService, api: _Api, database: psycopg.Connection[Any], cluster_id: int) -> Promise:
    with CommitClock(service.database_url, CHANGES, cluster_id) as commits, _Watchers(api, WATCHERS) as watchers:
        _created(api, "watched", WATCHED_PODS, clients=2)
        last, _ = level3.settled(database, cluster_id)
        time.sleep(2 * BEHIND_SECONDS)
        behind = max(watchers.behind(commits))
    text = (
        f"{WATCHERS} watchers of pods, {WATCHED_PODS} pods created, bound and started: at most {behind * 1000:.0f} ms"
        f" behind, target under {BEHIND_SECONDS * 1000:.0f}"
    )
    return Promise("kube-api watchers", text, {"behind_seconds": behind}, behind < BEHIND_SECONDS)


class _Watchers:
    """Watches of all pods from now on; when each had read up to which position of the change log."""

    def __init__(self, api: _Api, number: int) -> None:
        connection = api.connection()
        listed = json.loads(api.ask(connection, "GET", f"{_PODS}?limit=1"))
        connection.close()
        query = f"{_PODS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}"
        lines = [f"GET {api.base}{query} HTTP/1.1", "Host: 127.0.0.1", *(f"{k}: {v}" for k, v in api.headers.items())]
        self._request = ("\r\n".join(lines) + "\r\n\r\n").encode()
        self._sockets = [socket.create_connection(("127.0.0.1", api.port)) for _ in range(number)]
        self._read: list[list[tuple[int, float]]] = [[] for _ in self._sockets]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="watchers", daemon=True)

    def __enter__(self) -> _Watchers:
        for each in self._sockets:
            each.sendall(self._request)
        self._thread.start()
        time.sleep(1.0)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for each in self._sockets:
            each.close()

    def _follow(self) -> None:
        with selectors.DefaultSelector() as selector:
            for place, each in enumerate(self._sockets):
                selector.register(each, selectors.EVENT_READ, place)
            while not self._over.is_set():
                for key, _ in selector.select(0.2):
                    content = self._sockets[key.data].recv(1 << 20)
                    now = time.time()
                    versions = _VERSION.findall(content)
                    if versions:
                        self._read[key.data].append((rv_of(int(versions[-1])), now))

    def behind(self, commits: CommitClock) -> Iterator[float]:
        """How long after the database each watcher had what it read last, for all it read."""
        for read in self._read:
            if not read or read[-1][0] != max(rv for each in self._read for rv, _ in each[-1:]):
                raise ServiceProblem("a watcher has not been told of the last change")
            yield from (now - commits.seen(rv) for rv, now in read)


def _listing(service: RunningService) -> Promise:
    name = f"bench-{time.time_ns() // 1_000_000}"
    cluster_id = int(service.client.post("/api/clusters", {"name": name, "lifecycle_mode": "frozen"})["id"])
    pods = [_pod(f"listed-{place}", schedulerName="nobody") for place in range(LISTED)]
    for at in range(0, LISTED, 1_000):
        service.client.call("POST", f"/api/clusters/{cluster_id}/objects", json.dumps(pods[at : at + 1_000]).encode())
    api = _Api(service, name)
    connection = api.connection()
    api.ask(connection, "GET", f"{_PODS}?limit=1")
    started = time.monotonic()
    found, token = 0, ""
    while True:
        page = api.ask(connection, "GET", f"{_PODS}?limit={PAGE}&continue={token}")
        read = msgspec.json.decode(page)
        found += len(read["items"])
        token = read["metadata"].get("continue", "")
        if not token:
            break
    seconds = time.monotonic() - started
    connection.close()
    service.client.call("DELETE", f"/api/clusters/{cluster_id}")
    if found != LISTED:
        raise ServiceProblem(f"{found} of {LISTED} pods were listed")
    text = f"{LISTED:,} pods listed in pages of {PAGE} in {seconds:.1f} s, target under {LISTED_SECONDS:.0f}"
    return Promise("kube-api list", text, {"seconds": seconds}, seconds < LISTED_SECONDS)
