"""`conformance --kube-api`: what is played against which server, and its exit codes."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kschedweb.environment import variables
from tools.conformance import main

# As the program beside the recordings: plays GETs and counts what agrees.
PROGRAM = """
import gzip, json, sys, urllib.request
def main(argv):
    base, token = argv[argv.index("--base") + 1], argv[argv.index("--token") + 1]
    passed = failed = 0
    with gzip.open(argv[-1], "rt") as lines:
        for step in map(json.loads, lines):
            request = urllib.request.Request(base + step["path"], headers={"Authorization": "Bearer " + token})
            agrees = urllib.request.urlopen(request).read().decode() == step["text"]
            passed, failed = passed + agrees, failed + (not agrees)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
"""


@pytest.fixture
def server() -> Iterator[str]:
    class Echo(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            told = f"{self.path} {self.headers['Authorization']}" if self.path == "/version" else "3 (<age> ago)"
            self.wfile.write(told.encode())

        def log_message(self, *_: object) -> None:
            pass

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    thread.join()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    (tmp_path / "replay.py").write_text(PROGRAM)
    path = tmp_path / "own.jsonl.gz"
    with gzip.open(path, "wt") as lines:
        lines.write(json.dumps({"path": "/version", "text": "/version Bearer t"}) + "\n")
    return path


def test_agreement_is_told_last(server: str, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kube-api", "--server", server, "--token", "t", str(recording)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"


def test_difference_is_exit_code_1(server: str, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kube-api", "--server", server, "--token", "other", str(recording)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed"


def test_age_that_was_recorded_on_another_day_agrees(
    server: str, tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a folder; the program knows `<age>` for any."""
    recording.write_bytes(gzip.compress(json.dumps({"path": "/age", "text": "3 (6y327d ago)"}).encode()))
    assert main(["--kube-api", "--server", server, "--token", "t", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"


def test_folder_without_recordings_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kube-api", str(tmp_path)]) == 2
    assert "no recordings" in capsys.readouterr().err


def test_server_needs_a_token(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kube-api", "--server", "http://127.0.0.1:1", str(recording)]) == 2
    assert "--token" in capsys.readouterr().err


@pytest.mark.slow
def test_service_is_started_where_none_is_named(
    recording: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*variables(), "DJANGO_SETTINGS_MODULE"):
        monkeypatch.delenv(name, raising=False)  # of the run of tests
    assert main(["--kube-api", str(recording)]) == 1
    assert capsys.readouterr().out.endswith("0 passed, 1 failed\n"), "a version that nobody has was played"
