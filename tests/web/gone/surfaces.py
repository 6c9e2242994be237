"""What people and programs read a cluster through: REST, frames for browsers, the Kubernetes API."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from django.contrib.auth.models import User

from kschedweb.accounts import services as account_services
from kschedweb.accounts.choices import Role
from kschedweb.asgi import Logs
from kschedweb.kubeapi import answering, event_history, watching
from kschedweb.kubeapi.application import KubeApi
from kschedweb.live import feed as live
from kschedweb.scheduling.runner import bindings
from kschedweb.views import Cursor
from tests.web.accounts.table import CLUSTER, ROWS, Row, World
from tests.web.gone.stage import BIG, GONE, NODE, Reader, Stage, pod
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import lead

_serial = itertools.count(1)
LOOKS = 3  # of a reader that follows, until it is enough
_threads = ThreadPoolExecutor(1, thread_name_prefix="surface")  # with the one connection of what is read in threads


def close() -> None:
    """End the thread with its connection."""
    from django.db import connections

    _threads.submit(connections.close_all).result()


def _scheduled(stage: Stage) -> None:
    """A pod that runs and one for which there is no room."""
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    stage.put(named, NODE, pod("p1"), BIG)
    host = lead(stage.cluster)
    host.step()
    bindings.bindings_run(stage.pk)
    host.step()


def rest_reader(row: Row) -> Reader:
    def prepare(stage: Stage) -> Callable[[], object]:
        _scheduled(stage)
        client = logged_in()
        world = World(stage.pk, 0, next(_serial))
        body = b"" if row.body is None else row.body(world)
        sent = body if isinstance(body, bytes) else orjson.dumps(body)
        path = world.path(row.route, **row.values) + row.query

        def ask() -> object:
            answer = client.generic(row.method, path, sent, content_type=row.content_type)
            content = answer.getvalue()
            if answer.status_code == 404 and orjson.loads(content)["message"] == "the cluster does not exist":
                return GONE
            return f"{answer.status_code} "  # what it says of times and durations differs each time

        return ask

    return Reader(f"{row.method} /{row.route}{row.query}", prepare)


def frames(stage: Stage) -> Callable[[], object]:
    """A browser that comes back with a cursor and stays for a while."""
    _scheduled(stage)
    stage.monkeypatch.setattr(live, "FRAME_SECONDS", 0)
    stage.monkeypatch.setattr(live, "LOOK_SECONDS", 0.001)

    async def watch() -> object:
        enough = asyncio.Event()
        loop = asyncio.get_running_loop()
        looks = itertools.count(1)

        class Counted(Logs):
            def read(self, cluster_id: int, after: Cursor, limit: int) -> live.LogRange:
                if next(looks) > LOOKS:
                    loop.call_soon_threadsafe(enough.set)
                return super().read(cluster_id, after, limit)

        told: list[bytes] = []

        async def take(subscription: live.Subscription) -> None:
            async for frame in subscription.frames():
                told.append(frame)

        try:
            async with live.Feed(Counted()).subscribe(stage.pk, Cursor(0, 0)) as subscription:
                taking = asyncio.create_task(take(subscription))
                ending = asyncio.create_task(enough.wait())
                await asyncio.wait((taking, ending), return_when=asyncio.FIRST_COMPLETED)
                ending.cancel()
                if taking.done():
                    taking.result()
                taking.cancel()
        except Exception as error:
            if "does not exist" not in str(error) and type(error).__name__ != "UnknownCluster":
                raise
            return "".join(each.decode() for each in told)
        return "".join(each.decode() for each in told)

    return lambda: asyncio.run(watch())


def kube_reader(method: str, path: str, body: object = None, query: str = "") -> Reader:
    def prepare(stage: Stage) -> Callable[[], object]:
        _scheduled(stage)
        user, _ = User.objects.get_or_create(username="ada", defaults={"is_superuser": True})
        _, token = account_services.token_create(
            user=user, name=f"t{next(_serial)}", max_role=Role.ADMIN, days=1, actor="ada"
        )
        stage.monkeypatch.setattr(watching, "LOOK_SECONDS", 0.001)
        answering._bootstrapped.add(stage.pk)

        async def ask() -> object:
            enough = asyncio.Event()
            loop = asyncio.get_running_loop()
            looks = itertools.count(1)
            with_body = b"" if body is None else orjson.dumps(body)

            def counted(read: Any) -> Any:
                def reading(*given: Any) -> Any:
                    if next(looks) > LOOKS:
                        loop.call_soon_threadsafe(enough.set)
                    return read(*given)

                return reading

            stage.monkeypatch.setattr(watching, "read_range", counted(_READ_RANGE))
            stage.monkeypatch.setattr(event_history, "read_range", counted(_READ_EVENTS))
            api = KubeApi()
            api._threads = _threads
            sent: list[dict[str, Any]] = []
            parts = iter([with_body])

            async def receive() -> dict[str, Any]:
                for part in parts:
                    return {"type": "http.request", "body": part, "more_body": False}
                await enough.wait()
                return {"type": "http.disconnect"}

            async def send(message: dict[str, Any]) -> None:
                sent.append(message)

            if "watch" not in query:
                enough.set()
            headers = [
                (b"authorization", f"Bearer {token}".encode()),
                (b"content-type", b"application/merge-patch+json" if method == "PATCH" else b"application/json"),
            ]
            scope = {
                "type": "http", "method": method, "path": f"/k8s/{stage.cluster.name}{path}",
                "query_string": query.encode(), "headers": headers,
            }  # fmt: skip
            await api(scope, receive, send)  # type: ignore[arg-type]
            status = sent[0]["status"]
            text = b"".join(each.get("body", b"") for each in sent[1:]).decode()
            if status == 404 and ("the cluster does not exist" in text or 'clusters \\"' in text):
                return GONE
            return f"{status} {text}"

        return lambda: asyncio.run(ask())

    return Reader(f"{method} /k8s{path}?{query}", prepare, is_part="watch" in query)


_READ_RANGE, _READ_EVENTS = watching.read_range, event_history.read_range

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
SURFACES = [
    *(rest_reader(row) for row in ROWS if row.route.startswith(CLUSTER) or row.route == "api/forks"),
    Reader("frames", frames, is_part=True),
    kube_reader("GET", PODS),
    kube_reader("GET", PODS, query="limit=1"),
    kube_reader("GET", f"{PODS}/p1"),
    kube_reader("GET", EVENTS),
    kube_reader("GET", PODS, query="watch=1&resourceVersion=1"),
    kube_reader("GET", PODS, query="watch=1"),
    kube_reader("GET", EVENTS, query="watch=1&resourceVersion=1"),
    kube_reader("POST", PODS, pod("new")),
    kube_reader("PATCH", f"{PODS}/p1", {"metadata": {"labels": {"a": "b"}}}),
    kube_reader("DELETE", f"{PODS}/p1"),
    kube_reader("DELETE", PODS),
]
