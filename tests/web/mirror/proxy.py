"""A proxy between a mirror and the API it follows: counts what passes, and does what networks and servers do."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import orjson

from tests.waiting import HANG_SECONDS

ERROR_410 = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


@dataclass(frozen=True)
class Passing:
    """One request on its way."""

    method: str
    path: str
    query: dict[str, list[str]]

    @property
    def is_watch(self) -> bool:
        return "watch" in self.query


@dataclass(frozen=True)
class Fault:
    """What is done to a request instead of passing it on, or after a pause of seconds."""

    status: int = 0  # 0: it is passed on
    pause: float = 0.0
    retry_after: int = 0
    error_event: bool = False  # answer with a watch that holds one ERROR event, 410
    cut_after: int | None = None  # bytes of the answer, then the connection breaks


Plan = Callable[[Passing], Fault | None]


@dataclass
class Proxy:
    """`plan` says what happens to a request; None: nothing."""

    port: int
    target: int
    plan: Plan = lambda _: None
    verbs: Counter[str] = field(default_factory=Counter)
    seen: list[Passing] = field(default_factory=list)
    _open: set[socket.socket] = field(default_factory=set)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def watches_of(self, plural: str) -> int:
        with self._guard:
            return sum(each.path.endswith(f"/{plural}") and each.is_watch for each in self.seen)

    def lists_of(self, plural: str) -> int:
        """How often a list of the kind was begun."""
        with self._guard:
            return sum(
                each.path.endswith(f"/{plural}") and not each.is_watch and "continue" not in each.query
                for each in self.seen
            )

    def cut(self) -> None:
        """Break all connections."""
        with self._guard:
            found = list(self._open)
        for each in found:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _handler(proxy: Proxy) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def handle_one_request(self) -> None:
            with proxy._guard:
                proxy._open.add(self.connection)
            with contextlib.suppress(OSError, http.client.HTTPException):
                super().handle_one_request()

        def finish(self) -> None:
            with proxy._guard:
                proxy._open.discard(self.connection)
            with contextlib.suppress(OSError):
                super().finish()

        def _pass(self) -> None:
            address = urlsplit(self.path)
            passing = Passing(self.command, address.path, parse_qs(address.query))
            with proxy._guard:
                proxy.verbs[self.command] += 1
                proxy.seen.append(passing)
            fault = proxy.plan(passing) or Fault()
            time.sleep(fault.pause)
            if fault.status:
                self._answer(fault.status, orjson.dumps({"message": f"fault {fault.status}"}), fault.retry_after)
            elif fault.error_event:
                self._answer(200, orjson.dumps({"type": "ERROR", "object": ERROR_410}) + b"\n")
            else:
                self._forward(fault.cut_after)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _pass

        def _answer(self, status: int, body: bytes, retry_after: int = 0) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if retry_after:
                self.send_header("Retry-After", str(retry_after))
            self.end_headers()
            self.wfile.write(body)

        def _forward(self, cut_after: int | None) -> None:
            upstream = http.client.HTTPConnection("127.0.0.1", proxy.target, timeout=HANG_SECONDS)
            self.close_connection = True
            sent = 0
            try:
                upstream.request(self.command, self.path, headers=dict(self.headers.items()))
                answer = upstream.getresponse()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                while part := answer.read1(1 << 14):
                    if cut_after is not None and sent + len(part) > cut_after:
                        self.wfile.write(part[: cut_after - sent])
                        self.connection.shutdown(socket.SHUT_RDWR)
                        return
                    self.wfile.write(part)
                    self.wfile.flush()
                    sent += len(part)
            finally:
                upstream.close()

    return Handler


@contextmanager
def proxying(target: int) -> Iterator[Proxy]:
    """A proxy to a port of this machine."""
    proxy = Proxy(0, target)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy))
    server.daemon_threads = True
    proxy.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        proxy.cut()
        server.server_close()
