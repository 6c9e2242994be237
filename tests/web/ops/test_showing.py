"""What `./ksched at` asks and prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from kschedweb.ops import listing, showing
from kschedweb.ops.client import Refused
from kschedweb.query import LISTS
from tests.web import rest
from tests.web.ops.conftest import Command, Said, Service
from tools import cli

AT = "2026-11-25T22:55:00+00:00"
CREATED = "2026-11-25T22:45:00Z"


def answer(path: str, _: Any) -> Any:
    """Of a cluster with two pods, a page each."""
    address = urlsplit(path)
    if address.path == "/api/clusters/1/pending":
        reason = {"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "pods": 2, "nodes": 6}
        return {"pods": 2, "queues": {"unschedulable": 2}, "reasons": [reason]}
    if address.path == "/api/clusters/1/objects/Pod/default/p2":
        return {"rv": 4, "manifest": rest.pod("p2", namespace="default", creationTimestamp=CREATED)}
    if address.path != "/api/clusters/1/objects":
        raise Refused('pods "p3" not found')
    name, after = ("p2", None) if "after=" in path else ("p1", "default/p1")
    manifest = rest.pod(name, namespace="default", creationTimestamp=CREATED) | {"status": {"phase": "Pending"}}
    return {"rv": 5, "seq": 7, "at": AT, "after": after, "objects": [{"rv": 4, "manifest": manifest}]}


def show(command: Command, *words: str) -> tuple[Said, list[dict[str, str]]]:
    """What the command says, and the queries that it asks with."""
    service = Service(answer, ("prod",))
    said = command(showing.show, service, "at", "prod", *words)
    return said, [dict(parse_qsl(urlsplit(path).query)) for path in service.paths]


def test_pods_are_printed_as_kubectl_does(command: Command) -> None:
    said, asked = show(command, "10m ago", "pods")
    assert said.code == 0
    assert [line.split() for line in said.lines] == [
        ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"],
        ["default", "p1", "0/1", "Pending", "0", "10m"],
        ["default", "p2", "0/1", "Pending", "0", "10m"],
    ]
    # The second page is of the same moment.
    assert [(each["kind"], each["at"], each.get("after")) for each in asked] == [
        ("Pod", "10m ago", None),
        ("Pod", "5.7", "default/p1"),
    ]


def test_one_pod_is_printed_or_said_to_be_absent(command: Command) -> None:
    said, asked = show(command, "10m ago", "pod", "p2", "--json")
    assert (said.code, [each["at"] for each in asked]) == (0, ["10m ago", "5.7"])
    (found,) = json.loads(said.out)["objects"]
    assert found["manifest"]["metadata"]["name"] == "p2"
    said, _ = show(command, "5.7", "pod", "p3")
    assert (said.code, said.err) == (1, 'ksched: pods "p3" not found\n')


def test_reasons_of_pending_pods_are_printed(command: Command) -> None:
    said, _ = show(command, "5.7", "pending")
    assert (said.code, said.lines[0]) == (0, "2 pods without a node; unschedulable 2")
    assert said.lines[2].split() == ["NodeResourcesFit", "Insufficient", "cpu", "2", "6"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("pending", "p1"), "pending takes no name"),
        (("pod", "p1", "p2"), "pod takes a name"),
        (("pod", "p1", "--csv"), "pod is no list: it takes no --csv, --sort and --columns"),
        (("pod",), "pod takes a name"),
        (("objects",), "objects takes a kind"),
    ],
)
def test_name_is_given_where_there_is_one(command: Command, words: tuple[str, ...], problem: str) -> None:
    said, _ = show(command, "5.7", *words)
    assert (said.code, said.err) == (2, f"ksched: {problem}\n")


class Listing:
    """Has one row in every list."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []

    def all(self, path: str) -> list[dict[str, Any]]:
        return [{"id": 3, "name": "prod"}]

    def call(self, method: str, path: str) -> tuple[int, Any]:
        address = urlsplit(path)
        what = address.path.rpartition("/")[2]
        self.asked.append((what, {name: value for name, (value,) in parse_qs(address.query).items()}))
        row = dict.fromkeys(column.name for column in LISTS[what].columns)
        return 200, {"results": [row], "total": 1, "next": None}


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("pods", "status:pending", "ns:web"), ("pods", {"q": "status:pending ns:web", "sort": "namespace"})),
        (("pods", "--sort=-attempts"), ("pods", {"sort": "-attempts"})),
        (("attempts",), ("attempts", {"sort": "-seq"})),
        (("nodes", "status:ready"), ("nodes", {"q": "status:ready", "sort": "name"})),
    ],
)
def test_lists_are_printed_as_their_commands_print_them(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    asked: tuple[str, dict[str, str]],
) -> None:
    service = Listing()
    monkeypatch.setattr(listing, "connect", lambda data_dir: service)
    assert showing.show(data_dir=Path("data"), options=cli.parser().parse_args(["at", "prod", "10m ago", *words])) == 0
    ((what, query),) = service.asked
    assert (what, query) == (asked[0], {"at": "10m ago", "limit": "50", **asked[1]})
    said = capsys.readouterr()
    assert said.out.splitlines()[0].split()[0] in ("NAMESPACE", "SEEN", "NAME")
    assert said.err == f"1 {asked[0].removesuffix('s')}\n"
