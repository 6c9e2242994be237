"""What `./ksched find` asks and says."""

import json
from pathlib import Path
from typing import Any

import pytest

from kschedweb.ops import cli, finding
from kschedweb.traces.selectors.searching import KINDS
from tools.cli import parser

HIT = {
    "kind": "pod", "cluster_id": 2, "cluster": "b", "namespace": "shop", "name": "web-1", "of": "", "state": "bound",
    "node": "n1", "pods": None, "at": None, "how": "start", "marks": [[0, 3]],
}  # fmt: skip
REASON = HIT | {
    "kind": "reason", "namespace": "", "name": "Insufficient cpu", "of": "NodeResourcesFit", "state": "", "node": "",
    "pods": 1000,
}  # fmt: skip
FOUND = {"groups": [{"kind": "pod", "hits": [HIT], "more": True}, {"kind": "reason", "hits": [REASON], "more": False}]}


class Service:
    """Answers as the service does."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def all(self, path: str) -> list[dict[str, Any]]:
        return [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]

    def call(self, method: str, path: str) -> tuple[int, Any]:
        self.asked.append(path)
        return 200, self.answer


def run(monkeypatch: pytest.MonkeyPatch, service: Service, *words: str) -> int:
    monkeypatch.setattr(finding, "connect", lambda data_dir: service)
    return finding.find(data_dir=Path("data"), options=parser().parse_args(["find", *words]))


def test_what_is_found_is_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    service = Service(FOUND)
    assert run(monkeypatch, service, "w&b", "--cluster", "b", "--kind", "pod,node", "--kind", "reason") == 0
    assert service.asked == ["/api/search?q=w%26b&limit=8&kinds=pod%2Cnode%2Creason&cluster=2"]
    assert capsys.readouterr().out.splitlines() == [
        "KIND    CLUSTER  NAMESPACE  NAME              STATE  ABOUT",
        "pod     b        shop       web-1             bound  on n1",
        "reason  b                   Insufficient cpu         NodeResourcesFit, 1,000 pods",
        "there is more: --limit shows more than 8 of a kind",
    ]


def test_programs_get_one_document(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, Service(FOUND), "web", "--json") == 0
    assert json.loads(capsys.readouterr().out) == FOUND
    assert run(monkeypatch, Service({"groups": []}), "web", "--json") == 1
    assert json.loads(capsys.readouterr().out) == {"groups": []}


def test_nothing_found_and_no_such_cluster_are_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, Service({"groups": []}), "web") == 1
    assert run(monkeypatch, Service(FOUND), "web", "--cluster", "c") == 1
    assert capsys.readouterr().err.splitlines() == [
        "ksched: nothing is called web",
        "ksched: there is no cluster named c; there are: a, b",
    ]


def test_help_names_the_kinds_that_there_are() -> None:
    assert cli.FOUND_KINDS == KINDS
