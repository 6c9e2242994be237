"""Extenders that behave badly on purpose: a real socket on this machine, and what each does with a question."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"

Behaviour = Callable[[socket.socket, threading.Event], None]
"""What is done with a connection whose question has been read; the event says that the test is over."""


@dataclass
class OddExtender:
    """Listens on a port of its own; `asked` counts the connections."""

    behaviour: Behaviour
    asked: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    listener: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.asked += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            _read_question(connection)
            self.behaviour(connection, self.over)


@contextmanager
def odd_extender(behaviour: Behaviour) -> Iterator[OddExtender]:
    made = OddExtender(behaviour)
    try:
        yield made
    finally:
        made.over.set()
        made.listener.close()


def silent(connection: socket.socket, over: threading.Event) -> None:
    """Accepts, and says nothing until the other side goes away."""
    connection.settimeout(0.1)
    while not over.is_set():
        with suppress(TimeoutError):
            if not connection.recv(1):
                return


def answers(body: bytes) -> Behaviour:
    """Answers 200 with this body."""

    def behave(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(HEAD + body)

    return behave


def drips(first: bytes, rest: bytes, pause: float = 0.05) -> Behaviour:
    """Sends `first` at once and `rest` byte by byte, over and over."""

    def behave(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(first)
        while not over.is_set():
            for byte in rest:
                connection.sendall(bytes([byte]))
                if over.wait(pause):
                    return

    return behave


def endless(first: bytes, rest: bytes) -> Behaviour:
    """Sends `first`, and then `rest` as fast as it is taken."""

    def behave(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(first)
        while not over.is_set():
            connection.sendall(rest)

    return behave


def _read_question(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-len"))
    while len(body) < length:
        body += connection.recv(65536)
