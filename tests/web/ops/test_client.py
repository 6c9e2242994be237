"""`./ksched import` against a service that answers what the test says."""

import argparse
import io
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kschedweb.environment import ROOT
from kschedweb.ops import cli, client, given, supervisor
from kschedweb.ops.setup import CREDENTIAL_FILE
from tests.cases import cases
from tests.web.ops.conftest import Said

Answers = dict[tuple[str, str], list[tuple[int, Any]]]


class Service:
    """What it answers, what it was asked, and what the command says of that."""

    def __init__(self, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.answers: Answers = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self._data_dir, self._capsys = data_dir, capsys

    def import_(self, *files: Path, **options: Any) -> Said:
        """Import files, one of no content unless they are named."""
        if not files:
            files = (self._data_dir / "x.json",)
            files[0].write_text("{}")
        code = client.import_files(data_dir=self._data_dir, options=_options(*files, **options))
        return Said(code, *self._capsys.readouterr())

    def answer(self, *answers: tuple[int, Any], mode: str = "frozen", **others: list[tuple[int, Any]]) -> None:
        """A cluster x is there, and its import is answered so; others by the last part of their paths."""
        self.answers = {
            ("GET", "/api/clusters"): [(200, [_cluster(2, "x", mode)])],
            ("POST", "/api/clusters/2/import"): [*answers],
            **{("GET", f"/api/clusters/2/{path}"): given for path, given in others.items()},
        }


@pytest.fixture
def service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Service]:
    state = Service(tmp_path, capsys)

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
        "seed": None, "wait": False, "digest": False, "json": False,
    }  # fmt: skip
    return argparse.Namespace(files=[str(file) for file in files], **{**standard, **changes})


def _cluster(pk: int, name: str, mode: str = "frozen") -> dict[str, Any]:
    return {"id": pk, "name": name, "lifecycle_mode": mode}


def _report(**changes: Any) -> dict[str, Any]:
    standard: dict[str, Any] = {
        "files": [], "kinds": {}, "kept": 0, "admitted": 0, "not_understood": {}, "refused": [], "refused_total": 0,
        "resources": {}, "notes": [], "rv": 1, "seconds": 0.1,
    }  # fmt: skip
    return {**standard, **changes}


def test_import_makes_the_cluster_and_sends_all_files_in_one_request(service: Service, tmp_path: Path) -> None:
    first, second = tmp_path / "My nodes.csv", tmp_path / "pods.csv"
    first.write_bytes(b"one\r\n--x")
    second.write_bytes(b"two")
    service.answers = {
        ("GET", "/api/clusters"): [(200, {"results": [_cluster(1, "other")], "next": None})],
        ("POST", "/api/clusters"): [(201, _cluster(7, "my-nodes"))],
        ("POST", "/api/clusters/7/import"): [(200, _report(kinds={"Node": {"created": 3}}))],
    }
    said = service.import_(first, second, replace=True, seed=5)
    made, sent = service.asked[1], service.asked[2]
    assert json.loads(made[3]) == {"name": "my-nodes", "seed": 5}
    assert sent[1] == "/api/clusters/7/import?admission=auto&replace=true"
    assert b'filename="My nodes.csv"' in sent[3] and b"\r\n\r\none\r\n--x\r\n--" in sent[3]
    assert b'filename="pods.csv"' in sent[3] and b"\r\n\r\ntwo\r\n--" in sent[3]
    assert sent[2]["Authorization"] == "Bearer t0ken"
    assert said.code == 0 and "Node        3" in said.out


@pytest.mark.parametrize(
    ("mode", "lifecycle", "is_told"),
    [("frozen", None, True), ("simulate", "frozen", True), ("simulate", None, False), ("frozen", "simulate", False)],
)
def test_import_says_what_the_scheduler_does_in_a_frozen_cluster(
    service: Service, mode: str, lifecycle: str | None, is_told: bool
) -> None:
    service.answer((201, _report()), mode=mode)
    said = service.import_(lifecycle=lifecycle)
    assert said.code == 0
    assert ("decides, binds and preempts in this copy" in said.out) is is_told


IMPORT_PAGE = ROOT / "docs" / "import.md"
PAGES = [IMPORT_PAGE, ROOT / "docs" / "known-limits.md"]
IN_BLOCKS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
A_COMMAND = re.compile(r"(?:(?:helm|kubectl) [^|]*\| (?:gzip \| )?)?\./ksched (import .*)")
COMMANDS = re.findall(r"^(?:.*\| )?\./ksched (import [^#\n]*)", IMPORT_PAGE.read_text(), re.MULTILINE)


def test_each_command_of_the_pages_is_carried_out_below() -> None:
    """All that stands in blocks for a shell, in whatever form: nothing there is passed over by the pattern."""
    lines = [line.partition("#")[0].strip() for page in PAGES for block in IN_BLOCKS.findall(page.read_text())
             for line in block.splitlines() if line.strip()]  # fmt: skip
    found = [A_COMMAND.fullmatch(line) for line in lines]
    assert [line for line, match in zip(lines, found, strict=True) if match is None] == []
    assert [match[1] for match in found if match] == [command.strip() for command in COMMANDS]
    for page in PAGES:
        assert page.read_text().count("```") == 2 * len(IN_BLOCKS.findall(page.read_text())), page


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_are_carried_out(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"kind: Pod\n")))
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r" ([\w.-]+(?:\.json|\.gz|/))", command):
        at = tmp_path / name
        (at if name.endswith("/") else tmp_path).mkdir(exist_ok=True)
        (at / "a.yaml" if name.endswith("/") else at).write_text("kind: Pod\n")
    service.answers = {
        ("GET", "/api/clusters"): [(200, [])],
        ("POST", "/api/clusters"): [(201, _cluster(7, "made"))],
        ("POST", "/api/clusters/7/import"): [(201, {"status": "done", "report": _report()})],
        ("GET", "/api/clusters/7/summary"): [(200, _summary(0))],
    }
    assert cli.main([*command.split(), "--data-dir", str(tmp_path)]) == 0
    sent = next(body for method, path, _, body in service.asked if path.startswith("/api/clusters/7/import"))
    assert sent.count(b"filename=") == len(command.partition(" --")[0].split()) - 1


def test_import_goes_into_the_cluster_of_that_name_on_a_later_page(service: Service) -> None:
    service.answers = {
        ("GET", "/api/clusters"): [
            (200, {"results": [_cluster(1, "a")], "next": "http://h/api/clusters?cursor=2"}),
            (200, {"results": [_cluster(2, "b")], "next": None}),
        ],
        ("POST", "/api/clusters/2/import"): [(200, _report())],
    }
    assert service.import_(cluster="b").code == 0
    assert service.asked[1][1] == "/api/clusters?cursor=2"


def test_import_follows_a_large_upload_to_its_end(quick: None, service: Service) -> None:
    done = {"id": "u", "status": "done", "report": _report(kept=12)}
    then = {"imports/u": [(200, {"id": "u", "status": "running"}), (200, done)]}
    service.answer((202, {"id": "u", "status": "queued"}), **then)
    said = service.import_()
    assert said.code == 0 and "12 stored as they were" in said.out


@cases(
    "status, answer",
    ("refused at once", 400, {"code": "bad", "message": "document 2: no kind", "extra": {}}),
    ("failed later", 202, {"id": "u", "status": "failed", "error": {"code": "bad", "message": "document 2: no kind"}}),
)
def test_import_prints_the_reason_when_it_is_refused(service: Service, status: int, answer: dict[str, Any]) -> None:
    service.answer((status, answer))
    said = service.import_()
    assert (said.code, said.err) == (1, "ksched: document 2: no kind\n")


PLACE = {"file": "x.json", "document": 2, "object": "Pod a", "field": "spec.priority", "detail": "expected a number"}
REFUSAL = {
    "code": "upload_invalid",
    "message": "x.json: document 2 (Pod a): spec.priority: expected a number",
    "extra": PLACE,
}


@cases(
    "answer, told",
    ("what the message says is not said again", REFUSAL, f"ksched: {REFUSAL['message']}\n"),
    ("what it does not say is", {"code": "c", "message": "too large", "extra": {"limit": 50, "problems": ["one", "two"],
     "cluster": None}}, "ksched: too large\nlimit: 50\nproblems: one\nproblems: two\n"),
    ("problems of a configuration", {"code": "invalid", "message": "no", "extra": {"problems": [{"line": 3,
     "path": "a.b", "message": "bad", "found": "x", "expected": "y"}]}},
     "ksched: no\nLINE  FIELD  PROBLEM\n3     a.b    bad (expected: y)\n"),
    ("parts of an upload", {"code": "upload_refused", "message": "3 parts of the upload cannot be taken", "extra": {
     "refused": [{"message": "a.yaml: document 1: no"}, {"message": "b.yaml: document 2: no"}], "refused_total": 3}},
     "ksched: 3 parts of the upload cannot be taken\n  a.yaml: document 1: no\n  b.yaml: document 2: no\n"
     "  and 1 more\n"),
    ("fields", {"code": "invalid", "message": "a: no", "extra": {"fields": {"a": ["no"], "b": ["nor this"]}}},
     "ksched: a: no\nb: nor this\n"),
)  # fmt: skip
def test_people_are_told_each_fact_of_a_refusal_once(service: Service, answer: dict[str, Any], told: str) -> None:
    service.answer((400, answer))
    said = service.import_()
    assert (said.code, said.err) == (1, told)
    said = service.import_(json=True)
    assert (said.code, json.loads(said.out)) == (1, {"error": answer})


def test_people_get_tables_of_an_import_and_programs_one_document(service: Service) -> None:
    report = _report(
        files=[{"name": "x.json", "format": "json", "bytes": 12345, "documents": 1, "objects": 35}],
        kinds={"Node": {"created": 3}, "Pod": {"created": 30, "refused": 2}},
        kept=33,
        refused=[
            {"message": "x.json: item 7 (Pod a): no", "file": "x.json", "object": "a", "field": "", "detail": "no"}
        ],
        refused_total=2,
        resources={
            "cpu": {"demand": 1500, "capacity": 96000},
            "memory": {"demand": 3 << 29, "capacity": 1 << 40},
            "pods": {"demand": 30, "capacity": 330},
        },
        notes=["Left out, never imported: Secret (1)."],
    )
    service.answer((201, {"status": "done", "report": report}), mode="simulate")
    said = service.import_()
    assert said.code == 0
    assert said.lines[:-1] == [
        "cluster x (id 2)",
        "",
        "FILE    FORMAT   BYTES  OBJECTS",
        "x.json  json    12,345       35",
        "",
        "KIND  CREATED  REFUSED",
        "Node        3        0",
        "Pod        30        2",
        "",
        "2 refused:",
        "  x.json: item 7 (Pod a): no",
        "  and 1 more",
        "",
        "RESOURCE  REQUESTED  AVAILABLE",
        "cpu             1.5       96.0",
        "memory        1.5Gi  1,024.0Gi",
        "pods             30        330",
        "",
        "33 stored as they were, 0 admitted",
        "Left out, never imported: Secret (1).",
    ]
    document = json.loads(service.import_(json=True).out)
    assert (document["cluster"], document["report"]) == ({"id": 2, "name": "x"}, report)


@cases(
    "name, want",
    ("blanks and endings", "My dump.json.gz", "my-dump"),
    ("underscores", "openb_node_list.csv", "openb-node-list"),
    ("nothing left", "_.yaml", "imported"),
    ("too long", "a" * 90, "a" * 63),
    ("standard input", "-", "imported"),
)
def test_default_name_is_a_label(name: str, want: str) -> None:
    assert given.default_name(Path(name)) == want


def _summary(pods: int, volcano: int = 0, unseen: int = 0, **queues: int) -> dict[str, Any]:
    reasons = [{"plugin": "NodeName", "reason": "no", "pods": pods}] if pods else []
    unqueued = {"no_profile": {"volcano": volcano} if volcano else {}, "unseen": unseen}
    profiles = ["default-scheduler", "gpu"]
    return {
        "objects": {"Pod": 9},
        "pending": {"pods": pods, "queues": queues, "unqueued": unqueued, "profiles": profiles, "reasons": reasons},
        "overcommitted": [],
    }


def _waiting(service: Service, *summaries: dict[str, Any]) -> Said:
    service.answer(
        (201, {"status": "done", "report": _report()}),
        summary=[(200, summary) for summary in summaries],
        digest=[(200, {"digest": "d1g35t", "attempts": 9, "scheduled": 6})],
    )
    return service.import_(wait=True, digest=True)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(client, "STALLED_SECONDS", 0.1)


def test_wait_ends_when_every_pod_is_bound_or_has_a_reason(quick: None, service: Service) -> None:
    under_way = [_summary(9), _summary(9, active=9), _summary(5, assumed=2, unschedulable=3)]
    said = _waiting(service, *under_way, _summary(4, unschedulable=2, backoff=1, gated=1))
    assert said.code == 0 and "9 pods, 4 of them pending" in said.out
    assert "digest of first attempts: d1g35t" in said.out
    assert sum(path == "/api/clusters/2/summary" for _, path, _, _ in service.asked) == 4


def test_wait_gives_up_when_nothing_changes(quick: None, service: Service) -> None:
    assert _waiting(service, _summary(9, active=9)).code == 1


def test_wait_is_not_for_pods_that_no_profile_has(quick: None, service: Service) -> None:
    seen = _summary(5, volcano=2, unschedulable=2, gated=1)
    said = _waiting(service, _summary(5, volcano=2, unseen=2, gated=1), seen)
    assert said.code == 0 and "9 pods, 5 of them pending" in said.lines
    assert "       2  no profile is called volcano; the configuration has default-scheduler, gpu" in said.lines


def test_given_up_wait_tells_where_all_pending_pods_are(quick: None, service: Service) -> None:
    said = _waiting(service, _summary(9, volcano=2, unseen=3, active=4))
    assert said.code == 1
    assert "9 pods, 9 of them pending (active 4, without a profile 2, not seen yet 3)" in said.out
