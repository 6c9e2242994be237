"""Web processes that are killed, watchers that do not read, clients with too many watches.

Nothing that was answered is lost, and nothing is told twice or left out.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from kschedweb.accounts import services as account_services
from kschedweb.accounts.choices import Role
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Change
from kschedweb.cluster.versions import rv_of, version_of
from tests.waiting import HANG_SECONDS, eventually, joined
from tests.web import tcp
from tests.web.kubeapi.test_python_client import Informer
from tests.web.kubeapi.test_watch import commit

pytestmark = pytest.mark.django_db

NAMESPACE = "default"
CREATORS = 10
WRITERS = 3
SPEC = {"schedulerName": "nobody", "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i:1"}]}
MAPS = "/api/v1/namespaces/default/configmaps"
# A web process like any other, with little room for those who want too much.
NARROW = """
from kschedweb import asgi
from kschedweb.kubeapi import application, watching
from kschedweb.ops import web
watching.QUEUE_ENTRIES, application.WATCHES = 20, 2
web.main()
"""
NARROW_IN_BYTES = NARROW.replace("QUEUE_ENTRIES", "QUEUE_BYTES").replace("20,", "4_000_000,")


@dataclass
class Service:
    """A web process that can be killed and started again at the same address."""

    folder: Path
    cluster_id: int
    token: str
    port: int

    def start(self, *words: str) -> Any:
        environment = {"KSCHED_HTTPS": "0", "KSCHED_DATABASE_POOL": "8"}
        return tcp.web_process(self.folder, port=self.port, **({"words": words} if words else {}), **environment)  # type: ignore[arg-type]

    def core(self) -> client.CoreV1Api:
        configuration = client.Configuration(host=f"http://127.0.0.1:{self.port}/k8s/cut")
        configuration.api_key = {"authorization": f"Bearer {self.token}"}
        configuration.retries = False
        return client.CoreV1Api(client.ApiClient(configuration))

    def logged(self, kind: str, after: int = 0) -> list[tuple[int, str, str, str]]:
        """(version, name, uid, operation) of the changes after a version."""
        commit()
        found = Change.objects.filter(cluster_id=self.cluster_id, kind=kind, rv__gt=rv_of(after)).order_by("rv")
        rows = found.values_list("rv", "name", "uid", "operation")
        return [(version_of(rv), name, uid, operation) for rv, name, uid, operation in rows]


@pytest.fixture
def service(committed: None, tmp_path: Path) -> Iterator[Service]:
    cluster = cluster_services.cluster_create(name="cut")
    user = User.objects.create(username="cut", is_superuser=True)
    _, token = account_services.token_create(user=user, name="t", max_role=Role.ADMIN, days=1, actor="cut")
    commit()
    yield Service(tmp_path, cluster.pk, token, tcp.free_port())
    cluster_services.cluster_delete(cluster_id=cluster.pk)
    user.delete()
    commit()


def kill(web: tcp.Web) -> None:
    os.kill(web.pid, signal.SIGKILL)
    eventually(lambda: not web.answers())


def insist(ask: Callable[[], Any], done_already: int) -> None:
    """Ask until there is an answer; after a connection that was cut, this status says that it was done before."""
    was_cut = False
    for _ in range(int(HANG_SECONDS * 10)):
        try:
            ask()
            return
        except HTTPError:
            was_cut = True
            time.sleep(0.1)
        except ApiException as error:
            assert was_cut and error.status == done_already, error
            return
    raise AssertionError("there is no answer")


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": SPEC}


def test_what_was_answered_before_a_kill_is_there_once(service: Service) -> None:
    names = [f"k-{number}" for number in range(80)]
    answered: dict[str, tuple[str, int]] = {}
    enough, over = threading.Event(), threading.Event()

    def create(place: int) -> None:
        core = service.core()
        for name in names[place::CREATORS]:
            try:
                made = core.create_namespaced_pod(NAMESPACE, pod(name)).metadata
            except (HTTPError, ApiException):
                assert over.is_set() or enough.is_set()
                return
            answered[name] = made.uid, int(made.resource_version)
            if len(answered) >= len(names) // 4:
                enough.set()

    with service.start() as web, ThreadPoolExecutor(CREATORS) as threads:
        creators = [threads.submit(create, place) for place in range(CREATORS)]
        assert enough.wait(HANG_SECONDS)
        kill(web)
        over.set()
        for each in creators:
            each.result(HANG_SECONDS)
    assert len(names) // 4 <= len(answered) < len(names)
    created = service.logged("Pod")
    assert {name: (uid, rv) for rv, name, uid, _ in created if name in answered} == answered
    assert len({name for _, name, _, _ in created}) == len(created)
    with service.start():
        core = service.core()
        for name in names:  # what nobody was told of may be there or not, and a client asks again
            if name not in answered:
                try:
                    core.create_namespaced_pod(NAMESPACE, pod(name))
                except ApiException as error:
                    assert error.status == 409
        found = core.list_namespaced_pod(NAMESPACE).items
    assert sorted(item.metadata.name for item in found) == sorted(names)
    assert {item.metadata.name: item.metadata.uid for item in found}.items() >= {
        n: a[0] for n, a in answered.items()
    }.items()
    rows = Change.objects.filter(cluster_id=service.cluster_id).order_by("rv").values_list("rv", flat=True)
    assert list(rows) == list(range(rows[0], rows[0] + len(rows))), "the log has a hole"


@pytest.mark.parametrize("changes", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_informer_sees_every_pod_change_once_although_the_service_dies(service: Service, changes: int) -> None:
    pods = changes // 3 // WRITERS
    half = threading.Barrier(WRITERS + 1)

    def write(writer: int) -> None:
        """Make, bind and take away pods."""
        core = service.core()
        for number in range(pods):
            if number == pods // 2:
                half.wait(300)
            name = f"i{writer}-{number}"
            target = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}}
            insist(lambda: core.create_namespaced_pod(NAMESPACE, pod(name)), 409)  # noqa: B023
            insist(lambda: core.create_namespaced_pod_binding(name, NAMESPACE, target, _preload_content=False), 409)  # noqa: B023
            insist(lambda: core.delete_namespaced_pod(name, NAMESPACE, grace_period_seconds=0), 404)  # noqa: B023

    informer = Informer(service.core().list_namespaced_pod, watch_seconds=2, label_selector="")
    reader = threading.Thread(target=informer.run)
    with ThreadPoolExecutor(WRITERS) as threads:
        with service.start() as web:
            reader.start()
            assert informer.listed.wait(HANG_SECONDS)
            writers = [threads.submit(write, writer) for writer in range(WRITERS)]
            half.wait(300)
            kill(web)
        with service.start():
            for each in writers:
                each.result(600)
            want = [rv for rv, *_ in service.logged("Pod")]
            eventually(lambda: len(informer.versions) >= len(want) or not reader.is_alive())
            informer.ended.set()
            joined(reader)
    assert informer.versions == want and len(want) >= pods * WRITERS * 3
    assert informer.objects == {} and informer.lists == 1 and informer.cuts >= 1


class Stream:
    """A watch whose answer is read only when one wants to."""

    def __init__(self, service: Service, position: int, *, seconds: int = 600) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(HANG_SECONDS)
        self._socket.connect(("127.0.0.1", service.port))
        query = f"{MAPS}?watch=1&resourceVersion={position}&timeoutSeconds={seconds}"
        head = f"GET /k8s/cut{query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.token}\r\n\r\n"
        self._socket.sendall(head.encode())

    def read(self) -> http.client.HTTPResponse:
        response = http.client.HTTPResponse(self._socket)
        response.begin()
        return response

    def versions(self) -> list[int]:
        """What is told until the end."""
        with self.read() as response:
            lines = response.read().splitlines()
        return [int(json.loads(line)["object"]["metadata"]["resourceVersion"]) for line in lines]

    def close(self) -> None:
        self._socket.close()


@pytest.mark.parametrize(
    "narrow", [pytest.param(NARROW, id="entries"), pytest.param(NARROW_IN_BYTES, id="bytes", marks=pytest.mark.slow)]
)
def test_watcher_that_does_not_read_is_cut_and_goes_on_where_it_was(service: Service, narrow: str) -> None:
    large = "x" * 200_000
    with service.start("-c", narrow) as web:
        core = service.core()
        position = int(core.list_namespaced_config_map(NAMESPACE).metadata.resource_version)
        stream = Stream(service, position)
        for number in itertools.count():
            data = {"n": str(number), "large": large}
            name = f"m{number}-{position}"
            core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": name}, "data": data})
            if "too slow" in web.log():
                break
            assert number < 400, "the service keeps everything for who does not read"
        told = stream.versions()
        stream.close()
        want = [rv for rv, *_ in service.logged("ConfigMap", position)]
        assert told == want[: len(told)] and 0 < len(told) < len(want)
        rest = Stream(service, told[-1], seconds=1)
        assert told + rest.versions() == want
        rest.close()


def test_too_many_watches_are_429_until_one_ends(service: Service) -> None:
    with service.start("-c", NARROW):
        core = service.core()
        position = int(core.list_namespaced_config_map(NAMESPACE).metadata.resource_version)
        streams = [Stream(service, position) for _ in range(2)]
        assert [stream.read().status for stream in streams] == [200, 200]
        with pytest.raises(ApiException) as refused:
            core.list_namespaced_config_map(NAMESPACE, watch=True, timeout_seconds=1, _preload_content=False)
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "1")
        streams[0].close()
        eventually(lambda: watches(core))
        streams[1].close()


def watches(core: client.CoreV1Api) -> bool:
    """Whether one more watch begins."""
    try:
        core.list_namespaced_config_map(NAMESPACE, watch=True, timeout_seconds=1, _preload_content=False)
    except ApiException as error:
        assert error.status == 429
        return False
    return True
