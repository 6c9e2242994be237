"""HTTP connections that end: the head of a request is bounded in bytes and in time, and so is waiting for its reader.

uvicorn bounds none of these. Parts of an answer are at most 64 KiB and leave as soon as the connection has room for
them, so only a reader that takes less than some 3 KiB a second is too slow. What the application has finished is in the
kernel's and the connection's buffers: there the kernel cuts off a client that takes nothing.
"""

import asyncio
import json
import socket
import sys
from collections.abc import Mapping
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from kschedweb.kubeapi.exchange import METHOD_NOT_ALLOWED

HEAD_BYTES = 64 * 1024  # request line and headers
HEAD_SECONDS = 20.0  # from the first byte, or from the connection, until the head is complete
UNREAD_SECONDS = 30.0  # for which an answer may wait for its reader
# For which a client may leave what it was sent where it is. Longer than that, because the kernel does not say so.
UNTAKEN_SECONDS = 45
BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """Listen; a connection whose other side takes nothing for UNTAKEN_SECONDS is cut off. OSError.

    Accepted connections inherit the options.
    """
    listening = socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
    )
    # asyncio sets it only where the protocol was named when the socket was made. Without it the second part of an
    # answer waits until the client has said that the first one arrived, which it puts off for 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNTAKEN_SECONDS * 1000)
    return listening


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection with bounds: on the size of heads, and on the time for heads and for readers."""

    _reading_head = True
    _head_bytes = 0
    _head = b""  # the part of it that came last
    _head_timer: asyncio.TimerHandle | None = None
    _reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_reader_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_reader_timer()
        self._reader_timer = self.loop.call_later(UNREAD_SECONDS, self._reader_overdue)

    def resume_writing(self) -> None:
        self._stop_reader_timer()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        while data and not self.transport.is_closing() and self.transport.get_protocol() is self:
            if not self._reading_head:
                super().data_received(data)
                return
            head, data = data[: HEAD_BYTES - self._head_bytes], data[HEAD_BYTES - self._head_bytes :]
            self._head_bytes += len(head)
            self._head = head
            self._start_timer()
            super().data_received(head)
            if self._reading_head and self._head_bytes >= HEAD_BYTES:
                self._refuse(431, "head_too_large", f"path and headers are larger than {HEAD_BYTES:,} bytes")

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._reading_head, self._head_bytes = True, 0

    def send_400_response(self, msg: str) -> None:
        self._stop_timer()
        method, _, rest = self._head.partition(b" ")
        is_method = isinstance(sys.exc_info()[1], httptools.HttpParserInvalidMethodError) and method.isalpha()
        if is_method and rest.startswith(b"/k8s/"):
            self._answer(405, METHOD_NOT_ALLOWED.manifest())
        else:
            self._answer(400, _body("bad_request", "this is not HTTP"))

    def _refuse(self, status: int, code: str, message: str) -> None:
        self.logger.warning("request refused: %s", message)
        self._answer(status, _body(code, message))

    def _answer(self, status: int, document: Mapping[str, Any]) -> None:
        """Answer in place of the application, then hang up."""
        body = json.dumps(document).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()

    def _start_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_overdue)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_overdue(self) -> None:
        self._head_timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            return  # the next request may come while this one is answered
        if self._head_bytes:
            self._refuse(408, "head_too_slow", f"path and headers took longer than {HEAD_SECONDS:g} seconds")
        else:
            self.transport.close()

    def _stop_reader_timer(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def _reader_overdue(self) -> None:
        self._reader_timer = None
        path = self.scope["raw_path"].decode("ascii", "backslashreplace")
        self.logger.warning("the answer is not read, connection closed: %s", path)
        self.transport.abort()  # the application sees that its client is gone


def _body(code: str, message: str) -> Mapping[str, Any]:
    return {"code": code, "message": message, "extra": {}}
