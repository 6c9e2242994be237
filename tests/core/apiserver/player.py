"""Plays recorded conversations with kube-apiserver against the rules, on a store in memory.

The recordings bring their own program that repeats and compares them (`replay.py`); here it talks to the rules where it
would open a connection. What only the wire knows is passed over: media types, authorization, malformed bodies.
"""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import json
import re
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from scheduler_core.apiserver import tables
from scheduler_core.apiserver.bodies import Body, read_json
from scheduler_core.apiserver.bootstrap import bootstrap_requests
from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.watch import BOOKMARK, Watch
from tests.core.apiserver.asking import NOW
from tools.conformance.kube_api import undated

Json = dict[str, Any]
RECORDED = Path(__file__).resolve().parents[4] / "shared" / "golden" / "kubeapi"
_AS = re.compile(r"as=(\w+);v=v1;g=meta\.k8s\.io")
_SECOND = 1_000_000
_AGENT = "kubeapi-replay"


class NotPlayableError(Exception):
    """The step needs more than rules."""


def scenarios(folder: Path, family: str) -> Iterator[Json]:
    """The recorded ones, whatever the day they were recorded on."""
    with gzip.open(folder / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(undated(line))


@lru_cache(maxsize=1)
def replay() -> Any:
    """The program that came with the recordings."""
    spec = importlib.util.spec_from_file_location("recorded_replay", RECORDED / "replay.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def play(scenario: Json) -> list[str]:
    """What differs, step by step; NotPlayableError when a step is none for the rules."""
    program = replay()
    client = _Client()
    # Pauses move the clock of the cluster and take no time.
    program.time = SimpleNamespace(time=time.time, sleep=client.advance)
    runner = program.Runner(client, scenario, "zabcdef")
    pairs = runner.run()
    if client.problem:
        raise NotPlayableError(client.problem)
    if runner.setup_error:
        return [runner.setup_error]
    matcher = program.Matcher("zabcdef")
    problems = []
    for number, (step, response) in enumerate(pairs):
        program.compare({**step, "skip": [*step.get("skip", ()), "ct"]}, step["expect"], response, matcher)
        at = f"step {number} {step.get('method', 'collect')} {step.get('path', '')}"
        problems += [f"{at} {each}" for each in matcher.diffs]
    return problems


class _Client:
    """What the program takes for a connection to a server: the rules on an empty cluster."""

    def __init__(self) -> None:
        numbers = itertools.count(0x51ED270B)
        self.problem = ""
        self._store = MemoryStore(keeps_history=True)
        self._server = ApiServer(
            self._store, lambda: str(uuid.UUID(int=next(numbers) * 0x9E3779B97F4A7C15 % (1 << 128))), is_simulated=False
        )
        self._now = NOW
        self._server.carry_out(bootstrap_requests(NOW), NOW)

    def advance(self, seconds: float) -> None:
        self._now += int(seconds * _SECOND)

    def request(
        self, method: str, path: str, user: str = "admin", headers: Json | None = None, body: bytes | None = None
    ) -> Any:
        reply = self._answer(method, path, user, headers or {}, body)
        if not isinstance(reply, Reply):
            self.problem = self.problem or f"a watch is not streamed: {path}"
            return replay().Resp(0, [], b"")
        return self._response(reply, (headers or {}).get("Accept") or "", path)

    def stream(
        self, path: str, user: str, headers: Json, until: int | None, timeout: float, *rest: Any, **_: Any
    ) -> Any:
        """A watch, which asks the log again and again, as a connection would wait."""
        watch = self._answer("GET", path, user, headers, None)
        ready = _.get("ready")
        if ready is not None:
            ready.set()
        if isinstance(watch, Reply):
            return self._response(watch, headers.get("Accept") or "", path)
        told = list(watch.initial)
        deadline = time.monotonic() + (0.3 if until is None else min(timeout, 3))
        while not watch.is_over and (until is None or self._count(told, rest) < until):
            told += watch.events(self._store.logged_after(watch.selection.kind, watch.position))
            if time.monotonic() > deadline:
                break
            time.sleep(0.002)
        shape = _AS.search(headers.get("Accept") or "")
        events: list[Json] = []
        for event in told:
            if event.type != BOOKMARK or (rest and rest[0]):
                manifest = event.manifest
                shown = manifest if shape is None else _object_as(manifest, shape[1], path, is_first=not events)
                events.append({"type": event.type, "object": shown})
        response = replay().Resp(200, self._headers(), b"")
        response.events = events if until is None else events[:until]
        response.closed = True
        return response

    def _count(self, told: list[Any], rest: tuple[Any, ...]) -> int:
        return len(told) if rest and rest[0] else sum(event.type != BOOKMARK for event in told)

    def _answer(self, method: str, path: str, user: str, headers: Json, body: bytes | None) -> Reply | Watch:
        bare, _, query = path.partition("?")
        media_type = (headers.get("Content-Type") or "application/json").split(";")[0]
        patch_type = PatchType(media_type) if media_type in set(PatchType) else None
        if (
            user != "admin"
            or (patch_type is None and media_type != "application/json")
            or (method == "PATCH" and patch_type is None)
        ):
            self.problem = self.problem or f"{method} {bare} as {user} in {media_type}"
        if headers.get("Content-Type", "") not in ("", media_type):
            self.problem = self.problem or f"media type {headers['Content-Type']}"
        try:
            decoded = read_json(body) if body else Body()
        except ValueError:
            self.problem = self.problem or f"{method} {bare} with a malformed body"
            decoded = Body()
        if self.problem:
            return Reply(0, {})
        call = Call(
            method, urllib.parse.unquote(bare), urllib.parse.parse_qs(query, keep_blank_values=True), decoded,
            patch_type or PatchType.MERGE, _AGENT,
        )  # fmt: skip
        return answer(self._server, call, self._now)

    def _response(self, reply: Reply, accept: str, path: str) -> Any:
        body = reply.body
        shape = _AS.search(accept)
        if shape is not None and reply.code < 300 and body.get("kind") != "Status":
            body = self._shown(reply, shape[1], path)
        told = [*self._headers(), *(("warning", f"299 - {json.dumps(text)}") for text in reply.warnings)]
        if reply.retry_after_seconds:
            told.append(("retry-after", str(reply.retry_after_seconds)))
        return replay().Resp(reply.code, told, json.dumps(body).encode())

    def _shown(self, reply: Reply, shape: str, path: str) -> Any:
        if reply.page is None:
            return _object_as(reply.stored, shape, path)
        if shape == "Table":
            return tables.table_of_page(reply.kind, reply.page, self._now, _include(path))
        return tables.metadata_of_page(reply.page)

    def _headers(self) -> list[tuple[str, str]]:
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(self._now // _SECOND))
        return [("content-type", "application/json"), ("date", date)]


def _object_as(manifest: Any, shape: str, path: str, *, is_first: bool = True) -> Json:
    if shape != "Table":
        return tables.metadata_of_object(manifest)
    table = tables.table_of_object(manifest, NOW, _include(path))
    return table if is_first else {**table, "columnDefinitions": None}


def _include(path: str) -> str:
    return urllib.parse.parse_qs(path.partition("?")[2]).get("includeObject", ["Metadata"])[0]
