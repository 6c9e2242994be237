"""What `./ksched fits` asks and says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kschedweb.ops import fitting
from kschedweb.ops.client import Refused
from tests.cases import cases
from tests.web.ops.conftest import Command, Service

CHANGE: dict[str, Any] = {
    "kind": "uncordon", "field": "spec.unschedulable", "old": "true", "new": "", "node": "n1", "step": "", "pods": [],
    "more": [], "of": "",
}  # fmt: skip
REQUEST = CHANGE | {
    "kind": "request", "field": "spec.containers[0].resources.requests.cpu", "old": "8", "new": "4", "node": "",
}  # fmt: skip
TELLS: dict[str, Any] = {
    "changes": [REQUEST],
    "node": "n1",
    "feasible": 2,
    "cost": 45,
    "victims": [],
    "violations": 0,
    "places": [],
}
SAID: dict[str, Any] = {
    "namespace": "shop", "name": "big", "nodes": 3, "node": "", "is_gated": False, "preemption": None,
    "suggestions": [TELLS], "pods": ["shop/big"], "places": [],
}  # fmt: skip


def test_suggestions_are_told_one_by_one(command: Command) -> None:
    one = Service(lambda path, _: SAID)
    said = command(fitting.fits, one, "fits", "shop/big", "--cost", "evict=1", "--cost", "gate=2")
    assert one.paths == ["/api/clusters/1/pods/shop/big/fits?limit=10&costs=evict%3D1%2Cgate%3D2"]
    assert said.code == 1
    assert said.lines == [
        "shop/big fits on none of 3 nodes",
        "    45  lower spec.containers[0].resources.requests.cpu from 8 to 4",
        "        then on n1, fits on 2",
    ]


def test_pod_that_fits_is_told_so(command: Command) -> None:
    said = command(fitting.fits, Service(lambda path, _: SAID | {"node": "n2"}), "fits", "big")
    assert (said.code, said.lines) == (0, ["shop/big fits as it is: n2 of 3 nodes"])


def test_who_has_to_go_is_told() -> None:
    victims = [f"d/p{i}" for i in range(7)]
    preemption = {"node": "n1", "victims": victims[:1], "violations": 2}
    raised = CHANGE | {"kind": "priority", "field": "spec.priority", "old": "0", "new": "101", "node": ""}
    told = TELLS | {"changes": [raised], "victims": victims, "feasible": 1}
    assert list(fitting.told_fits(SAID | {"is_gated": True, "preemption": preemption, "suggestions": [told]})) == [
        "shop/big has gates",
        "  preemption would make room on n1: d/p0, 2 disruptions too many for budgets",
        "    45  raise the priority from 0 to 101",
        "        then on n1; preempts d/p0, d/p1, d/p2, d/p3, d/p4 and 2 more",
    ]
    evicted = TELLS | {"changes": [CHANGE | {"kind": "evict", "pods": ["d/a"]}], "victims": ["d/a"], "feasible": 1}
    assert list(fitting.told_fits(SAID | {"suggestions": [evicted]}))[1:] == [
        "    45  evict d/a from n1",
        "        then on n1",
    ]
    assert "  neither one change nor two are known to be enough" in fitting.told_fits(SAID | {"suggestions": []})


@cases(
    "change, want",
    ("gate", {"kind": "gate", "old": "hold"}, "lift the gate hold"),
    ("uncordon", {}, "uncordon n1"),
    ("skew", {"kind": "maxSkew", "field": "f", "old": "1", "new": "3"}, "raise f from 1 to 3"),
    ("toleration", {"kind": "toleration", "new": "a:NoExecute"}, "tolerate a:NoExecute"),
    ("selector", {"kind": "nodeSelector", "field": "f", "old": "ssd"}, "drop f: ssd"),
    ("port", {"kind": "hostPort", "field": "f", "old": "80"}, "drop f: 80"),
    ("requirement", {"kind": "nodeAffinity", "field": "f", "old": "a In b"}, "drop f: a In b"),
    ("node affinity", {"kind": "nodeAffinity", "field": "f", "new": "preferred"}, "only prefer f"),
    ("affinity", {"kind": "podAffinity", "field": "f", "new": "preferred"}, "only prefer f"),
    ("spread", {"kind": "spread", "field": "f", "old": "A", "new": "B"}, "f: B instead of A"),
    ("label", {"kind": "relabel", "field": "metadata.labels.a.b/c", "new": "x"}, "label n1 a.b/c=x"),
    ("no label", {"kind": "relabel", "field": "metadata.labels.c", "new": ""}, "take the label c off n1"),
    ("node", {"kind": "addNode", "new": "n7"}, "add a node like n7"),
    ("nodes", {"kind": "addNode", "new": "n7", "more": ["n7-new-2"]}, "add 2 nodes like n7"),
    ("quota", {"kind": "quota", "field": "f", "of": "Q/q", "old": "1", "new": "2"}, "enlarge f of Q/q from 1 to 2"),
    (
        "devices",
        {"kind": "devices", "field": "f", "of": "C/c", "old": "3", "new": "2"},
        "ask for 2 instead of 3: f of C/c",
    ),
    ("class", {"kind": "storageClass", "field": "f", "of": "C/c", "old": "a", "new": "b"}, "f of C/c: b instead of a"),
    ("claim", {"kind": "claim", "field": "f", "old": "a", "new": "b"}, "f: b instead of a"),
    ("further nodes", {"more": ["n2", "n3"]}, "uncordon n1, n2, n3"),
)
def test_changes_in_words(change: dict[str, Any], want: str) -> None:
    assert fitting.change_text(CHANGE | change) == want


def test_pods_of_an_owner_are_told_together(command: Command) -> None:
    places = [{"pod": f"shop/big-{i}", "node": node} for i, node in enumerate(("n1", "n1", "n2"))]
    told = TELLS | {"changes": [CHANGE | {"more": ["n2"]}], "places": places}
    body = SAID | {"pods": ["shop/big-0", "shop/big-1", "shop/big-2"], "places": places[:1], "suggestions": [told]}
    one = Service(lambda path, _: body)
    said = command(fitting.fits, one, "fits", "--owner", "shop/Deployment/big", "--at", "7.9")
    assert one.paths == ["/api/clusters/1/workloads/Deployment/shop/big/fits?limit=10&costs=&at=7.9"]
    assert said.lines == [
        "shop/big of 3 pods 1 fit",
        "    45  uncordon n1, n2",
        "        then on n1 (2), n2",
    ]
    fitting_all = command(
        fitting.fits, Service(lambda path, _: body | {"node": "n1", "places": places}), "fits", "--owner", "Job/big"
    )
    assert (fitting_all.code, fitting_all.lines) == (0, ["shop/big fits as it is: n1 (2), n2 of 3 nodes"])


def test_manifest_is_sent_as_it_is(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("kind: Pod\n")
    one = Service(lambda path, _: SAID)
    said = command(fitting.fits, one, "fits", "-f", str(file), "--cluster", "c", "--json", "--limit", "3")
    assert one.asked[-1][:2] == ("POST", "/api/clusters/1/fits?limit=3&costs=")
    assert (said.code, json.loads(said.out)) == (1, SAID)


@cases(
    "words, problem",
    ("neither", [], "ksched: name a pod, an owner with --owner, or a manifest with -f"),
    ("both", ["big", "-f", "pod.yaml"], "ksched: name a pod, an owner with --owner, or a manifest with -f"),
    ("no file", ["-f", "/nowhere/pod.yaml"], "ksched: /nowhere/pod.yaml: No such file or directory"),
)
def test_what_cannot_be_asked_is_an_error(command: Command, words: list[str], problem: str) -> None:
    said = command(fitting.fits, Service(lambda path, _: SAID), "fits", *words)
    assert (said.code, said.err.strip()) == (2, problem)


APPLIED = {"node": "n1", "writes": [
    {"verb": "delete", "kind": "Pod", "namespace": "shop", "name": "big"},
    {"verb": "patch", "kind": "Node", "namespace": "", "name": "n1"},
]}  # fmt: skip
TWO = SAID | {"uid": "u", "suggestions": [TELLS | {"changes": [CHANGE]}, TELLS]}


def answered(path: str, body: Any) -> Any:
    """Clusters are copied at once; the first time that the copy is asked it is still empty."""
    if path == "/api/forks":
        return {"id": 7, "name": body["name"]}
    return TWO if body is None else APPLIED


def sent(change: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in change.items() if name != "step"}


def test_suggestion_is_carried_out(command: Command) -> None:
    one = Service(answered)
    said = command(fitting.fits, one, "fits", "shop/big", "--apply", "2", "--limit", "1")
    assert one.paths == ["/api/clusters/1/pods/shop/big/fits?limit=2&costs=", "/api/clusters/1/pods/shop/big/fits"]
    assert one.asked[-1][2] == {"changes": [sent(REQUEST)], "dry_run": False, "uid": "u"}
    assert said.code == 0
    assert said.lines == [
        "lower spec.containers[0].resources.requests.cpu from 8 to 4",
        "    delete Pod shop/big",
        "    patch Node n1",
        "    then on n1",
    ]


def test_suggestion_for_an_owner_is_only_told_in_a_dry_run(command: Command) -> None:
    one = Service(answered)
    said = command(fitting.fits, one, "fits", "--owner", "Job/big", "--apply", "1", "--dry-run", "--json")
    assert one.asked[-1] == (
        "POST",
        "/api/clusters/1/workloads/Job/default/big/fits",
        {"changes": [sent(CHANGE)], "dry_run": True},
    )
    assert (said.code, json.loads(said.out)["writes"]) == (0, APPLIED["writes"])


def test_suggestion_is_carried_out_in_a_copy(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is asked until it is there."""
    monkeypatch.setattr(fitting, "POLL_SECONDS", 0)
    missing = iter((True, True, False))

    def answer(path: str, body: Any) -> Any:
        if path.startswith("/api/clusters/7") and next(missing):
            raise Refused("pod not found", {"code": "not_found", "message": "", "extra": {}})
        return answered(path, body)

    one = Service(answer)
    said = command(fitting.fits, one, "fits", "shop/big", "--apply", "1", "--fork", "what-if")
    assert one.asked[1] == ("POST", "/api/forks", {"cluster_id": 1, "name": "what-if"})
    assert one.paths[2:] == ["/api/clusters/7/pods/shop/big/fits"] * 3
    assert one.asked[-1][2] == {"changes": [sent(CHANGE)], "dry_run": False}
    assert (said.code, said.lines[0]) == (0, "in what-if (id 7), a copy:")


def test_nothing_is_carried_out_for_a_pod_that_fits(command: Command) -> None:
    one = Service(lambda path, _: SAID | {"node": "n2"})
    said = command(fitting.fits, one, "fits", "big", "--apply", "1")
    assert (said.code, len(one.asked)) == (0, 1)


@cases(
    "words, problem",
    ("none of that number", ["big", "--apply", "3"], "ksched: there is no suggestion 3, of 2"),
    ("none before the first", ["big", "--apply", "0"], "ksched: there is no suggestion 0, of 2"),
    ("of the past", ["big", "--apply", "1", "--at", "7.9"], "ksched: --apply is for pods that are in the cluster now"),
    ("a manifest", ["-f", "x", "--apply", "1"], "ksched: --apply is for pods that are in the cluster now"),
    ("nothing in a copy", ["big", "--fork", "x"], "ksched: --fork and --dry-run need --apply"),
    (
        "a copy for nothing",
        ["big", "--apply", "1", "--dry-run", "--fork", "x"],
        "ksched: --dry-run makes no copy: leave --fork out",
    ),
)
def test_what_cannot_be_carried_out_is_an_error(command: Command, words: list[str], problem: str) -> None:
    said = command(fitting.fits, Service(answered), "fits", *words)
    assert (said.code, said.err.strip()) == (2, problem)


def test_refusal_is_an_error(command: Command) -> None:
    def refuse(path: str, _: Any) -> Any:
        raise Refused("the pod is on n1", {"code": "invalid", "message": "", "extra": {}})

    said = command(fitting.fits, Service(refuse), "fits", "big")
    assert (said.code, said.err.strip()) == (2, "ksched: the pod is on n1")
