"""A frozen store answers as the store it was taken from answered then, in lists, pages and objects."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any

import pytest

from scheduler_core.apiserver.frozen import FrozenStore
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import Bind, Delete, ObjectKey, Patch
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import History, key_of
from scheduler_core.apiserver.watch import Watch
from scheduler_core.errors import CoreError
from tests.core.apiserver.asking import NOW, call, pod, send

PODS = "/api/v1/pods"
LISTS: tuple[tuple[str, dict[str, str]], ...] = (
    (PODS, {}),
    ("/api/v1/namespaces/a/pods", {}),
    (PODS, {"labelSelector": "app=x"}),
    (PODS, {"fieldSelector": "spec.nodeName=n1"}),
    (PODS, {"limit": "1"}),
    (PODS, {"limit": "2", "labelSelector": "app=x"}),
    (PODS, {"resourceVersion": "0", "limit": "2"}),
    ("/api/v1/nodes", {}),
    ("/api/v1/namespaces/a/pods/p1", {}),
)


def bodies(server: ApiServer[History], path: str, query: dict[str, str]) -> list[Any]:
    """The answer, and those of the pages that follow it."""
    found = []
    while True:
        reply = send(server, "GET", path, **query)
        assert isinstance(reply, Reply)
        found.append(reply.body)
        token = (reply.body.get("metadata") or {}).get("continue")
        if not token:
            return found
        query = {**query, "continue": token}


def lived() -> tuple[ApiServer[MemoryStore], list[tuple[FrozenStore, list[list[Any]]]]]:
    """A server to which much happened, and what it answered on the way beside its store as it was."""
    draws = Random(7)
    server = ApiServer(MemoryStore(keeps_history=True), lambda: str(uuid.UUID(int=draws.getrandbits(128))))
    seen = []
    for number in range(90):
        key = ObjectKey("Pod", draws.choice("ab-"), f"p{draws.randrange(6)}")
        labels = {"app": draws.choice("xy")}
        server.carry_out(
            [
                draws.choice(
                    [
                        pod(key.name, metadata={"namespace": key.namespace, "labels": labels}),
                        pod(key.name, metadata={"namespace": key.namespace, "labels": labels}),
                        Bind(key, "n1"),
                        Patch(key, {"metadata": {"labels": labels}}),
                        Delete(key, 0),
                    ]
                )
            ],
            NOW,
        )
        if number % 3 == 0:
            objects = {key_of(each): each for each in server.store.list("Pod", "Node")}
            frozen = FrozenStore(server.store.position(), objects)
            seen.append((frozen, [bodies(server, path, query) for path, query in LISTS]))
    return server, seen


def test_everything_is_answered_as_it_was_then() -> None:
    _, seen = lived()
    for frozen, answered in seen:
        again = ApiServer(frozen, str)
        assert [bodies(again, path, query) for path, query in LISTS] == answered
    assert max(len(pages) for _, answered in seen for pages in answered) > 2


def test_a_watch_tells_what_there_was_and_nothing_more() -> None:
    _, seen = lived()
    frozen, answered = seen[-1]
    names = [each["metadata"]["name"] for each in answered[0][0]["items"]]
    again = ApiServer(frozen, str)
    started = call(again, "GET", PODS, watch="1")
    assert isinstance(started, Watch)
    assert [(each.type, each.manifest["metadata"]["name"]) for each in started.initial] == [
        ("ADDED", one) for one in names
    ]
    version = str(frozen.position())
    after = call(again, "GET", PODS, watch="1", resourceVersion=version)
    assert isinstance(after, Watch) and not after.initial
    assert list(frozen.logged_after("Pod", after.position)) == []
    before = call(again, "GET", PODS, watch="1", resourceVersion="1")
    assert before.is_over and before.initial[0].manifest["code"] == 410


def test_other_versions_are_not_kept() -> None:
    _, seen = lived()
    frozen, _ = seen[-1]
    again = ApiServer(frozen, str)
    exact = call(again, "GET", PODS, resourceVersion="1", resourceVersionMatch="Exact")
    assert (exact.code, exact.body["reason"]) == (410, "Expired")
    assert call(again, "GET", PODS, resourceVersion=str(frozen.position() + 1)).code == 504
    assert call(again, "GET", PODS, resourceVersion="1").code == 200


def test_nothing_is_written() -> None:
    frozen = FrozenStore(1, {})
    with pytest.raises(CoreError):
        ApiServer(frozen, str).carry_out([pod()], NOW)
    with pytest.raises(CoreError):
        frozen.commit([], NOW)
    with pytest.raises(CoreError):
        frozen.version_of(2)
