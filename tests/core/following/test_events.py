"""Lines of watches become objects as they are stored, in the order in which they happened."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.following.events import BrokenEventError, Failed, Reached, Seen, in_order, read_event, read_item
from tests.cases import cases


def _pod(version: str = "5", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": "d", "uid": "u", "resourceVersion": version, **metadata}, "spec": {}}


@pytest.mark.parametrize(("type_", "is_deleted"), [("ADDED", False), ("MODIFIED", False), ("DELETED", True)])
def test_object_keeps_its_uid_and_loses_what_only_its_store_knows(type_: str, is_deleted: bool) -> None:
    event = {"type": type_, "object": _pod(managedFields=[{"manager": "kubelet"}], labels={"a": "b"})}
    seen = read_event(event, "Pod", "v1")
    assert isinstance(seen, Seen)
    assert (seen.is_deleted, seen.version, seen.key) == (is_deleted, "5", ("Pod", "d", "a"))
    assert seen.manifest == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "d", "uid": "u", "labels": {"a": "b"}},
        "spec": {},
    }


def test_items_of_lists_get_their_kind() -> None:
    assert read_item(_pod(), "Pod", "v1").manifest["kind"] == "Pod"


def test_bookmark_and_error_are_no_objects() -> None:
    assert read_event({"type": "BOOKMARK", "object": _pod("9")}, "Pod", "v1") == Reached("9")
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    assert read_event({"type": "ERROR", "object": status}, "Pod", "v1") == Failed(410, "too old resource version")


@cases(
    "event",
    ("no object", []),
    ("nothing in it", {"type": "ADDED"}),
    ("no version", {"type": "ADDED", "object": {"metadata": {"name": "a", "uid": "u"}}}),
    ("unknown type", {"type": "RENAMED", "object": _pod()}),
    ("no uid", {"type": "ADDED", "object": _pod(uid="")}),
    ("no name", {"type": "ADDED", "object": _pod(name=None)}),
)
def test_line_that_cannot_be_understood_is_an_error(event: Any) -> None:
    with pytest.raises(BrokenEventError):
        read_event(event, "Pod", "v1")


def _seen(version: str) -> Seen:
    return read_item(_pod(version), "Pod", "v1")


def test_events_of_several_watches_are_put_in_order() -> None:
    assert [each.version for each in in_order(map(_seen, ["9", "10", "2"]))] == ["2", "9", "10"]


def test_versions_that_are_no_numbers_stay_as_they_came() -> None:
    assert [each.version for each in in_order(map(_seen, ["9", "x", "2"]))] == ["9", "x", "2"]
