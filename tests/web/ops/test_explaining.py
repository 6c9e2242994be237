"""What `./ksched why` asks and says."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.ops import explaining
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


def service(*clusters: str) -> Service:
    """Answers with one attempt."""
    return Service(lambda path, _: {"results": [ATTEMPT] if "big" in path else []}, clusters)


def test_last_attempt_is_told_with_its_amounts(command: Command) -> None:
    one = service("c")
    said = command(explaining.why, one, "why", "shop/big")
    assert one.paths == ["/api/clusters/1/pods/shop/big/attempts?limit=1"]
    assert said.code == 0
    assert said.lines == [
        "shop/big: attempt 3, unschedulable",
        "0/2 nodes",
        "       2  NodeResourcesFit: Insufficient cpu",
        "          asks 31, most free 15.85 on n1; n2 lacks only cpu, by 250m",
    ]


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


@cases(
    "clusters, words, problem",
    ("no cluster", (), ["p"], "there is no cluster"),
    ("several clusters", ("a", "b"), ["p"], "name one with --cluster: a, b"),
    ("another name", ("a",), ["p", "--cluster", "x"], "there is no cluster named x; there are: a"),
    ("no pod", ("a",), ["--node", "n"], "--again and --node are about a pod: name it"),
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
    assert explaining.sentence(NOTHING | about) == want


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
