"""The ASGI application of /k8s/<cluster>/: a request is read, authenticated, authorized, answered and sent.

Below it, `at/POSITION/` is the cluster as it was then.

Blocking work is done by a few threads, so that this API never takes all connections of the database's pool. Who has a
token has a share of them; the rest waits. Bodies are bounded in bytes and in time, and read only from those who may
write. Whatever goes wrong, the answer is a Status.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import logging
import time
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from kschedweb.accounts import sockets
from kschedweb.cluster import clock
from kschedweb.common.asgi import Receive, Scope, Send
from kschedweb.common.bodies import Patience
from kschedweb.common.connections import give_back
from kschedweb.common.relay import EndedError, Relay
from kschedweb.kubeapi import access, answering, discovery, openapi_v2, openapi_v3, reviews, watching
from kschedweb.kubeapi.access import Principal
from kschedweb.kubeapi.answering import Begun
from kschedweb.kubeapi.defined import may_be_object, may_tell_of_kinds, served
from kschedweb.kubeapi.exchange import Answer, RefusedError, Request, page_not_found, status_answer, text
from kschedweb.kubeapi.together import WAIT_SECONDS, Regulars, Together
from kschedweb.live.guard import Guard, Watcher
from scheduler_core.apiserver.answers import Status

PREFIX: Final = "/k8s/"
AT: Final = "at/"  # before a position, below the cluster
BODY_BYTES: Final = 3 * 1024 * 1024
# Of a body that is too large so much is read and dropped, so that its sender comes to reading the answer.
DROPPED_BYTES: Final = 4 * BODY_BYTES
ADDRESS_BYTES: Final = 8 * 1024
BODY_SECONDS: Final = 20.0
THREADS: Final = 4
AT_WORK: Final = 3  # requests of one token
WATCHES: Final = 500  # of one token
SMALLEST_GZIP: Final = 128 * 1024
CHUNK_BYTES: Final = 64 * 1024
TOO_LARGE: Final = Status(413, "RequestEntityTooLarge", f"Request entity too large: limit is {BODY_BYTES}")
_BUSY: Final = "too many requests of this token are under way, please try again later"
_BUSY_PAST: Final = "too many requests read the past, please try again later"
_NO_PAST: Final = "the process that reads the past has ended, please try again later"
_HEALTH: Final = ("healthz", "livez", "readyz")

log = logging.getLogger(__name__)
Result = TypeVar("Result")


class _GoneError(Exception):
    """The client has hung up."""


class Gate:
    """Whether those who watch may still do so, by the rule of the WebSockets."""

    def credential(self, scope: Mapping[str, Any]) -> Hashable | None:
        return sockets.credential(scope)

    def verdicts(self, watchers: Sequence[Watcher]) -> list[int]:
        return sockets.verdicts(watchers)


class _Share:
    def __init__(self, regulars: Regulars) -> None:
        self.at_work = asyncio.Semaphore(AT_WORK)
        self.together = Together(regulars)
        self.requests = 0
        self.watches = 0


class KubeApi:
    """The application; one for a process. `past`: who reads the past for it, unless this process does."""

    def __init__(self, past: Relay | None = None) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._shares: dict[Hashable, _Share] = {}
        self._regulars = Regulars()
        self._hubs = watching.Hubs(self._in_thread)
        self._guard = Guard(Gate())
        self._principals = access.Principals(time.monotonic)
        # Moments are made one after the other: who waits for one keeps no thread from the present.
        self._moments = asyncio.Semaphore(1)
        self._past = past

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _request(scope)
        holder = access.credential_of(request)
        share = self._shares.setdefault(holder, _Share(self._regulars))
        share.requests += 1
        try:
            with contextlib.suppress(_GoneError):
                await self._respond(request, share, scope, receive, send)
        finally:
            share.requests -= 1
            if not share.requests:
                self._shares.pop(holder, None)

    async def _respond(self, request: Request, share: _Share, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            _check_address(scope)
            kept = self._principals.kept(request)
            who = kept if kept is not None else await self._work(share, self._principals.read, request)
            access.authorize(who, request)
            if self._past is not None and request.at is not None and request.method in ("GET", "HEAD"):
                await self._past(scope, b"", receive, send)
                return
            if request.method not in ("GET", "HEAD"):
                request.body = await _body(scope, receive)
            if _is_write(request, who):
                answer = await share.together.answer(request, who, functools.partial(self._work, share))
            elif request.at is not None and (may_be_object(request.path) or may_tell_of_kinds(request.path)):
                async with _acquired(self._moments, _BUSY_PAST):
                    answer = await self._work(share, _answered, request, who)
            else:
                answer = await self._work(share, _answered, request, who)
        except RefusedError as refused:
            answer = status_answer(refused.status)
        except EndedError:
            answer = status_answer(Status(503, "ServiceUnavailable", _NO_PAST, retry_after_seconds=1))
        except DatabaseError as error:
            log.warning("the database does not answer: %s", error)
            message = "the database of the service does not answer, try again later"
            answer = status_answer(Status(503, "ServiceUnavailable", message, retry_after_seconds=1))
        except _GoneError:
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            answer = status_answer(Status(500, "InternalError", "Internal error occurred: see the log of the service"))
        if isinstance(answer, Begun):
            if share.watches >= WATCHES:
                message = f"{WATCHES} watches of this token are open"
                answer = status_answer(Status(429, "TooManyRequests", message, retry_after_seconds=1))
            else:
                await self._stream(answer, who, share, receive, send)
                return
        await self._send(answer, request, send)

    async def _send(self, answer: Answer, request: Request, send: Send) -> None:
        content = answer.body if isinstance(answer.body, bytes) else await asyncio.to_thread(answer.content)
        headers = [*answer.headers, ("cache-control", "no-cache, private")]
        if answer.media_type:
            headers.append(("content-type", answer.media_type))
        if len(content) >= SMALLEST_GZIP and "gzip" in request.header("accept-encoding"):
            content = await asyncio.to_thread(gzip.compress, content, 1)
            headers += [("content-encoding", "gzip"), ("vary", "Accept-Encoding")]
        if answer.code not in (204, 304):  # what they said would replace what a client has kept
            headers.append(("content-length", str(len(content))))
        await send({"type": "http.response.start", "status": answer.code, "headers": _raw(headers)})
        if request.method == "HEAD":
            content = b""
        for at in range(0, max(len(content), 1), CHUNK_BYTES):
            chunk = content[at : at + CHUNK_BYTES]
            await send({"type": "http.response.body", "body": chunk, "more_body": at + CHUNK_BYTES < len(content)})
            await asyncio.sleep(0)

    async def _stream(self, begun: Begun, who: Principal, share: _Share, receive: Receive, send: Send) -> None:
        """Send a watch until it ends, its client hangs up, or its token is no longer good."""
        headers = [("content-type", "application/json"), ("cache-control", "no-cache, private")]
        await send({"type": "http.response.start", "status": 200, "headers": _raw(headers)})
        share.watches += 1
        told = asyncio.create_task(self._tell(begun, who, send))
        gone = asyncio.create_task(_disconnected(receive))

        async def end(code: int) -> None:
            told.cancel()

        self._guard.watch(told, (who.credential, who.cluster_id), end)
        try:
            await asyncio.wait((told, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            share.watches -= 1
            self._guard.forget(told)
            is_gone = gone.done()
            for task in (told, gone):
                task.cancel()
            results = await asyncio.gather(told, gone, return_exceptions=True)
        if isinstance(results[0], Exception) and not isinstance(
            results[0], (watching.TooSlowError, _GoneError, OSError)
        ):
            log.error("a watch ended: %r", results[0], exc_info=results[0])
        if not is_gone:
            with contextlib.suppress(OSError):
                await send({"type": "http.response.body", "body": b""})

    async def _tell(self, begun: Begun, who: Principal, send: Send) -> None:
        # An empty part makes the head leave at once.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        found = watching.lines(begun, self._hubs, self._in_thread, who.cluster_id, lambda: clock.now_of(who.cluster_id))
        async with contextlib.aclosing(found):
            async for content in found:
                for at in range(0, len(content), CHUNK_BYTES):
                    chunk = content[at : at + CHUNK_BYTES]
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    await asyncio.sleep(0)

    async def _work(self, share: _Share, call: Callable[..., Result], *arguments: object) -> Result:
        """Make a blocking call when it is the token's turn."""
        async with _acquired(share.at_work, _BUSY):
            return await self._in_thread(call, *arguments)

    async def _in_thread(self, call: Callable[..., Result], *arguments: object) -> Result:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="kubeapi")

        def run() -> Result:
            try:
                return call(*arguments)
            finally:
                give_back()

        return await asyncio.get_running_loop().run_in_executor(self._threads, run)


@contextlib.asynccontextmanager
async def _acquired(turns: asyncio.Semaphore, busy: str) -> AsyncIterator[None]:
    """A turn within the block; RefusedError when none comes in time."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await turns.acquire()
    except TimeoutError:
        raise RefusedError(Status(429, "TooManyRequests", busy, retry_after_seconds=1)) from None
    try:
        yield
    finally:
        turns.release()


def _is_write(request: Request, who: Principal) -> bool:
    """Whether the request changes objects of a cluster."""
    return request.method not in ("GET", "HEAD") and bool(who.cluster_id) and may_be_object(request.path)


def _answered(request: Request, who: Principal) -> Answer | Begun:
    parts = request.path.strip("/").split("/")
    if parts[0] in _HEALTH:
        return _health(request, parts)
    if parts == ["version"]:
        if request.method != "GET":
            raise RefusedError(Status(405, "MethodNotAllowed", _METHOD, is_generic=True))
        return Answer(200, discovery.VERSION)
    defined = functools.cache(functools.partial(served, request, who))
    for documents in (discovery.answer, openapi_v3.answer, openapi_v2.answer):
        found = documents(request, defined)
        if found is not None:
            return found
    if parts[0] not in ("api", "apis"):
        return page_not_found()
    if not who.cluster_id:
        raise RefusedError(
            Status(404, "NotFound", f'clusters "{request.cluster}" not found', request.cluster, "", "clusters")
        )
    review = reviews.answer(request, who)
    return review if review is not None else answering.answer(request, who)


_METHOD: Final = "the server does not allow this method on the requested resource"


def _health(request: Request, parts: list[str]) -> Answer:
    """Whether the database answers, which is all this API needs."""
    if parts[0] != "livez":
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    if len(parts) > 2 or (len(parts) == 2 and parts[1] != "ping"):
        return page_not_found()
    if "verbose" in request.query and len(parts) == 1:
        return text(200, f"[+]ping ok\n{parts[0]} check passed\n")
    return text(200, "ok")


def _request(scope: Scope) -> Request:
    cluster, _, path = str(scope["path"]).removeprefix(PREFIX).partition("/")
    at = None
    if path.startswith(AT):
        at, _, path = path.removeprefix(AT).partition("/")
    headers = {name.decode("latin1"): value.decode("latin1") for name, value in scope["headers"]}
    query = parse_qs(scope.get("query_string", b"").decode("latin1"), keep_blank_values=True)
    return Request(cluster, str(scope["method"]), f"/{path}", query, headers, at=at)


def _check_address(scope: Scope) -> None:
    length = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    if length > ADDRESS_BYTES:
        raise RefusedError(Status(414, "", f"the address is longer than {ADDRESS_BYTES} bytes"))
    path = scope["path"]
    if "\0" in path or not path.isprintable() or any("\ud800" <= char <= "\udfff" for char in path):
        raise RefusedError(Status(404, "NotFound", "the server could not find the requested resource", is_generic=True))
    if settings.SECURE_SSL_REDIRECT:
        forwarded = dict(scope["headers"]).get(b"x-forwarded-proto", b"").split(b",")[0].strip()
        if scope.get("scheme") != "https" and forwarded != b"https":
            raise RefusedError(Status(400, "BadRequest", "this API is served over https only"))


async def _body(scope: Scope, receive: Receive) -> bytes:
    """The body; RefusedError when it is too large or comes too slowly."""
    declared = dict(scope["headers"]).get(b"content-length", b"")
    is_huge = declared.isdigit() and int(declared[:20]) > DROPPED_BYTES
    if is_huge:
        raise RefusedError(TOO_LARGE)
    patience = Patience(BODY_SECONDS)
    parts: list[bytes] = []
    received = 0
    more = True
    while more and received <= DROPPED_BYTES:
        try:
            message = await patience.part(receive)
        except TimeoutError:
            raise RefusedError(Status(408, "Timeout", "the body of the request came too slowly")) from None
        if message["type"] == "http.disconnect":
            raise _GoneError
        part = message.get("body", b"")
        received += len(part)
        if received <= BODY_BYTES:
            parts.append(part)
        more = bool(message.get("more_body"))
    if received > BODY_BYTES:
        raise RefusedError(TOO_LARGE)
    return b"".join(parts)


async def _disconnected(receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return


def _raw(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin1"), value.encode("utf-8").replace(b"\n", b" ")) for name, value in headers]


def is_path(path: str) -> bool:
    """Whether a path of the service belongs to this API."""
    return path.startswith(PREFIX)
