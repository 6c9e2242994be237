"""The way to an extender over HTTP: one POST of JSON per question, within the time there is for it.

Only hosts of KSCHED_EXTENDER_HOSTS are asked: without that list whoever may write a configuration could make a worker
send requests to anything it reaches. The list is checked before anything else of the configuration is used.

A question, from the name's look-up to the last byte, is over after `httpTimeout`, and all questions of a step together
after the time of their `StepTime`: a longer `httpTimeout` counts as that, since a step that runs on stops every
cluster of its worker. Only status 200 is an answer, redirects are not followed, and an answer ends at 64 MiB. Whatever
goes wrong, or is odd about an answer or a verb, is an `ExtenderError`; TLS settings that cannot be used are a
`ConfigError` before the first question.
Source: kubernetes v1.34.1, pkg/scheduler/extender.go (NewHTTPExtender, send).
"""

from __future__ import annotations

import io
import math
import re
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from django.conf import settings

from kschedweb.cluster.extender_tls import tls_context, words_of
from scheduler_core.config.types import Extender
from scheduler_core.errors import ConfigError, ConfigProblem, ExtenderError

MAX_ANSWER_BYTES = 64 << 20
CHUNK_BYTES = 64 << 10
OK = 200
DEFAULT_PORTS = {"http": 80, "https": 443}
TIMED_OUT = "context deadline exceeded (Client.Timeout exceeded while awaiting an answer)"
# What Go leaves as it is in a path or a query; all else is sent as %XX.
_UNQUOTED = "/%:@!$&'()*+,;=~?"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")

# Looking a name up cannot be interrupted: whoever waits for it goes away.
_lookups = ThreadPoolExecutor(max_workers=4, thread_name_prefix="extender-lookup")


@dataclass(slots=True)
class StepTime:
    """How long the questions of one step may take together, and how long they have taken so far, in seconds."""

    seconds: float = math.inf
    spent: float = 0.0

    def begin_step(self) -> None:
        self.spent = 0.0


class HTTPTransport:
    """The transport of one extender; a connection per question."""

    def __init__(self, extender: Extender, step_time: StepTime, monotonic: Callable[[], float]) -> None:
        self._prefix = extender.url_prefix.rstrip("/")
        self._timeout = extender.http_timeout
        self._step_time = step_time
        self._monotonic = monotonic
        parts = _checked_url(self._prefix)
        assert parts.hostname is not None  # checked
        self._host = parts.hostname
        self._port = parts.port or DEFAULT_PORTS[parts.scheme]
        self._tls = tls_context(extender) if parts.scheme == "https" else None
        tls_config = extender.tls_config
        self._server_name = (tls_config.server_name if tls_config is not None else "") or self._host

    def call(self, verb: str, payload: bytes) -> bytes:
        url = f"{self._prefix}/{verb}"
        started = self._monotonic()
        own = self._timeout.us / 1_000_000 if self._timeout.us > 0 else math.inf  # below zero: none, as upstream
        left = self._step_time.seconds - self._step_time.spent
        deadline = _Deadline(started + min(own, left), self._monotonic)
        try:
            status, answer = self._exchange(_target(url), payload, deadline)
        except TimeoutError:
            reason = TIMED_OUT
            if left < own:
                reason = f"the extenders of one step have {self._step_time.seconds:g}s together, and they are over"
            raise ExtenderError(f'Post "{url}": {reason}') from None
        except (OSError, HTTPException, ValueError) as error:
            raise ExtenderError(f'Post "{url}": {words_of(error)}') from error
        finally:
            self._step_time.spent += self._monotonic() - started
        if status != OK:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {status}")
        return answer

    def _exchange(self, target: str, payload: bytes, deadline: _Deadline) -> tuple[int, bytes]:
        connection = HTTPConnection(self._host, self._port)
        connection.response_class = deadline.response  # type: ignore[assignment]
        plain = self._connected(deadline)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sock = plain
            if self._tls is not None:
                connection.sock = self._tls.wrap_socket(plain, server_hostname=self._server_name)
            sock: socket.socket = connection.sock
            sock.settimeout(deadline.left())
            headers = {"Content-Type": "application/json", "Connection": "close"}
            connection.request("POST", target, body=payload, headers=headers)
            response = connection.getresponse()
            return response.status, _read(response) if response.status == OK else b""
        finally:
            connection.close()
            plain.close()

    def _connected(self, deadline: _Deadline) -> socket.socket:
        """A connection to the first of the host's addresses that takes one."""
        looked_up = _lookups.submit(socket.getaddrinfo, self._host, self._port, 0, socket.SOCK_STREAM)
        refusal: OSError = OSError("the host has no address")
        for *_, address in looked_up.result(deadline.left()):
            try:
                return socket.create_connection((str(address[0]), self._port), timeout=deadline.left())
            except TimeoutError:
                raise
            except OSError as error:
                refusal = error
        raise refusal


@dataclass(frozen=True, slots=True)
class _Deadline:
    """When a question is over, on the clock it was asked by."""

    at: float
    monotonic: Callable[[], float]

    def left(self) -> float | None:
        """Seconds until then, as time-outs of sockets are given: None is for ever. TimeoutError when there are none."""
        left = self.at - self.monotonic()
        if left <= 0:
            raise TimeoutError
        return None if left == math.inf else left

    def response(self, sock: socket.socket, **options: Any) -> HTTPResponse:
        """The response that is read from the socket until then, its head too."""
        return HTTPResponse(_Received(sock, self), **options)  # type: ignore[arg-type]


class _Received(io.RawIOBase):
    """What a socket receives; every read looks at the time, so that none has its own."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock = sock
        self._file = sock.makefile("rb", buffering=0)  # the connection forgets its socket before the body is read
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._deadline.left())
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()

    def makefile(self, mode: str) -> io.BufferedReader:
        """What a response asks of a socket."""
        return io.BufferedReader(self)


def connect(
    extender: Extender, step_time: StepTime | None = None, monotonic: Callable[[], float] = time.monotonic
) -> HTTPTransport:
    """The transport of a configured extender; those of one engine share its `step_time`."""
    return HTTPTransport(extender, step_time or StepTime(), monotonic)


def _target(url: str) -> str:
    """What a request asks for: the path and query of the URL as Go writes them."""
    if _CONTROL.search(url):
        raise ValueError("net/url: invalid control character in URL")
    if bad := _BAD_ESCAPE.search(url):
        raise ValueError(f'invalid URL escape "{bad[0]}"')
    parts = urlsplit(url)
    target = quote(parts.path, safe=_UNQUOTED)
    return f"{target}?{quote(parts.query, safe=_UNQUOTED)}" if parts.query else target


def _checked_url(prefix: str) -> SplitResult:
    try:
        parts = urlsplit(prefix)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise _url_error(prefix, "is no http or https URL", "a URL such as http://host:port/path")
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    if not any(_names(entry, str(parts.hostname), port) for entry in settings.EXTENDER_HOSTS):
        raise _url_error(prefix, "names a host that is not in KSCHED_EXTENDER_HOSTS", "a host of KSCHED_EXTENDER_HOSTS")
    return parts


def _url_error(prefix: str, detail: str, expected: str) -> ConfigError:
    message = f'urlPrefix "{prefix}" {detail}'
    return ConfigError([ConfigProblem("urlPrefix", message, prefix, expected, sentence=message)])


def _names(entry: str, host: str, port: int) -> bool:
    """Whether an entry, host or host:port, allows that address."""
    allowed = urlsplit(f"//{entry}")
    return allowed.hostname == host and allowed.port in (None, port)


def _read(response: HTTPResponse) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read1(CHUNK_BYTES):
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise HTTPException(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        chunks.append(chunk)
    # read1 does not tell a body that breaks off from one that ends.
    if response.length:
        raise HTTPException("unexpected EOF")
    return b"".join(chunks)
