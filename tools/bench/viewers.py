"""Browsers as far as the service can tell: WebSocket clients that take every frame and look whether one is missing.

One thread reads all sockets. Of a frame only the head is parsed: a browser would be another machine's work.
"""

from __future__ import annotations

import base64
import os
import re
import selectors
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

HANDSHAKE_SECONDS = 20.0
_FRAME = re.compile(rb'\{"type":"frame","from":\[(\d+),(\d+)\],"to":\[(\d+),(\d+)\]')
_HELLO = re.compile(rb'\{"type":"hello","cursor":\[(\d+),(\d+)\]')
_CONTINUED, _TEXT, _CLOSE, _PING, _PONG = 0, 1, 8, 9, 10

Position = tuple[int, int]


@dataclass
class _Viewer:
    """One socket: where it stands, and how many frames it got; `gaps` counts frames that did not follow the last."""

    socket: socket.socket
    buffer: bytearray = field(default_factory=bytearray)
    message: bytearray = field(default_factory=bytearray)
    position: Position | None = None
    frames: int = 0
    gaps: int = 0
    closed: bool = False


class Viewers:
    """A number of watchers of one cluster; a context manager."""

    def __init__(self, *, port: int, token: str, cluster_id: int, number: int) -> None:
        self._port, self._token, self._cluster_id, self._number = port, token, cluster_id, number
        self._viewers: list[_Viewer] = []
        self._selector = selectors.DefaultSelector()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, name="viewers", daemon=True)

    def __enter__(self) -> Viewers:
        for _ in range(self._number):
            viewer = _Viewer(self._opened())
            self._viewers.append(viewer)
            self._selector.register(viewer.socket, selectors.EVENT_READ, viewer)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for viewer in self._viewers:
            viewer.socket.close()
        self._selector.close()

    def reached(self, position: Position, seconds: float) -> int:
        """Wait for all, or the time limit; return how many have everything up to the position without a gap."""
        deadline = time.monotonic() + seconds
        while True:
            complete = sum(
                not viewer.gaps
                and viewer.position is not None
                and viewer.position[0] >= position[0]
                and viewer.position[1] >= position[1]
                for viewer in self._viewers
            )
            if complete == self._number or time.monotonic() > deadline:
                return complete
            time.sleep(0.05)

    @property
    def frames(self) -> list[int]:
        """Frames that each got."""
        return [viewer.frames for viewer in self._viewers]

    def _opened(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), HANDSHAKE_SECONDS)
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET /ws/clusters/{self._cluster_id}/ HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Authorization: Bearer {self._token}\r\n\r\n"
        )
        connection.sendall(request.encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):  # byte by byte: what follows is the first message
            answer += connection.recv(1) or b"\r\n\r\n"
        if b" 101 " not in answer.partition(b"\r\n")[0]:
            raise ConnectionError(f"no WebSocket: {answer.partition(bytes([13]))[0].decode(errors='replace')}")
        return connection

    def _read(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(0.2):
                viewer: _Viewer = key.data
                try:
                    received = viewer.socket.recv(1 << 18)
                except OSError:
                    received = b""
                viewer.buffer += received
                self._take_messages(viewer)
                if not received or viewer.closed:
                    viewer.gaps += 1  # the service ended it
                    self._selector.unregister(viewer.socket)

    def _take_messages(self, viewer: _Viewer) -> None:
        buffer = viewer.buffer
        while len(buffer) >= 2:
            size, start = buffer[1] & 127, 2
            if size >= 126:
                start = 4 if size == 126 else 10
                if len(buffer) < start:
                    return
                size = int.from_bytes(buffer[2:start], "big")
            if len(buffer) < start + size:
                return
            kind, final = buffer[0] & 15, buffer[0] & 128
            content = bytes(buffer[start : start + size])
            del buffer[: start + size]
            if kind == _CLOSE:
                viewer.closed = True
                return
            if kind == _PING:
                mask = os.urandom(4)
                masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(content))
                viewer.socket.sendall(struct.pack("!BB", 0x80 | _PONG, 0x80 | len(content)) + mask + masked)
            if kind in (_TEXT, _CONTINUED):
                viewer.message += content
                if final:
                    _follow(viewer, bytes(viewer.message[:200]))
                    viewer.message.clear()


def _follow(viewer: _Viewer, head: bytes) -> None:
    """Move on by one message."""
    hello = _HELLO.match(head)
    if hello is not None:
        viewer.position = (int(hello[1]), int(hello[2]))
        return
    frame = _FRAME.match(head)
    if frame is None:
        return
    viewer.frames += 1
    viewer.gaps += viewer.position != (int(frame[1]), int(frame[2]))
    viewer.position = (int(frame[3]), int(frame[4]))
