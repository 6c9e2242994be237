"""What `./ksched export` asks for, and the file it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import pytest

from kschedweb.ops import exporting
from kschedweb.ops.client import Refused
from tests.cases import cases
from tools import cli


class Service:
    """Sends a few bytes, or stops."""

    def __init__(self, *, stops: bool = False) -> None:
        self.stops = stops
        self.asked: list[str] = []

    def all(self, path: str) -> list[dict[str, Any]]:
        return [{"id": 7, "name": "prod"}]

    def download(self, path: str, file: BinaryIO) -> int:
        self.asked.append(path)
        file.write(b"history")
        if self.stops:
            raise Refused("the service stopped before the end")
        return 7


def run(monkeypatch: pytest.MonkeyPatch, service: Service, *words: str) -> int:
    monkeypatch.setattr(exporting, "connect", lambda data_dir: service)
    return exporting.export(data_dir=Path("data"), options=cli.parser().parse_args(["export", "prod", *words]))


@cases(
    "words, query",
    ("all", (), ""),
    ("a moment", ("--at", "10m ago"), "?from=10m+ago&to=10m+ago"),
    ("a span", ("--from", "1.2", "--to", "3.4"), "?from=1.2&to=3.4"),
    ("up to then", ("--to", "3.4"), "?to=3.4"),
    ("without names", ("--anonymise", "--at", "1.2"), "?from=1.2&to=1.2&anonymise=true"),
)
def test_history_is_asked_for_and_kept(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    query: str,
) -> None:
    service, out = Service(), tmp_path / "a.history"
    assert run(monkeypatch, service, *words, "--out", str(out)) == 0
    assert service.asked == [f"/api/clusters/7/history/export{query}"]
    assert out.read_bytes() == b"history" and list(tmp_path.iterdir()) == [out]
    assert capsys.readouterr().out.startswith(f"{out}: 7 bytes;")


def test_file_that_did_not_come_whole_is_not_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "a.history"
    out.write_bytes(b"before")
    assert run(monkeypatch, Service(stops=True), "--out", str(out)) == 1
    assert out.read_bytes() == b"before" and list(tmp_path.iterdir()) == [out]


def test_one_moment_is_no_span(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(monkeypatch, Service(), "--at", "1.2", "--to", "3.4", "--out", str(tmp_path / "x")) == 2


def test_file_that_cannot_be_written_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, Service(), "--out", str(tmp_path / "no" / "x")) == 1
    assert "cannot write" in capsys.readouterr().err
