"""The cluster that the mirror's benchmark follows speaks as an API server does."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tools.bench.elsewhere.server import TOKEN, Life, Server, Store, filled, serving

PODS = "/api/v1/pods"


@pytest.fixture
def store() -> Store:
    return filled(4, 30)


@pytest.fixture
def port(store: Store) -> Iterator[int]:
    with serving(Server(store, Life(store, 4, 30))) as found:
        yield found


def ask(port: int, path: str, token: str = TOKEN) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    lines = [json.loads(line) for line in answer.read().splitlines()]
    connection.close()
    return answer.status, lines[0] if len(lines) == 1 else lines


def test_pages_are_of_one_moment(port: int, store: Store) -> None:
    status, first = ask(port, f"{PODS}?limit=20")
    assert status == 200 and len(first["items"]) == 20 and first["metadata"]["remainingItemCount"] == 10
    changes = Life(store, 4, 30).changes()
    next(changes)
    next(changes)
    status, second = ask(port, f"{PODS}?limit=20&continue={first['metadata']['continue']}")
    assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}
    listed = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in first["items"] + second["items"]]
    assert len(listed) == 30 and listed == sorted(listed)


def test_unknown_token_of_a_page_and_a_forgotten_version_are_gone(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(port, f"{PODS}?limit=5&continue=nothing.5")[1]["reason"] == "Expired"
    monkeypatch.setattr(Store, "remembers", lambda *_: False)
    assert ask(port, f"{PODS}?watch=1&resourceVersion=5")[0] == 410


def test_watch_tells_every_change_after_a_version_once(port: int, store: Store) -> None:
    version = ask(port, f"{PODS}?limit=1")[1]["metadata"]["resourceVersion"]
    changes = Life(store, 4, 30).changes()
    for _ in range(6):  # a pod's deletion, creation, binding and start, a node's report, a deletion
        next(changes)
    _, events = ask(port, f"{PODS}?watch=1&resourceVersion={version}&timeoutSeconds=1")
    assert [each["type"] for each in events] == ["DELETED", "ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in events]
    assert versions == sorted(set(versions)) and events[2]["object"]["spec"]["nodeName"]


def test_watch_without_changes_sends_bookmarks(port: int, monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    monkeypatch.setattr("tools.bench.elsewhere.server.BOOKMARK_SECONDS", 0.5)
    _, event = ask(port, f"{PODS}?watch=1&resourceVersion={store.version}&allowWatchBookmarks=true&timeoutSeconds=3")
    told = event[0] if isinstance(event, list) else event
    assert told["type"] == "BOOKMARK" and told["object"]["metadata"]["resourceVersion"] == str(store.version)


def test_stranger_and_unknown_paths_are_refused(port: int) -> None:
    assert ask(port, PODS, token="x")[0] == 401
    assert ask(port, "/api/v1/secrets")[0] == 404
