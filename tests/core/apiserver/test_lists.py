"""A list that goes on after what its pages were of is not known any more: it is refused, with a way to go on."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import Delete, ObjectKey
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver.asking import NOW, pod

PODS = "/api/v1/namespaces/default/pods"


class CutStore(MemoryStore):
    """A store that forgets what was before a position."""

    def __init__(self) -> None:
        super().__init__(keeps_history=True)
        self.oldest = 0

    def oldest_position(self) -> int:
        return self.oldest


@pytest.fixture
def server() -> ApiServer[CutStore]:
    numbers = iter(range(1, 1000))
    made = ApiServer(CutStore(), lambda: f"00000000-0000-0000-0000-{next(numbers):012d}")
    made.carry_out([pod(name, metadata={"namespace": "default"}) for name in "bdfhj"], NOW)
    return made


def asked(server: ApiServer[CutStore], path: str = PODS, **query: str) -> dict[str, Any]:
    reply = answer(server, Call("GET", path, {name: [value] for name, value in query.items()}), NOW)
    assert isinstance(reply, Reply)
    return dict(reply.body)


def names(page: dict[str, Any]) -> list[str]:
    return [each["metadata"]["name"] for each in page["items"]]


def begun_and_cut(server: ApiServer[CutStore], path: str = PODS) -> str:
    """The token of a list whose first page had `b` and `d`, and whose moment is forgotten."""
    first = asked(server, path, limit="2")
    assert names(first) == ["b", "d"]
    key = ObjectKey("Pod", "default", "f")
    server.carry_out([*(pod(name, metadata={"namespace": "default"}) for name in "agz"), Delete(key, 0)], NOW)
    server.store.oldest = server.store.position()
    return str(first["metadata"]["continue"])


@pytest.mark.parametrize("path", [PODS, "/api/v1/pods"])
def test_the_refusal_tells_how_to_go_on(server: ApiServer[CutStore], path: str) -> None:
    token = begun_and_cut(server, path)
    refused = asked(server, path, limit="2", **{"continue": token})
    assert (refused["kind"], refused["code"], refused["reason"]) == ("Status", 410, "Expired")
    assert refused["message"].startswith("The provided continue parameter is too old to display a consistent list")
    assert refused["message"].endswith("between the time the first chunk was returned and now may show up in the list.")
    position = server.store.position()
    second = asked(server, path, limit="2", **{"continue": refused["metadata"]["continue"]})
    assert names(second) == ["g", "h"] and second["metadata"]["resourceVersion"] == str(position)
    assert second["metadata"]["remainingItemCount"] == 2
    # From there on it is a consistent list of that moment.
    server.carry_out([pod("y", metadata={"namespace": "default"})], NOW)
    third = asked(server, path, **{"continue": second["metadata"]["continue"]})
    assert names(third) == ["j", "z"] and third["metadata"]["resourceVersion"] == str(position)


def test_without_a_token_there_is_nothing_to_go_on_with(server: ApiServer[CutStore]) -> None:
    begun_and_cut(server)
    refused = asked(server, resourceVersion="1", resourceVersionMatch="Exact")
    assert (refused["code"], refused["reason"], refused["metadata"]) == (410, "Expired", {})
    assert refused["message"] == "The resourceVersion for the provided list is too old."


def test_a_token_of_no_moment_is_none(server: ApiServer[CutStore]) -> None:
    content = json.dumps({"v": "meta.k8s.io/v1", "rv": 0, "start": "default/b"}).encode()
    refused = asked(server, **{"continue": base64.urlsafe_b64encode(content).decode().rstrip("=")})
    assert refused["code"] == 400 and "incorrect encoded start resourceVersion" in refused["message"]
