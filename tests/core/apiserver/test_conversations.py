"""Requests are answered as kube-apiserver 1.34 answers them, beyond what the shared recordings ask.

`conversations.jsonl` has short conversations on an empty cluster, each with what the real server answered: the code,
the warnings, and the object without what differs by the moment, or the message and its causes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.apiserver.bodies import Body
from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver.asking import NOW

Json = dict[str, Any]
CASES = [json.loads(line) for line in (Path(__file__).parent / "conversations.jsonl").read_text().splitlines()]
MOMENTARY = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "clusterIP", "clusterIPs", "nodePort"}
VARYING = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ|[0-9a-f]{8}-[0-9a-f]{4}-[-0-9a-f]{22}")  # times, uids


def lasting(value: Any, *, has_owners: bool = False) -> Any:
    """The value without what differs by the moment; `has_owners`: with who owns its fields."""
    if isinstance(value, dict):
        gone = MOMENTARY - {"managedFields"} if has_owners else MOMENTARY
        return {key: lasting(item, has_owners=has_owners) for key, item in value.items() if key not in gone}
    if isinstance(value, list):
        return [lasting(item, has_owners=has_owners) for item in value]
    return VARYING.sub("*", value) if isinstance(value, str) else value


def told(message: str) -> tuple[str, list[str]]:
    """A message without the order of its parts, which the real server does not keep."""
    head, _, rest = VARYING.sub("*", message).partition(" is invalid: ")
    return head, sorted(rest.strip("[]").split(", "))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_conversation_is_answered_as_by_the_real_server(frozen: ApiServer, case: Json) -> None:
    for step in case["steps"]:
        query = {name: [value] for name, value in step.get("query", {}).items()}
        patch_type = PatchType(step["type"]) if "type" in step else PatchType.MERGE
        call = Call(step["method"], step["path"], query, Body(step.get("body")), patch_type, "recorder")
        reply = answer(frozen, call, NOW)
        assert isinstance(reply, Reply)
        shown = json.loads(json.dumps(reply.body))
        assert reply.code == step["status"], shown
        if reply.code < 300:
            assert list(reply.warnings) == step.get("warnings", [])
        if "object" in step:
            has_owners = case["name"].startswith("owners")
            assert lasting(shown, has_owners=has_owners) == lasting(step["object"], has_owners=has_owners)
        elif "message" in step:
            assert told(shown.get("message", "")) == told(step["message"])
            causes = [f"{one.get('field', '')}: {one['message']}" for one in shown.get("details", {}).get("causes", [])]
            if step["status"] == 422:
                assert sorted(lasting(causes)) == sorted(lasting(step.get("causes", [])))
