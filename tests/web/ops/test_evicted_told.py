"""What `./ksched why POD --evicted` asks and says."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.ops import explaining
from kschedweb.ops.client import Refused
from kschedweb.ops.evicted import told_evicted
from tests.cases import cases
from tests.web.ops.conftest import Command, Service
from tests.web.ops.test_explaining import CPU

KEY = "shop/web"
COST: dict[str, Any] = {
    "node": "n2", "victims": [KEY], "pdb_violations": 0, "highest_priority": 0, "sum_of_priorities": 2_147_483_648,
    "number_of_victims": 1, "latest_start": "S", "falls_by": "", "left_out": False,
}  # fmt: skip
VICTIM: dict[str, Any] = {
    "pod": KEY, "priority": 0, "started_at": "S", "budgets": [], "violates": False, "spared": False,
    "status": {"code": "Unschedulable", "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"]},
    "amounts": [CPU | {"nodes": 1, "only": 0}], "alone": True, "needless": False,
}  # fmt: skip
SEARCH: dict[str, Any] = {
    "attempt": 9, "number": 3, "at": "T", "node": "n2", "priority": 100, "potential": 4, "untried": 0, "candidates": 3,
    "refusals": [{"reason": "nobody", "nodes": 1}], "criterion": "highest_priority", "tied": 0,
    "asks_extenders": False, "made_again": True,
    "costs": [COST, COST | {"node": "n3", "highest_priority": 5, "falls_by": "highest_priority"},
              COST | {"node": "n1", "pdb_violations": 1, "falls_by": "pdb_violations"}],
    "pods": [VICTIM | {"pod": "shop/kept", "priority": 1, "spared": True, "status": None, "amounts": []}, VICTIM],
}  # fmt: skip
EVICTED: dict[str, Any] = {
    "uid": "u", "node": "n2", "priority": 0, "by": "preempted", "message": "to make room", "is_cut": False,
    "entry": {"rv": 12, "operation": "updated", "actor": "scheduler", "at": "T"}, "gone_at": "G",
    "cause": None, "budgets": [], "preemptor": "shop/high", "preemption": SEARCH, "difference": None,
}  # fmt: skip
LINES = [
    "shop/web on n2: preempted: to make room",
    "entry 12 by scheduler at T: updated",
    "gone at G",
    "it makes room for shop/high, of priority 100; its own priority is 0",
    "its attempt 3: 3 candidates of 4 nodes; 1 in vain: nobody",
    "n2 costs less by highest_priority: highest priority 0",
    "  n3: highest priority 5 instead of highest priority 0",
    "  n1: 1 budget violation instead of 0 budget violations",
    "2 pods of lower priority on n2, put back one by one, those that violate a budget first, then the most important:",
    "  shop/kept, priority 1: spared",
    "> shop/web, priority 0: not spared: NodeResourcesFit: Insufficient cpu",
    "    asks 31, most free 15.85 on n1",
    "    shop/high fits beside it when all others of lower priority go: those above were preferred",
]


def test_preempted_pod_is_told_with_what_other_nodes_would_have_cost(command: Command) -> None:
    one = Service(lambda path, _: EVICTED)
    said = command(explaining.why, one, "why", KEY, "--evicted")
    assert one.paths == ["/api/clusters/1/pods/shop/web/evicted"]
    assert (said.code, said.lines) == (0, LINES)
    assert json.loads(command(explaining.why, one, "why", KEY, "--evicted", "--json").out) == EVICTED


def test_search_that_cannot_be_made_again_is_told_of_its_record(command: Command) -> None:
    unknown = {"highest_priority": None, "sum_of_priorities": None, "latest_start": None, "falls_by": ""}
    costs = [each | unknown for each in SEARCH["costs"]]
    recorded = EVICTED | {"preemption": SEARCH | {"made_again": False, "priority": None, "costs": costs, "pods": []}}

    def answer(path: str, _: Any) -> Any:
        if "again=false" in path:
            return recorded
        raise Refused("history begins at 5.9", {"code": "gone", "message": "", "extra": {}})

    said = command(explaining.why, Service(answer), "why", KEY, "--evicted")
    assert said.err == "ksched: of its record alone: history begins at 5.9\n"
    assert (said.code, said.lines) == (0, [
        *LINES[:3],
        "it makes room for shop/high; its own priority is 0",
        LINES[4],
        "n2 costs less by highest_priority: not known",
        "  n3: 0 budget violations, 1 victim",
        "  n1: 1 budget violation, 1 victim",
    ])  # fmt: skip


def test_what_is_refused_is_said(command: Command) -> None:
    def answer(path: str, _: Any) -> Any:
        raise Refused("no pod of this name", {"code": "not_found", "message": "", "extra": {}})

    assert command(explaining.why, Service(answer), "why", KEY, "--evicted").code == 1


def test_what_comes_out_otherwise_is_told(command: Command) -> None:
    apart = EVICTED | {"difference": {"field": "message", "recorded": "a", "replayed": "b"}}
    said = command(explaining.why, Service(lambda *_: apart), "why", KEY, "--evicted")
    assert (said.code, said.lines[-1]) == (1, "different: message; recorded: a; again: b")


@cases(
    "about, want",
    ("taint", {"by": "taint", "message": ""}, "shop/web on n2: evicted for a taint it does not tolerate"),
    ("api", {"by": "api"}, "shop/web on n2: evicted by the Eviction API: to make room"),
    ("kubelet", {"by": "kubelet", "message": ""}, "shop/web on n2: ended by its kubelet"),
    ("node gone", {"by": "podGC", "message": ""}, "shop/web on n2: deleted because its node is gone"),
    ("never placed", {"by": "deleted", "message": "", "node": ""}, "shop/web: deleted"),
)
def test_who_had_it_deleted(about: dict[str, Any], want: str) -> None:
    told = EVICTED | {"preemptor": "", "preemption": None, "gone_at": None} | about
    assert list(told_evicted(KEY, told)) == [want, LINES[1], "it is still leaving"]


CAUSE: dict[str, Any] = {
    "rv": 7, "operation": "updated", "actor": "ann", "at": "T", "taint": "k=v:NoExecute", "seconds": None,
    "is_cut": False,
}  # fmt: skip


@cases(
    "about, want",
    ("taint", {"cause": CAUSE}, "taint k=v:NoExecute on n2: entry 7 by ann at T"),
    ("tolerated for a time", {"cause": CAUSE | {"seconds": 300}},
     "taint k=v:NoExecute on n2, tolerated for 300 seconds: entry 7 by ann at T"),
    ("taint of before", {"cause": CAUSE | {"is_cut": True}},
     "taint k=v:NoExecute on n2: before entry 7 by ann at T, the first that is stored"),
    ("drain", {"cause": CAUSE | {"taint": ""}}, "n2 to be drained: entry 7 by ann at T"),
    ("node gone", {"cause": CAUSE | {"taint": "", "operation": "deleted"}}, "n2 deleted: entry 7 by ann at T"),
    ("a budget", {"budgets": [{"namespace": "shop", "name": "b", "left": 1}]},
     "counted against the budget shop/b, which allows 1 disruption after it"),
)  # fmt: skip
def test_what_lies_behind_it(about: dict[str, Any], want: str) -> None:
    told = EVICTED | {"by": "api", "preemptor": "", "preemption": None, "gone_at": None} | about
    assert list(told_evicted(KEY, told))[2:] == [want, "it is still leaving"]


def test_what_is_not_stored_is_said() -> None:
    lines = list(told_evicted(KEY, EVICTED | {"is_cut": True, "preemption": None, "gone_at": None}))
    assert lines[1:] == [
        f"{LINES[1]}, and earlier: what was before it is not stored any more",
        "it is still leaving",
        "it makes room for shop/high; its own priority is 0",
        "the attempt that chose it is not stored",
    ]


BUDGET = {"namespace": "shop", "name": "b", "allowed": 1, "place": 2}


@cases(
    "about, want",
    ("tie", {"criterion": "", "tied": 2},
     ["n2 is the first of 2 nodes that no criterion tells apart"]),
    ("only candidate", {"criterion": "", "costs": [COST]}, ["n2 was taken: 1 victim"]),
    ("sum", {"criterion": "sum_of_priorities"},
     ["n2 costs less by sum_of_priorities:"
      " sum of priorities 2,147,483,648 (2,147,483,648 added to each)"]),
    ("start", {"criterion": "latest_start"},
     ["n2 costs less by latest_start: its most important victims running since S"]),
    ("equal, and one that is not listed", {"costs": [COST, COST | {"node": "n5"}]},
     ["  n5: the same; it comes later", "  and 1 other"]),
    ("a node of an extender", {"node": "n9", "criterion": "pdb_violations", "made_again": False, "costs": [COST]},
     ["n9 costs less by pdb_violations: not known", "  n2: 0 budget violations, 1 victim"]),
    ("not all were tried", {"untried": 7, "asks_extenders": True},
     ["its attempt 3: 3 candidates of 4 nodes; 1 in vain: nobody; 7 not tried, enough were found",
      "extenders had a say in which candidates were left"]),
    ("left out", {"costs": [COST, COST | {"node": "n5", "left_out": True}]}, ["  n5: left out by extenders"]),
    ("a budget", {"pods": [VICTIM | {"budgets": [BUDGET], "alone": False}]},
     ["    budget shop/b allows 1 disruption, it is number 2: a violation",
      "    shop/high does not fit beside it, whoever else goes"]),
    ("needless", {"pods": [VICTIM | {"budgets": [BUDGET | {"place": 1}], "needless": True}]},
     ["    budget shop/b allows 1 disruption, it is number 1: within it",
      "    it need not have gone: shop/high fits beside it when the other victims go"]),
)  # fmt: skip
def test_search_is_told(about: dict[str, Any], want: list[str]) -> None:
    lines = list(told_evicted(KEY, EVICTED | {"preemption": SEARCH | about}))
    assert [line for line in lines if line in want] == want
