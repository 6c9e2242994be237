"""What a session stores of the pages and events that its readers hand over."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.mirror import services
from kschedweb.mirror.session import Page, Session
from scheduler_core.following.events import Seen, read_item
from scheduler_core.following.kinds import Collected

NODES = Collected("Node")


def seen(name: str) -> Seen:
    return read_item({"metadata": {"name": name, "uid": name, "resourceVersion": "1"}}, "Node", "v1")


def test_list_that_begins_anew_forgets_what_the_one_that_broke_off_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an object that vanished between the two would stay for ever."""
    stored: list[set[tuple[str, str]]] = []
    monkeypatch.setattr(services, "batch_store", lambda **_: None)
    monkeypatch.setattr(services, "listed_store", lambda **told: stored.append(told["listed"]))
    nothing: Any = None
    session = Session(nothing, nothing)
    for page in (
        Page(NODES, [seen("a"), seen("vanished")], is_first=True, version=""),
        Page(NODES, [seen("a")], is_first=True, version=""),
        Page(NODES, [seen("b")], is_first=False, version="7"),
    ):
        session._store_page(page)
    assert stored == [{("", "a"), ("", "b")}]
