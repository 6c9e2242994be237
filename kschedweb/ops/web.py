"""`python -m kschedweb.ops.web`: the ASGI server with its options; host and port come from the environment.

One process: a second one would have a second reader of every cluster's logs; more of them are more machines. What is
asked about the past a child of it answers (`kschedweb.ops.past`).
"""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

from kschedweb import environment
from kschedweb.common.collector import ease, pause
from kschedweb.common.relay import Relay
from kschedweb.ops.connections import BoundedConnection, listen
from kschedweb.ops.past import SWITCH_SECONDS, PastProcess

POOL_SIZE = 8
STOP_SECONDS = 5
KEEP_ALIVE_SECONDS = 30
MESSAGE_BYTES = 64 * 1024  # of a WebSocket; nothing that browsers say is read
TICK_SECONDS = 1.0
PING_SECONDS = 30.0  # between pings, and then for the answer: who has gone without a word is noticed


def main() -> None:
    pause()
    sys.setswitchinterval(SWITCH_SECONDS)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    # Threads of the web process come and go, so they share a pool of connections.
    os.environ.setdefault("KSCHED_DATABASE_POOL", str(POOL_SIZE))
    try:
        settings = environment.load()
    except environment.EnvironmentProblem as problem:
        sys.exit(f"kschedweb cannot start, the environment is not usable:\n{problem}")

    if not settings.debug:
        _refuse_default_passwords()

    try:
        listening = listen(settings.host, settings.port)
    except OSError as problem:
        sys.exit(f"kschedweb cannot listen on {settings.host}:{settings.port}: {problem.strerror}")
    serve(listening, settings.tls_cert, settings.tls_key)


def serve(listening: socket.socket, certificate: Path | None = None, key: Path | None = None) -> None:
    """Answer what comes in until SIGTERM or SIGINT."""
    from kschedweb import asgi
    from kschedweb.common.memory import give_back_freed

    config = uvicorn.Config(
        asgi.made(Relay(PastProcess().connected)),
        http=BoundedConnection,
        ws="websockets-sansio",
        ws_max_size=MESSAGE_BYTES,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        loop="asyncio",
        lifespan="off",  # nothing of ours has one
        log_config=None,  # the service's own
        access_log=False,
        proxy_headers=False,  # addresses are looked at by kschedweb.common.addresses
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    ease()
    give_back_freed()
    Server(config).run(sockets=[listening])


class Server(uvicorn.Server):
    """Looks once a second (the date in its answers) whether it is to end, not ten times; a signal wakes it."""

    _end: Callable[[], object] = staticmethod(lambda: None)  # its loop has not begun

    async def main_loop(self) -> None:
        ending, loop = asyncio.Event(), asyncio.get_running_loop()
        self._end = partial(loop.call_soon_threadsafe, ending.set)
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), TICK_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._end()


def _refuse_default_passwords() -> None:
    """End here when an administrator has a password everybody knows."""
    import django

    django.setup()

    from django.db import DatabaseError, connections

    from kschedweb.accounts.checks import default_passwords

    try:
        names = default_passwords()
    except DatabaseError as problem:
        # The database is away, or has no tables yet: /readyz tells, and nobody can log in.
        print(f"passwords of administrators were not checked: {str(problem).partition(chr(10))[0]}", file=sys.stderr)
        return
    finally:
        connections.close_all()
    if names:
        sys.exit(
            f"kschedweb cannot start: the password of {', '.join(names)} is a default one; "
            f"set another with: python manage.py changepassword {names[0]}"
        )


if __name__ == "__main__":
    main()
