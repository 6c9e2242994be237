"""Calls that are answered together: each as it would be alone, all with one commit."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.bodies import Body
from scheduler_core.apiserver.calls import Call, answer, answer_together
from scheduler_core.apiserver.grouping import object_of
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import ObjectKey, PatchType
from scheduler_core.apiserver.server import ApiServer
from tests.cases import cases
from tests.core.apiserver.asking import NOW

PODS = "/api/v1/namespaces/default/pods"
SPEC = {"containers": [{"name": "c", "image": "i:1"}]}


def creation(name: str, **metadata: Any) -> Call:
    return Call("POST", PODS, body=Body({"metadata": {"name": name, **metadata}, "spec": SPEC}))


def patch(name: str, body: dict[str, Any], subresource: str = "") -> Call:
    return Call("PATCH", f"{PODS}/{name}{subresource}", {}, Body(body), PatchType.MERGE)


def version(reply: Reply) -> int:
    return int(reply.body["metadata"]["resourceVersion"])


def test_each_has_its_own_answer_and_version_and_one_commit_writes_all(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[int] = []
    commit = server.store.commit

    def counted(changes: Any, now: int) -> int:
        commits.append(len(changes))
        return int(commit(changes, now))

    monkeypatch.setattr(server.store, "commit", counted)
    first, again, second, wrong = answer_together(
        server, [creation("a"), creation("a"), creation("b"), creation("Not a name")], NOW
    )
    assert [each.code for each in (first, again, second, wrong)] == [201, 409, 201, 422]
    assert (version(first) + 1, commits) == (version(second), [2])
    assert again.body["reason"] == "AlreadyExists"
    for reply in (first, second):
        stored = server.store.get(ObjectKey("Pod", "default", reply.body["metadata"]["name"]))
        assert stored == reply.body


def test_what_cannot_be_read_is_refused_and_the_rest_carried_out(server: ApiServer) -> None:
    odd = Call("POST", PODS, body=Body({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}))
    refused, made = answer_together(server, [odd, creation("a")], NOW)
    assert (refused.code, made.code) == (400, 201)


def test_nothing_is_committed_when_all_are_refused(server: ApiServer) -> None:
    before = server.store.position()
    replies = answer_together(server, [patch("a", {}), patch("b", {})], NOW)
    assert ([reply.code for reply in replies], server.store.position()) == ([404, 404], before)


def test_they_are_answered_as_each_alone(server: ApiServer) -> None:
    alone = answer(server, creation("alone", labels={"a": "b"}), NOW)
    together, _ = answer_together(server, [creation("together", labels={"a": "b"}), creation("other")], NOW)
    assert isinstance(alone, Reply)

    def plain(reply: Reply) -> dict[str, Any]:
        body = dict(reply.body)
        hidden = ("name", "uid", "resourceVersion")
        body["metadata"] = {name: value for name, value in body["metadata"].items() if name not in hidden}
        return {"code": reply.code, "warnings": reply.warnings, "body": body}

    assert plain(alone) == plain(together)


@cases(
    "call, want",
    ("a creation has no name yet", creation("a"), ObjectKey("Pod", "default", "")),
    ("a patch", patch("a", {}), ObjectKey("Pod", "default", "a")),
    ("a patch of the status, alike", patch("a", {}, "/status"), ObjectKey("Pod", "default", "a")),
    ("a deletion", Call("DELETE", f"{PODS}/a"), ObjectKey("Pod", "default", "a")),
    ("a deletion of many", Call("DELETE", PODS), None),
    ("a dry run in the address", Call("POST", PODS, {"dryRun": ["All"]}), None),
    ("a dry run in the body", Call("DELETE", f"{PODS}/a", body=Body({"dryRun": ["All"]})), None),
    ("an eviction, which asks for budgets", Call("POST", f"{PODS}/a/eviction"), None),
    ("a namespace, which others look at", Call("POST", "/api/v1/namespaces"), None),
    ("an event, of another store", Call("POST", "/api/v1/namespaces/default/events"), None),
    ("a binding whose body names the pod", Call("POST", "/api/v1/namespaces/default/bindings"), None),
    ("a read", Call("GET", f"{PODS}/a"), None),
    ("a place that is not there", Call("POST", "/api/v1/nowhere"), None),
)
def test_what_goes_together(call: Call, want: ObjectKey | None) -> None:
    assert object_of(call) == want
