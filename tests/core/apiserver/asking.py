"""Requests as the suite of rules makes them, and what it expects of answers."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping
from typing import Any

from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.bodies import Body
from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import Create, ObjectKey, PatchType, Request
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.watch import Watch
from tests.builders import written

NOW = 1_893_456_000_700_000  # 2030-01-01T00:00:00.7Z
SECOND = 1_000_000
POD = ObjectKey("Pod", "default", "p")
CLASS = ObjectKey("PriorityClass", "", "high")
CLAIM = ObjectKey("PersistentVolumeClaim", "default", "data")
UNSCHEDULABLE = ("False", "Unschedulable", "1 node")

Manifest = dict[str, Any]


def pod(name: str = "p", *, metadata: Mapping[str, Any] = {}, **spec: Any) -> Create:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    return Create(written("Pod", name, metadata={**metadata}, spec={"containers": containers, **spec}))


def priority_class(**metadata: Any) -> Create:
    return Create(written("PriorityClass", "high", metadata=metadata, value=1000))


def claim() -> Create:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return Create(written("PersistentVolumeClaim", "data", spec=spec))


def done(server: ApiServer, request: Request, now: int = NOW) -> Outcome:
    """The outcome of a request that is not refused."""
    (answer,) = server.carry_out([request], now)
    assert isinstance(answer, Outcome), answer
    return answer


def made(server: ApiServer, request: Request, now: int = NOW) -> Manifest:
    """The object that a request is answered with."""
    answer = done(server, request, now).answer
    assert isinstance(answer, dict)
    return answer


def refused(server: ApiServer, request: Request, now: int = NOW) -> Status:
    """Why a request is refused; it changed nothing."""
    (answer,) = server.carry_out([request], now)
    assert isinstance(answer, Refused), answer
    return answer.status


def stored(server: ApiServer, key: ObjectKey = POD) -> Manifest:
    found = server.store.get(key)
    assert found is not None
    return found


def empty_server(*, keeps_history: bool = False, **options: Any) -> ApiServer[MemoryStore]:
    """A server over an empty store in memory."""
    numbers = itertools.count(1)
    store = MemoryStore(keeps_history=keeps_history)
    return ApiServer(store, lambda: str(uuid.UUID(int=next(numbers) << 64)), **options)


def call(
    server: ApiServer, method: str, path: str, body: Any = None, patch_type: PatchType = PatchType.MERGE, **query: str
) -> Reply | Watch:
    """What the Kubernetes API answers."""
    values = {name: [value] for name, value in query.items()}
    return answer(server, Call(method, path, values, Body(body), patch_type), NOW)


def send(server: ApiServer, method: str, path: str, *body: Any, **more: Any) -> Reply:
    """The same for requests that are no watches."""
    reply = call(server, method, path, *body, **more)
    assert isinstance(reply, Reply)
    return reply


def ask(server: ApiServer, method: str, kind: str, body: Any, name: str = "", part: str = "") -> Reply:
    found = KINDS[kind]
    root = f"/apis/{found.cls.api_version}" if found.group else "/api/v1"
    space = "/namespaces/default" if found.namespaced else ""
    path = f"{root}{space}/{found.cls.plural}" + (f"/{name}" if name else "") + (f"/{part}" if part else "")
    return send(server, method, path, body)


def make(server: ApiServer, kind: str, **parts: Any) -> None:
    reply = ask(server, "POST", kind, {"metadata": {"name": "x"}, **parts})
    assert reply.code == 201, reply.body


def problems(reply: Reply) -> list[str]:
    """What is refused: each cause as the message has it."""
    if reply.code < 300:
        return []
    causes = reply.body["details"]["causes"]
    texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
    shown = ", ".join(dict.fromkeys(texts))
    assert reply.body["message"].endswith(f" is invalid: {f'[{shown}]' if len(set(texts)) > 1 else shown}")
    return texts
