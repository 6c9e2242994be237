"""`./ksched import` against a service that answers what the test says."""

import argparse
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kschedweb.ops import client, supervisor
from kschedweb.ops.setup import CREDENTIAL_FILE

Answers = dict[tuple[str, str], list[tuple[int, Any]]]


class Service:
    """What it answers, and what it was asked."""

    def __init__(self) -> None:
        self.answers: Answers = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    state = Service()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.asked.append((self.command, self.path, dict(self.headers), body))
            left = state.answers[(self.command, self.path.partition("?")[0])]
            status, value = left.pop(0) if len(left) > 1 else left[0]
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    status = {"host": "127.0.0.1", "port": server.server_port, "processes": {}}
    supervisor.status_path(tmp_path).write_text(json.dumps(status))
    (tmp_path / CREDENTIAL_FILE).write_text(json.dumps({"token": "t0ken"}))
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def _options(*files: Path, **changes: Any) -> argparse.Namespace:
    standard: dict[str, Any] = {
        "cluster": None, "replace": False, "partial": False, "admission": "auto", "lifecycle": None,
        "seed": None, "wait": False, "digest": False,
    }  # fmt: skip
    return argparse.Namespace(files=list(files), **{**standard, **changes})


def test_import_makes_the_cluster_and_sends_all_files_in_one_request(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "My nodes.csv", tmp_path / "pods.csv"
    first.write_bytes(b"one\r\n--x")
    second.write_bytes(b"two")
    service.answers = {
        ("GET", "/api/clusters"): [(200, {"results": [{"id": 1, "name": "other"}], "next": None})],
        ("POST", "/api/clusters"): [(201, {"id": 7, "name": "my-nodes"})],
        ("POST", "/api/clusters/7/import"): [(200, {"kinds": {"Node": {"created": 3}}})],
    }
    assert client.import_files(data_dir=tmp_path, options=_options(first, second, replace=True, seed=5)) == 0
    made, sent = service.asked[1], service.asked[2]
    assert json.loads(made[3]) == {"name": "my-nodes", "seed": 5}
    assert sent[1] == "/api/clusters/7/import?admission=auto&replace=true"
    assert b'filename="My nodes.csv"' in sent[3] and b"\r\n\r\none\r\n--x\r\n--" in sent[3]
    assert b'filename="pods.csv"' in sent[3] and b"\r\n\r\ntwo\r\n--" in sent[3]
    assert sent[2]["Authorization"] == "Bearer t0ken"
    assert '"created": 3' in capsys.readouterr().out


def test_import_goes_into_the_cluster_of_that_name_on_a_later_page(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("{}")
    service.answers = {
        ("GET", "/api/clusters"): [
            (200, {"results": [{"id": 1, "name": "a"}], "next": "http://h/api/clusters?cursor=2"}),
            (200, {"results": [{"id": 2, "name": "b"}], "next": None}),
        ],
        ("POST", "/api/clusters/2/import"): [(200, {})],
    }
    assert client.import_files(data_dir=tmp_path, options=_options(file, cluster="b")) == 0
    assert service.asked[1][1] == "/api/clusters?cursor=2"


def test_import_follows_a_large_upload_to_its_end(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "POLL_SECONDS", 0.01)
    file = tmp_path / "x.json"
    file.write_text("{}")
    service.answers = {
        ("GET", "/api/clusters"): [(200, [{"id": 2, "name": "x"}])],
        ("POST", "/api/clusters/2/import"): [(202, {"id": "u", "status": "queued"})],
        ("GET", "/api/clusters/2/imports/u"): [
            (200, {"id": "u", "status": "running"}),
            (200, {"id": "u", "status": "done", "report": {"kept": 12}}),
        ],
    }
    assert client.import_files(data_dir=tmp_path, options=_options(file)) == 0
    assert '"kept": 12' in capsys.readouterr().out


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([(400, {"code": "bad", "message": "document 2: no kind", "extra": {}})], id="refused at once"),
        pytest.param(
            [(202, {"id": "u", "status": "failed", "error": {"code": "bad", "message": "document 2: no kind"}})],
            id="failed later",
        ),
    ],
)
def test_import_prints_the_reason_when_it_is_refused(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: list[tuple[int, Any]]
) -> None:
    file = tmp_path / "x.json"
    file.write_text("{}")
    service.answers = {
        ("GET", "/api/clusters"): [(200, [{"id": 2, "name": "x"}])],
        ("POST", "/api/clusters/2/import"): answer,
    }
    assert client.import_files(data_dir=tmp_path, options=_options(file)) == 1
    assert capsys.readouterr().err == "ksched: document 2: no kind\n"


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("My dump.json.gz", "my-dump", id="blanks and endings"),
        pytest.param("openb_node_list.csv", "openb-node-list", id="underscores"),
        pytest.param("_.yaml", "imported", id="nothing left"),
        pytest.param("a" * 90, "a" * 63, id="too long"),
    ],
)
def test_default_name_is_a_label(name: str, want: str) -> None:
    assert client.default_name(Path(name)) == want


def _summary(pods: int, **queues: int) -> dict[str, Any]:
    reasons = [{"plugin": "NodeName", "reason": "no", "pods": pods}] if pods else []
    return {
        "objects": {"Pod": 9},
        "pending": {"pods": pods, "queues": queues, "reasons": reasons},
        "overcommitted": [],
    }


def _waiting(service: Service, tmp_path: Path, *summaries: dict[str, Any]) -> int:
    file = tmp_path / "x.json"
    file.write_text("{}")
    service.answers = {
        ("GET", "/api/clusters"): [(200, [{"id": 2, "name": "x"}])],
        ("POST", "/api/clusters/2/import"): [(201, {"status": "done", "report": {}})],
        ("GET", "/api/clusters/2/summary"): [(200, summary) for summary in summaries],
        ("GET", "/api/clusters/2/digest"): [(200, {"digest": "d1g35t", "attempts": 9, "scheduled": 6})],
    }
    return client.import_files(data_dir=tmp_path, options=_options(file, wait=True, digest=True))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(client, "STALLED_SECONDS", 0.1)


def test_wait_ends_when_every_pod_is_bound_or_has_a_reason(
    quick: None, service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    under_way = [_summary(9), _summary(9, active=9), _summary(5, assumed=2, unschedulable=3)]
    assert _waiting(service, tmp_path, *under_way, _summary(4, unschedulable=2, backoff=1, gated=1)) == 0
    said = capsys.readouterr().out
    assert "9 pods, 4 of them pending" in said
    assert "digest of first attempts: d1g35t" in said
    assert sum(path == "/api/clusters/2/summary" for _, path, _, _ in service.asked) == 4


def test_wait_gives_up_when_nothing_changes(quick: None, service: Service, tmp_path: Path) -> None:
    assert _waiting(service, tmp_path, _summary(9, active=9)) == 1
