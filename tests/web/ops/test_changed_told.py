"""What `./ksched why POD --since ATTEMPT` asks and says."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.ops import explaining
from kschedweb.ops.changed import told_changed
from tests.web.ops.conftest import Command, Service
from tests.web.ops.test_explaining import ATTEMPT

LACKS = {"plugin": "NodeResourcesFit", "code": "Unschedulable", "reasons": ["Insufficient cpu"]}
ROW: dict[str, Any] = {
    "node": "n1", "was_there": True, "is_there": True, "before": None, "after": LACKS, "by": "entry", "rv": 12,
}  # fmt: skip
CHANGED: dict[str, Any] = {
    "seq": 9, "since": 4, "number": 3, "since_number": 1, "rv": 20, "since_rv": 5, "nodes": 7, "changed": 6,
    "rows": [ROW, ROW | {"node": "n2", "is_there": False, "after": None, "rv": None, "by": "assumed"},
             ROW | {"node": "n3", "was_there": False, "rv": None, "by": "configuration"},
             ROW | {"node": "n4", "rv": None, "by": "late"}, ROW | {"node": "n5", "rv": None, "by": "unproven"}],
    "entries": [{"rv": 12, "kind": "Pod", "namespace": "d", "name": "x", "operation": "updated", "actor": "ann",
                 "at": "T", "nodes": 1}],
    "runs": 9, "difference": None,
}  # fmt: skip
LINES = [
    "between its attempts 1 and 3, entries 5 to 20: 6 of 7 nodes changed verdict",
    "entry 12: Pod d/x updated by ann at T: 1 node, proven by two runs",
    "  n1: fits -> NodeResourcesFit: Insufficient cpu",
    "by another version of the configuration:",
    "  n3: no such node -> NodeResourcesFit: Insufficient cpu",
    "by nothing that was stored: pods were only assumed on nodes:",
    "  n2: fits -> no such node",
    "by what was not found in time:",
    "  n4: fits -> NodeResourcesFit: Insufficient cpu",
    "by what is not sure: a second engine says otherwise:",
    "  n5: fits -> NodeResourcesFit: Insufficient cpu",
    "and 1 other node",
]


def answer(path: str, _: Any) -> Any:
    if "/changed" in path:
        return CHANGED
    if "attempt=1" in path:
        return {"results": [ATTEMPT | {"seq": 4}]}
    return {"results": [] if "attempt=2" in path else [ATTEMPT | {"seq": 9}]}


def test_last_attempt_is_compared_with_the_one_that_is_named(command: Command) -> None:
    one = Service(answer)
    said = command(explaining.why, one, "why", "shop/big", "--since", "1")
    assert one.paths == [
        "/api/clusters/1/pods/shop/big/attempts?limit=1",
        "/api/clusters/1/pods/shop/big/attempts?attempt=1&limit=1",
        "/api/clusters/1/attempts/9/changed?since=4",
    ]
    assert (said.code, said.lines) == (0, LINES)


def test_last_attempt_is_compared_with_the_one_before(command: Command) -> None:
    one = Service(answer)
    said = command(explaining.why, one, "why", "shop/big", "--since", "--json")
    assert one.paths[1:] == ["/api/clusters/1/attempts/9/changed"]
    assert json.loads(said.out) == CHANGED


def test_attempt_that_is_not_stored(command: Command) -> None:
    said = command(explaining.why, Service(answer), "why", "shop/big", "--since", "2")
    assert (said.code, said.err) == (1, "ksched: no attempt 2 at this pod is stored\n")


def test_what_comes_out_otherwise_is_told() -> None:
    apart = {"field": "message", "recorded": "a", "replayed": "b"}
    assert list(told_changed(CHANGED | {"difference": apart}))[-1] == "different: message; recorded: a; again: b"
