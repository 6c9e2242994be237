"""What `./ksched prune` asks and says."""

import json
from pathlib import Path
from typing import Any

import pytest

from kschedweb.ops import pruning
from tools import cli


class Service:
    """Answers as the service does."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, float]]] = []

    def all(self, path: str) -> list[dict[str, Any]]:
        return [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]

    def post(self, path: str, values: dict[str, float]) -> dict[str, Any]:
        self.asked.append((path, values))
        return self.answers.pop(0)


def answer(**changes: Any) -> dict[str, Any]:
    return {"cut_at": None, "rows": {}, "more": False, "waits_for_checkpoint": False} | changes


def run(monkeypatch: pytest.MonkeyPatch, service: Service, *words: str) -> int:
    monkeypatch.setattr(pruning, "connect", lambda data_dir: service)
    return pruning.prune(data_dir=Path("data"), options=cli.parser().parse_args(["prune", *words]))


def test_a_cluster_is_asked_until_it_has_no_more_to_give(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = {"cut_at": "2026-01-01T00:00:00Z"}
    service = Service(answer(rows={"log": 5}, more=True, **cut), answer(rows={"log": 2, "events": 0}, **cut))
    assert run(monkeypatch, service, "--cluster", "b", "--hours", "2") == 0
    assert service.asked == [("/api/clusters/2/prune", {"hours": 2.0})] * 2
    assert capsys.readouterr().out == "b: cut at 2026-01-01T00:00:00Z; rows gone: log 7\n"


def test_programs_get_one_document(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    done = answer(rows={"log": 5}), answer()
    assert run(monkeypatch, Service(*done), "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"a": done[0], "b": done[1]}


def test_all_clusters_are_told_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, Service(answer(), answer(waits_for_checkpoint=True))) == 0
    assert capsys.readouterr().out.splitlines() == [
        "a: nothing to clear away",
        "b: nothing went; there is no checkpoint yet that is old enough to be cut at",
    ]


def test_unknown_cluster_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, Service(), "--cluster", "c") == 1
    assert "no cluster named c" in capsys.readouterr().err
