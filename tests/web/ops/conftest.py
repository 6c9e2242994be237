"""Commands of `./ksched`, run in the process of the test on a service that answers what the test says."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kschedweb.ops import beside
from tools import cli


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass
class Service:
    """Stands in for a client of the service: `answer` makes the answer to a path and what was sent to it."""

    answer: Callable[[str, Any], Any]
    clusters: tuple[str, ...] = ("c",)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)  # method, path, body

    @property
    def paths(self) -> list[str]:
        return [path for _, path, _ in self.asked]

    def all(self, path: str) -> list[dict[str, Any]]:
        return [{"id": number, "name": name} for number, name in enumerate(self.clusters, start=1)]

    def call(self, method: str, path: str, body: Any = None, content_type: str = "") -> tuple[int, Any]:
        self.asked.append((method, path, body))
        return 200, self.answer(path, body)

    def post(self, path: str, values: Any) -> Any:
        return self.call("POST", path, values)[1]


def ask_here(data_dir: Path, module: str, words: Sequence[str] = (), given: str = "") -> Any:
    """Stands in for `beside.ask`: what the program tells when it runs in this process."""
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            importlib.import_module(module).main(words)
    except SystemExit as end:
        raise beside.Failed(str(end)) from None
    return json.loads(told.getvalue())


Command = Callable[..., Said]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """`command(finding.find, service, "find", "web")`: run `./ksched find web` where that service is the one there."""

    def run(entry: Callable[..., int], service: Any, *words: str) -> Said:
        monkeypatch.setattr(sys.modules[entry.__module__], "connect", lambda _: service)
        code = entry(data_dir=tmp_path, options=cli.parser().parse_args(words))
        return Said(code, *capsys.readouterr())

    return run
