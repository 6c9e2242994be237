"""What `./ksched find` asks and says."""

import json
from typing import Any

from kschedweb.ops import finding
from kschedweb.ops.commands import lists
from kschedweb.traces.selectors.searching import KINDS
from tests.web.ops.conftest import Command, Said, Service

HIT = {
    "kind": "pod", "cluster_id": 2, "cluster": "b", "namespace": "shop", "name": "web-1", "of": "", "state": "bound",
    "node": "n1", "pods": None, "at": None, "how": "start", "marks": [[0, 3]],
}  # fmt: skip
REASON = HIT | {
    "kind": "reason", "namespace": "", "name": "Insufficient cpu", "of": "NodeResourcesFit", "state": "", "node": "",
    "pods": 1000,
}  # fmt: skip
FOUND = {"groups": [{"kind": "pod", "hits": [HIT], "more": True}, {"kind": "reason", "hits": [REASON], "more": False}]}


def find(command: Command, answer: Any, *words: str) -> tuple[Said, list[str]]:
    """What the command says, and the addresses that it asks for."""
    service = Service(lambda path, _: answer, ("a", "b"))
    return command(finding.find, service, "find", *words), service.paths


def test_what_is_found_is_a_table(command: Command) -> None:
    said, asked = find(command, FOUND, "w&b", "--cluster", "b", "--kind", "pod,node", "--kind", "reason")
    assert asked == ["/api/search?q=w%26b&limit=8&kinds=pod%2Cnode%2Creason&cluster=2"]
    assert said.code == 0
    assert said.lines == [
        "KIND    CLUSTER  NAMESPACE  NAME              STATE  ABOUT",
        "pod     b        shop       web-1             bound  on n1",
        "reason  b                   Insufficient cpu         NodeResourcesFit, 1,000 pods",
        "there is more: --limit shows more than 8 of a kind",
    ]


def test_programs_get_one_document(command: Command) -> None:
    for answer, code in ((FOUND, 0), ({"groups": []}, 1)):
        said, _ = find(command, answer, "web", "--json")
        assert (said.code, json.loads(said.out)) == (code, answer)


def test_nothing_found_and_no_such_cluster_are_said(command: Command) -> None:
    nothing, _ = find(command, {"groups": []}, "web")
    nowhere, _ = find(command, FOUND, "web", "--cluster", "c")
    assert (nothing.code, nothing.err) == (1, "ksched: nothing is called web\n")
    assert (nowhere.code, nowhere.err) == (1, "ksched: there is no cluster named c; there are: a, b\n")


def test_help_names_the_kinds_that_there_are() -> None:
    assert lists.FOUND_KINDS == KINDS
