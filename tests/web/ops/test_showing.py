"""What `./ksched at` asks and prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from kschedweb.ops import showing
from kschedweb.ops.client import Refused
from tests.web import rest
from tools import cli

AT = "2026-11-25T22:55:00+00:00"
CREATED = "2026-11-25T22:45:00Z"


class Service:
    """Has two pods, a page each."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []

    def all(self, path: str) -> list[dict[str, Any]]:
        return [{"id": 3, "name": "prod"}]

    def call(self, method: str, path: str) -> tuple[int, Any]:
        address = urlsplit(path)
        query = {name: value for name, (value,) in parse_qs(address.query).items()}
        self.asked.append(query)
        if address.path == "/api/clusters/3/pending":
            reason = {"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "pods": 2, "nodes": 6}
            return 200, {"pods": 2, "queues": {"unschedulable": 2}, "reasons": [reason]}
        if address.path == "/api/clusters/3/objects/Pod/default/p2":
            return 200, {"rv": 4, "manifest": rest.pod("p2", namespace="default", creationTimestamp=CREATED)}
        if address.path != "/api/clusters/3/objects":
            raise Refused('pods "p3" not found')
        name, after = ("p2", None) if "after" in query else ("p1", "default/p1")
        manifest = rest.pod(name, namespace="default", creationTimestamp=CREATED) | {"status": {"phase": "Pending"}}
        page = {"rv": 5, "seq": 7, "at": AT, "after": after, "objects": [{"rv": 4, "manifest": manifest}]}
        return 200, page


def run(monkeypatch: pytest.MonkeyPatch, service: Service, *words: str) -> int:
    monkeypatch.setattr(showing, "connect", lambda data_dir: service)
    return showing.show(data_dir=Path("data"), options=cli.parser().parse_args(["at", "prod", *words]))


def test_pods_are_printed_as_kubectl_does(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    service = Service()
    assert run(monkeypatch, service, "10m ago", "pods") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"],
        ["default", "p1", "0/1", "Pending", "0", "10m"],
        ["default", "p2", "0/1", "Pending", "0", "10m"],
    ]
    # The second page is of the same moment.
    assert [(each["kind"], each["at"], each.get("after")) for each in service.asked] == [
        ("Pod", "10m ago", None),
        ("Pod", "5.7", "default/p1"),
    ]


def test_one_pod_is_printed_or_said_to_be_absent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service()
    assert run(monkeypatch, service, "10m ago", "pod", "p2", "--json") == 0
    assert [each["at"] for each in service.asked] == ["10m ago", "5.7"]
    (found,) = json.loads(capsys.readouterr().out)["objects"]
    assert found["manifest"]["metadata"]["name"] == "p2"
    assert run(monkeypatch, Service(), "5.7", "pod", "p3") == 1
    assert capsys.readouterr().err == 'ksched: pods "p3" not found\n'


def test_reasons_of_pending_pods_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, Service(), "5.7", "pending") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 pods without a node; unschedulable 2"
    assert lines[2].split() == ["NodeResourcesFit", "Insufficient", "cpu", "2", "6"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("pods", "p1"), "pods takes no name"),
        (("pod",), "pod takes a name"),
        (("objects",), "objects takes a kind"),
    ],
)
def test_name_is_given_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    assert run(monkeypatch, Service(), "5.7", *words) == 2
    assert capsys.readouterr().err == f"ksched: {problem}\n"
