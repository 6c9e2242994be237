"""What `./ksched why` asks and says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kschedweb.ops import explaining, figures, pending
from kschedweb.ops.client import Refused
from scheduler_core.explain.in_vain import REMEDY
from tests.cases import cases
from tests.web.ops.conftest import Command, Service

NOTHING: dict[str, Any] = {
    "nodes": 2, "asked": None, "there": None, "node": "n1", "capacity": None, "only": 0, "nearest": None,
    "nearest_node": "", "values": [], "others": 0, "pod": "", "without": 0,
}  # fmt: skip
CPU = NOTHING | {
    "kind": "resource", "subject": "cpu", "asked": 31_000, "there": 15_850, "capacity": 16_000, "only": 1,
    "nearest": 30_750, "nearest_node": "n2",
}  # fmt: skip

TAINT = NOTHING | {"kind": "taint", "subject": "a:NoExecute"}


ATTEMPT = {
    "namespace": "shop", "name": "big", "last_attempt": 3, "result": "unschedulable", "node_name": "",
    "message": "0/2 nodes",
    "rejections": [{"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "count": 2, "amounts": [CPU]}],
}  # fmt: skip


POD: dict[str, Any] = {"in_vain": []}
POD_WHY: dict[str, Any] = {
    "difference": None, "judged": None, "preemption": None, "since": None, "turning": None, "waits": None,
}  # fmt: skip


def service(*clusters: str, pod: Any = POD) -> Service:
    """Answers with one attempt, with that pod, and with nothing more about why it is pending."""

    def answer(path: str, _: Any) -> Any:
        if "/attempts" in path:
            return {"results": [ATTEMPT] if "big" in path else []}
        if "/why" in path:
            return POD_WHY
        if isinstance(pod, Refused):
            raise pod
        return pod

    return Service(answer, clusters)


def test_last_attempt_is_told_with_its_amounts(command: Command) -> None:
    one = service("c")
    said = command(explaining.why, one, "why", "shop/big")
    assert one.paths == [
        "/api/clusters/1/pods/shop/big/attempts?limit=1",
        "/api/clusters/1/pods/shop/big",
        "/api/clusters/1/pods/shop/big/why?limit=10",
    ]
    assert said.code == 0
    assert said.lines == [
        "shop/big: attempt 3, unschedulable",
        "0/2 nodes",
        "       2  NodeResourcesFit: Insufficient cpu",
        "          asks 31, most free 15.85 on n1; n2 lacks only cpu, by 250m",
    ]


def test_what_waits_in_vain_is_told_of_the_pod(command: Command) -> None:
    waiting = {"message": "PersistentVolume v: no phase"}
    said = command(explaining.why, service("c", pod={"in_vain": [waiting]}), "why", "shop/big")
    assert said.lines[-2:] == ["waits in vain: PersistentVolume v: no phase", REMEDY]


def test_pod_that_is_gone_waits_for_nothing(command: Command) -> None:
    gone = Refused("no", {"code": "not_found", "message": "", "extra": {}})
    assert command(explaining.why, service("c", pod=gone), "why", "shop/big").code == 0
    other = Refused("no", {"code": "forbidden", "message": "", "extra": {}})
    assert command(explaining.why, service("c", pod=other), "why", "shop/big").code == 1


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"pods": 3, "asked_least": 500, "asked_most": 31_000, "amounts": CPU | {"asked": 31_000, "only": 0}},
         "3 pods ask 500m to 31 of cpu; d/x: asks 31, most free 15.85 on n1"),
        ({"pods": 2, "asked_least": None, "asked_most": None, "amounts": NOTHING | {"kind": "taint",
         "subject": "a:NoExecute"}}, "2 pods; d/x: not tolerated: a:NoExecute, on 2 nodes such as n1"),
        ({"pods": 1, "asked_least": 31_000, "asked_most": 31_000, "amounts": CPU | {"only": 0}},
         "d/x: asks 31, most free 15.85 on n1"),
    ],
    ids=["asked differently", "nothing counted", "one pod"],
)  # fmt: skip
def test_without_a_pod_what_keeps_all_is_told(asked: dict[str, Any], told: str) -> None:
    reason = {"plugin": "P", "reason": "no", "pods": 4, "amounts": [{"pod": "d/x", **asked}]}
    unqueued = {"no_profile": {"other": 1}, "unseen": 1}
    pending = {"pods": 6, "queues": {"unschedulable": 4}, "unqueued": unqueued, "reasons": [reason]}
    assert list(explaining.told_pending(pending)) == [
        "6 pending: 4 unschedulable, 1 for the scheduler other, 1 not seen yet",
        "       4  P: no",
        f"          {told}",
    ]


ABOUT_A_POD = "--again, --node, --not, --evicted and --since are about a pod: name it"
ALONE_ASKED = "--not, --evicted and --since each go alone, without --again and --node"


@cases(
    "clusters, words, problem",
    ("no cluster", (), ["p"], "there is no cluster"),
    ("several clusters", ("a", "b"), ["p"], "name one with --cluster: a, b"),
    ("another name", ("a",), ["p", "--cluster", "x"], "there is no cluster named x; there are: a"),
    ("no pod", ("a",), ["--node", "n"], ABOUT_A_POD),
    ("a node it is not on, of no pod", ("a",), ["--not"], ABOUT_A_POD),
    ("two questions", ("a",), ["p", "--again", "--not", "n"], ALONE_ASKED),
    ("who was evicted, of no pod", ("a",), ["--evicted"], ABOUT_A_POD),
    ("what changed, of no pod", ("a",), ["--since"], ABOUT_A_POD),
    ("two other questions", ("a",), ["p", "--evicted", "--not"], ALONE_ASKED),
    ("no node", ("a",), ["shop/big", "--not"], "no attempt at the pod shop/big that chose a node is stored"),
    ("no attempt", ("a",), ["gone"], "no attempt at the pod default/gone is stored"),
)
def test_what_cannot_be_told_is_refused(
    command: Command, clusters: tuple[str, ...], words: list[str], problem: str
) -> None:
    said = command(explaining.why, service(*clusters), "why", *words)
    assert (said.code, said.err) == (1, f"ksched: {problem}\n")


@pytest.mark.parametrize(
    ("about", "want"),
    [
        ({"kind": "taint", "subject": "a=b:NoSchedule"}, "not tolerated: a=b:NoSchedule, on 2 nodes such as n1"),
        ({"kind": "label", "subject": "disk in (ssd)", "values": [{"value": "hdd", "count": 1}], "without": 1},
         "wanted: disk in (ssd); on 2 nodes: hdd (1), no such label (1)"),
        ({"kind": "port", "subject": "80/TCP", "nodes": 1, "pod": "d/x"}, "80/TCP is taken on n1 by d/x"),
        ({"kind": "spread", "subject": "zone (a)", "asked": 1, "there": 0, "values": [{"value": "z", "count": 2}]},
         "zone (a): the emptiest has 0, maxSkew is 1; too full on 2 nodes: z (2)"),
        ({"kind": "near", "subject": "zone (a)", "there": 0},
         "zone (a): 0 such pods in all, none near 2 nodes such as n1"),
        ({"kind": "keptApart", "subject": "zone", "pod": "d/x"}, "zone: d/x stands against n1, one of 2 nodes"),
        ({"kind": "limit", "subject": "drv", "asked": 2, "there": 1, "capacity": 3},
         "asks 2 of drv, most left 1 of 3 on n1"),
        ({"kind": "resource", "subject": "cpu", "asked": 31_000, "there": 15_850, "only": 2, "nearest": 15_850,
         "nearest_node": "n1"}, "asks 31, most free 15.85 on n1; 2 lack only cpu, the nearest by 15.15 (n1)"),
        ({"kind": "taint", "subject": "a:NoSchedule", "nodes": 1}, "not tolerated: a:NoSchedule, on n1"),
        ({"kind": "label", "subject": "disk in (ssd)", "values": [{"value": "hdd", "count": 1}], "nodes": 1},
         "wanted: disk in (ssd); on n1: hdd (1)"),
        ({"kind": "label", "subject": "metadata.name in (n2)", "values": [{"value": "n1", "count": 1}], "others": 1},
         "wanted: metadata.name in (n2); on 2 nodes: n1 (1), 1 more value"),
        ({"kind": "spread", "subject": "zone (a)", "asked": 1, "there": 0, "nodes": 1, "values": [{"value": "z",
         "count": 2}]}, "zone (a): the emptiest has 0, maxSkew is 1; too full on n1: z (2)"),
        ({"kind": "near", "subject": "zone (a)", "there": 1, "nodes": 1}, "zone (a): 1 such pod in all, none near n1"),
        ({"kind": "apart", "subject": "zone", "pod": "d/x", "nodes": 1}, "zone: d/x stands against n1"),
        ({"kind": "noKey", "subject": "zone", "nodes": 1}, "no label zone on n1"),
        ({"kind": "claim", "subject": "d/c", "pod": "d/x"}, "d/c is used by d/x"),
        ({"kind": "volume", "subject": "v (zone in (a))"},
         "cannot be reached from 2 nodes such as n1: v (zone in (a))"),
        ({"kind": "pods", "subject": "pods", "capacity": 110}, "all places for pods are taken; n1 has 110"),
        ({"kind": "resource", "subject": "memory", "asked": 3 << 30, "there": 1 << 20},
         "asks 3Gi, most free 1Mi on n1"),
        ({"kind": "resource", "subject": "cpu", "asked": 2_000, "there": 0, "only": 2, "nearest": 0,
         "nearest_node": "n1"}, "asks 2, most free 0 on n1; 2 lack only cpu, the nearest by 2 (n1)"),
    ],
)  # fmt: skip
def test_each_kind_has_a_sentence(about: dict[str, Any], want: str) -> None:
    assert figures.sentence(NOTHING | about) == want


def test_attempt_made_again_is_told_with_raw_scores() -> None:
    score = {"raw": 1_200, "normalized": 60, "weighted": 120}
    node = {"looked_at": True, "status": None, "amounts": None, "scores": {"X": score}, "total": 120,
            "scores_of_all": {}, "total_of_all": None}  # fmt: skip
    unseen = node | {"node": "n2", "looked_at": False, "scores": {}, "total": None, "scores_of_all": {"X": score},
                     "total_of_all": 120}  # fmt: skip
    status = {"plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"], "code": "Unschedulable"}
    refusing = node | {"node": "n3", "status": status, "amounts": [CPU], "scores": {}}
    made = {"difference": None, "nodes": [node | {"node": "n1"}, unseen, refusing]}
    assert list(explaining.told_again(made)) == [
        "made again: identical to its record",
        "n1",
        "  X: raw 1,200, normalized 60, weighted 120",
        "  total 120",
        "n2 (not looked at then)",
        "  had every node been compared:",
        "  X: raw 1,200, normalized 60, weighted 120",
        "  total 120",
        "n3",
        "  NodeResourcesFit: Insufficient cpu",
        "    asks 31, most free 15.85 on n1; n2 lacks only cpu, by 250m",
    ]
    apart = {"field": "node_name", "recorded": "n1", "replayed": "n2"}
    assert next(explaining.told_again(made | {"difference": apart})) == "different: node_name; recorded: n1; again: n2"


PLACED = ATTEMPT | {"seq": 7, "last_attempt": 4, "result": "scheduled", "node_name": "n1", "message": "",
                    "rejections": []}  # fmt: skip
PART = {"plugin": "NodeResourcesFit", "weight": 2, "node": 80, "other": 60, "difference": 40}
TOTALS = {"node": 345, "other": 305, "plugins": [PART], "by_extenders": 0, "best": 345, "num_best": 1,
          "of_all": False}  # fmt: skip
TURN = {"plugin": "ImageLocality", "weight": 1, "to": 4, "outright": True, "node": "n2"}
WHY: dict[str, Any] = {
    "seq": 7, "node": "n1", "other": "n2", "by": "total", "tied": 1, "drawn": 0, "feasible": 2, "looked_at": 3,
    "nodes_total": 5, "standing": "compared", "status": None, "amounts": None, "totals": TOTALS, "made_again": True,
    "turn": TURN, "without": [], "difference": None,
}  # fmt: skip
ALONE = "n1 alone had the highest total of 2 feasible nodes"
COMPARED = ["  n1 has 345, n2 305: 40 more", "    +40  NodeResourcesFit: 80 against 60, weight 2"]
TURNED = "  with ImageLocality at weight 4 instead of 1 n2 alone has the highest total: made again, it is chosen"
LACKS = {"plugin": "NodeResourcesFit", "code": "Unschedulable", "reasons": ["Insufficient cpu"]}


@cases(
    "about, want",
    ("more by one plugin", {}, [ALONE, *COMPARED, TURNED]),
    ("shares the total", {"turn": TURN | {"outright": False, "node": "n1"}, "without": ["X"]},
     [ALONE, *COMPARED,
      "  with ImageLocality at weight 4 instead of 1 n2 shares the highest total: made again, the draw falls"
      " on n1", "  without the scores of X n2 alone would have been best"]),
    ("tie", {"by": "draw", "tied": 3, "drawn": 2, "turn": None,
      "totals": TOTALS | {"other": 345, "plugins": [], "num_best": 3}},
     ["3 nodes had the highest total; the draw fell on n1, number 2 in the order of the walk",
      "  n1 has 345, n2 345: the same",
      "  no other weight of one plugin, up to 100, gives n2 the highest total"]),
    ("refused", {"by": "only", "standing": "refused", "status": LACKS, "amounts": [CPU | {"nodes": 1, "only": 0}],
      "totals": None, "turn": None},
     ["n1 was the only feasible node of 3 looked at", "  n2 was refused",
      "    NodeResourcesFit: Insufficient cpu", "      asks 31, most free 15.85 on n1"]),
    ("fitted, and was not looked at",
     {"standing": "unseen", "totals": TOTALS | {"of_all": True, "other": 350, "best": 350, "plugins": [],
      "by_extenders": -5}, "turn": None},
     [ALONE, "  n2 was not looked at: 3 of 5 nodes were; the pod fitted there",
      "  had every node been compared, n1 has 345, n2 350: 5 less", "    -5  extenders",
      "  the highest would have been 350, of 1 node"]),
    ("would have been refused", {"standing": "unseen", "status": LACKS, "totals": None, "turn": None},
     [ALONE, "  n2 was not looked at: 3 of 5 nodes were; it would have been refused",
      "    NodeResourcesFit: Insufficient cpu"]),
    ("of its record", {"standing": "unseen", "made_again": False, "totals": None, "turn": None},
     [ALONE, "  n2 was not looked at: 3 of 5 nodes were"]),
    ("totals of its record", {"made_again": False, "turn": None}, [ALONE, *COMPARED]),
    ("no such node", {"standing": "absent", "totals": None, "turn": None},
     [ALONE, "  n2 was no node of the cluster at this attempt"]),
    ("one node", {"by": "only", "standing": "none", "other": "", "totals": None, "turn": None},
     ["n1 was the only feasible node of 3 looked at", "  there was no other node"]),
    ("nobody scores", {"by": "first", "standing": "spare", "totals": None, "turn": None},
     ["nobody scores: n1 was the first feasible node",
      "  n2 fitted, and enough feasible nodes had been found"]),
    ("nominated", {"by": "nominated", "standing": "spare", "totals": None, "turn": None},
     ["the pod was nominated to n1, which was tried first and fitted: no other was looked at",
      "  n2 fitted, and enough feasible nodes had been found"]),
    ("left out", {"standing": "leftOut", "status": LACKS | {"plugin": "", "reasons": ["no"]}, "totals": None},
     [ALONE, "  n2 was not among the nodes that PreFilter left", "    no"]),
    ("different", {"difference": {"field": "node_name", "recorded": "n1", "replayed": "n3"}},
     [ALONE, *COMPARED, "  different: node_name; recorded: n1; again: n3"]),
)  # fmt: skip
def test_why_a_node_was_chosen_is_told(about: dict[str, Any], want: list[str]) -> None:
    assert list(explaining.told_why(WHY | about)) == want


def placed(path: str, *, why: Any = WHY) -> Any:
    if path.endswith("/pods/shop/big"):
        return POD
    if "/why" not in path:
        return {"results": [ATTEMPT | {"seq": 9}, PLACED] if "limit=1000" in path else [PLACED]}
    if isinstance(why, Refused) and "again=true" in path:
        raise why
    return WHY | {"made_again": False, "turn": None} if "again=false" in path else why


def test_pod_with_a_node_is_told_why_it_has_that_one(command: Command) -> None:
    one = Service(lambda path, _: placed(path))
    said = command(explaining.why, one, "why", "shop/big")
    assert one.paths[2:] == ["/api/clusters/1/attempts/7/why?again=true"]
    assert (said.code, said.lines) == (0, ["shop/big: attempt 4, scheduled on n1", ALONE, *COMPARED, TURNED])


def test_node_that_is_named_is_asked_about_in_the_last_attempt_that_chose_one(command: Command) -> None:
    one = Service(lambda path, _: placed(path))
    said = command(explaining.why, one, "why", "shop/big", "--not", "n/2")
    assert one.paths == [
        "/api/clusters/1/pods/shop/big/attempts?limit=1000",
        "/api/clusters/1/attempts/7/why?not=n%2F2&again=true",
    ]
    assert said.lines == ["shop/big: attempt 4, scheduled on n1", ALONE, *COMPARED, TURNED]
    assert json.loads(command(explaining.why, one, "why", "shop/big", "--not", "--json").out) == WHY


def test_what_cannot_be_made_again_is_told_of_its_record(command: Command) -> None:
    gone = Refused("history begins at 5.9", {"code": "gone", "message": "", "extra": {}})
    one = Service(lambda path, _: placed(path, why=gone))
    said = command(explaining.why, one, "why", "shop/big", "--not")
    assert (said.code, said.lines[1:]) == (0, [ALONE, *COMPARED])
    assert said.err == "ksched: of its record alone: history begins at 5.9\n"
    other = Refused("no", {"code": "invalid", "message": "", "extra": {}})
    assert command(explaining.why, Service(lambda path, _: placed(path, why=other)), "why", "shop/big").code == 1


TURN = {
    "rv": 12, "kind": "Node", "namespace": "", "name": "n1", "operation": "updated", "actor": "ann", "at": "T",
    "fitting": 1, "node": "n1", "existed": True,
}  # fmt: skip
TURNING = {"verdict": "entry", "until": 20, "runs": 7, "begins": 3, "fitted_then": True, "turn": TURN}


def test_why_a_pod_has_no_node_is_told() -> None:
    judged = {
        "nodes": 3, "fitting": 0, "num_near": 2,
        "reasons": [{"plugin": "P", "reason": "no", "nodes": 3, "alone": 2}],
        "near": [{"node": "n1", "reason": "no", "amounts": [CPU | {"only": 0}]},
                 {"node": "n2", "reason": "no", "amounts": []}],
    }  # fmt: skip
    waits = {
        "queue": "unschedulable", "since": "S", "retried_at": "R",
        "wakers": [{"plugin": "P", "resource": "Node", "actions": ["Add", "UpdateNodeLabel"], "has_hint": True}],
    }  # fmt: skip
    told = {
        "since": {"at": "S", "attempts": 2, "is_cut": True}, "turning": TURNING, "judged": judged,
        "preemption": {"outcome": "failed", "potential": 2, "refusals": [{"nodes": 2, "reason": "still"}]},
        "waits": waits, "difference": {"field": "f", "recorded": "a", "replayed": "b"},
    }  # fmt: skip
    assert list(pending.told_pod(told)) == [
        "in vain since S: at least 2 attempts in a row",
        "made unschedulable by entry 12: Node n1 updated by ann at T",
        "  just before it fits on 1 node (n1), with it on none: proven by two runs",
        "fits on 0 of 3 nodes; kept away, and by this reason alone:",
        "       3       2  P: no",
        "one reason away: 2 nodes, the nearest first",
        "  n1: asks 31, most free 15.85 on n1",
        "  n2: no",
        "preemption: tried on 2 nodes in vain: 2 still",
        "waits in unschedulable since S, tried again by R",
        "  P: Node Add/UpdateNodeLabel, if its hint says so",
        "different: f; recorded: a; again: b",
    ]


@cases(
    "verdict, want",
    ("fits", "fits", "by what is stored at 20 it fits: it has not been tried since, or room was taken"),
    ("never", "never", "it fitted at none of 7 moments tried, back to the first"),
    ("cut", "cut", "it fitted at none of 7 moments tried, back to 3, where history begins"),
    ("late", "late", "since which change was not found in time"),
    ("unproven", "unproven", "since which change is not sure: a second engine says otherwise"),
)
def test_where_no_entry_is_known_it_is_said_why(verdict: str, want: str) -> None:
    told = POD_WHY | {"turning": TURNING | {"verdict": verdict, "turn": None, "fitted_then": False}}
    assert list(pending.told_pod(told)) == ["it was created when it fitted nowhere", want]


@cases(
    "outcome, want",
    ("found", "found", "1 pod evicted on n1"),
    ("no help", "noHelp", "evictions would lift no node's refusal"),
    ("never", "never", "not tried, its policy is Never"),
    ("leaving", "terminating", "not tried, victims of it are still leaving the node it is nominated to"),
    ("not asked", "notAsked", "not asked"),
    ("other", "other", "a message"),
)
def test_what_preemption_came_to(outcome: str, want: str) -> None:
    found = {"outcome": outcome, "victims": ["d/x"], "node": "n1", "message": "a message"}
    assert list(pending.told_pod(POD_WHY | {"preemption": found})) == [f"preemption: {want}"]
