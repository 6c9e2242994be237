"""Pods that arrive at a steady rate and are deleted after some seconds, so that about as many go as come.

Each lot of pods has a namespace to itself, which is emptied by one request: nothing has to be searched for. Namespaces
are used again, long after they were emptied. Where pods are deleted more slowly than they are sent, sending waits: the
cluster is to stay as large as it is.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import threading
import time
from queue import Empty, Full, Queue
from typing import Any

from tools.bench import objects
from tools.bench.running import RunningService, ServiceProblem

INTERVAL_SECONDS = 0.25  # between two lots
LIVES_SECONDS = 10.0  # a pod
LOTS = round(LIVES_SECONDS / INTERVAL_SECONDS)  # that are there at a time
NAMESPACES = 2 * LOTS
TIMEOUT_SECONDS = 120.0
_AT_ONCE = json.dumps({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}).encode()


def namespaces() -> list[dict[str, Any]]:
    """What the cluster has to have before pods arrive."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _namespace(lot)}} for lot in range(NAMESPACES)
    ]


class Arriving:
    """Sends pods and deletes them, from threads of its own; a context manager, whose end ends both."""

    def __init__(self, service: RunningService, name: str, cluster_id: int, rate: float) -> None:
        self._service, self._name, self._cluster_id = service, name, cluster_id
        self._pods_of_lot = round(rate * INTERVAL_SECONDS)
        self._going: Queue[tuple[int, float]] = Queue(LOTS)  # lots, and when they are to be deleted
        self._over = threading.Event()
        self._problem = ""
        self._threads = [threading.Thread(target=self._guarded, args=(work,)) for work in (self._send, self._delete)]
        self.sent = 0

    def __enter__(self) -> Arriving:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def check(self) -> None:
        """ServiceProblem when pods do not come or go any more."""
        if self._problem:
            raise ServiceProblem(self._problem)

    def _guarded(self, work: Any) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._service.port, timeout=TIMEOUT_SECONDS)
        try:
            work(connection)
        except (OSError, http.client.HTTPException, ServiceProblem) as problem:
            self._problem = f"pods do not come and go any more: {problem!r}"
            self._over.set()
        finally:
            connection.close()

    def _send(self, connection: http.client.HTTPConnection) -> None:
        due = time.monotonic()
        for lot in itertools.count():
            if self._over.wait(max(0.0, due - time.monotonic())):
                return
            due = max(due + INTERVAL_SECONDS, time.monotonic())  # what could not be sent in time is not made up for
            first = lot * self._pods_of_lot
            pods = [objects.pending_pod(number, prefix="new") for number in range(first, first + self._pods_of_lot)]
            for pod in pods:
                pod["metadata"]["namespace"] = _namespace(lot)
            self._ask(connection, "POST", f"/api/clusters/{self._cluster_id}/objects", json.dumps(pods).encode())
            self.sent += len(pods)
            self._put(lot, time.monotonic() + LIVES_SECONDS)

    def _put(self, lot: int, due: float) -> None:
        while not self._over.is_set():
            with contextlib.suppress(Full):
                self._going.put((lot, due), timeout=INTERVAL_SECONDS)
                return

    def _delete(self, connection: http.client.HTTPConnection) -> None:
        while not self._over.is_set():
            try:
                lot, due = self._going.get(timeout=INTERVAL_SECONDS)
            except Empty:
                continue
            if self._over.wait(max(0.0, due - time.monotonic())):
                return
            path = f"/k8s/{self._name}/api/v1/namespaces/{_namespace(lot)}/pods"
            self._ask(connection, "DELETE", path, _AT_ONCE)

    def _ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes) -> None:
        headers = {"Authorization": f"Bearer {self._service.token}", "Content-Type": "application/json"}
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        text = response.read()
        if response.status >= 400:
            raise ServiceProblem(f"{method} {path}: {response.status} {text[:300]!r}")


def _namespace(lot: int) -> str:
    return f"arriving-{lot % NAMESPACES:03d}"
