"""A web process that tests speak to over TCP, also as no well-behaved client would."""

import http.client
import random
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from psycopg import pq

from kschedweb.environment import ROOT
from kschedweb.ops import processes, up
from tests.waiting import HANG_SECONDS

# None that the kernel gives to outgoing connections or to who asks it for any: a port that is free stays so.
PORTS = range(10_000, 32_000)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def session(username: str, *, is_superuser: bool = True) -> str:
    """The cookie of a user who has just logged in."""
    user, _ = User.objects.get_or_create(username=username, defaults={"is_superuser": is_superuser})
    client = Client()
    client.force_login(user)
    return f"ksched_session={client.cookies['ksched_session'].value}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    cookies: dict[str, str]


@dataclass(frozen=True)
class Web:
    """A running web process, spoken to from one address of this machine."""

    port: int
    log_path: Path
    address: str = "127.0.0.1"
    certificate: str = ""
    pid: int = 0

    def answers(self) -> bool:
        try:
            return self.get("/livez").status == 200
        except OSError:
            return False

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, b"", **headers)

    def ask(self, method: str, path: str, body: bytes, **headers: str) -> Answer:
        """One request on a connection of its own; names of headers are written with `_` for `-`."""
        source = (self.address, 0)
        connection = up.connection_to("127.0.0.1", self.port, self.certificate, HANG_SECONDS)
        connection.source_address = source
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body or None, named)
            return answer_of(connection.getresponse())
        finally:
            connection.close()

    def begin(self, head: str, *, receive_buffer: int | None = None) -> socket.socket:
        """A connection on which these lines of a request were sent, and an empty one; nothing is read from it."""
        lines = [line.strip() for line in head.strip().splitlines()]
        return self.send("\r\n".join([*lines, "Host: localhost", "", ""]).encode(), receive_buffer=receive_buffer)

    def send(self, content: bytes, *, receive_buffer: int | None = None) -> socket.socket:
        """A connection on which this was sent as it is; nothing is read from it."""
        connection = socket.socket()
        if receive_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(HANG_SECONDS)
        connection.bind((self.address, 0))
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(content)
        return connection

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")


@contextmanager
def web_process(
    folder: Path, *, port: int = 0, words: Sequence[str] = ("-m", "kschedweb.ops.web"), **environment: str
) -> Iterator[Web]:
    """A web process for as long as one wants, on the database of the tests; `start_web` is one for a test."""
    port, log_path = port or free_port(), folder / "web.log"
    launch = processes.Launch(
        argv=(sys.executable, *words),
        environment={
            "DATABASE_URL": database_url(), "KSCHED_DATA_DIR": str(folder / "data"), "KSCHED_PORT": str(port),
            "DJANGO_SETTINGS_MODULE": "kschedweb.settings", **environment,
        },
        cwd=ROOT,
    )  # fmt: skip
    with open(log_path, "wb") as log:
        process = processes.spawn(launch, log)
    try:
        web = Web(port, log_path, certificate=environment.get("KSCHED_TLS_CERT", ""), pid=process.pid)
        ready = processes.wait_until(lambda: web.answers() or process.poll() is not None, seconds=HANG_SECONDS)
        assert ready and process.poll() is None, web.log()
        yield web
    finally:
        processes.stop(process, signal.SIGTERM)


def database_url() -> str:
    """The address of the database of the tests, for another process."""
    own = connection.settings_dict
    query = {name.lower(): own[name] for name in ("HOST", "PORT", "USER", "PASSWORD")}
    of_libpq = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    query |= {name: value for name, value in own["OPTIONS"].items() if name in of_libpq}
    return f"postgresql:///{own['NAME']}?{urlencode(query)}"


def read_answer(connection: socket.socket) -> Answer:
    """The answer that stands on a connection; OSError when none comes."""
    return answer_of(_parsed(connection))


def is_closed(connection: socket.socket) -> bool:
    """Read on until the other side closes; whether it does."""
    connection.settimeout(HANG_SECONDS)
    with suppress(ConnectionError):
        try:
            while connection.recv(1 << 20):
                pass
        except TimeoutError:
            return False
    return True


def answer_of(response: http.client.HTTPResponse) -> Answer:
    given = SimpleCookie()
    for header in response.headers.get_all("set-cookie", ()):
        given.load(header)
    cookies = {name: morsel.value for name, morsel in given.items()}
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read(), cookies)


def _parsed(connection: socket.socket) -> http.client.HTTPResponse:
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response
