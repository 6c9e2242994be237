"""`./ksched up`, `down` and `status`: the whole service on one machine, in one data directory.

PostgreSQL and Valkey are embedded unless DATABASE_URL and REDIS_URL name others. Order: databases, setup (setup.py),
then web process and workers together; stopping goes the other way round.
"""

import contextlib
import hashlib
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kschedweb import environment
from kschedweb.ops import certificates, postgres, supervisor, valkey, worker
from kschedweb.ops.processes import Launch, private_directory, wait_until
from kschedweb.ops.supervisor import Interrupted, Supervisor

DATABASES, SERVICE = 1, 3  # stages of stopping, the databases last; Valkey is between them
BROKER = 2
READY_SECONDS = 120.0
DOWN_SECONDS = 45.0
LEFTOVER_SECONDS = 12.0
# The only scheduler worker here, when it dies, should be replaced soon; upstream's 15/10/2 is for several machines.
# The renew deadline is what a step may wait for its extenders: above their default httpTimeout of 5 s.
QUICK_LEASE = {
    "KSCHED_LEASE_DURATION_SECONDS": "8",
    "KSCHED_RENEW_DEADLINE_SECONDS": "6",
    "KSCHED_RETRY_PERIOD_SECONDS": "1",
}


class UpProblem(Exception):
    """The service cannot be started; the text says why and what to do about it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where this service keeps its things and listens."""

    data: Path
    run: Path
    host: str
    port: int
    certificate: Path | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.certificate is None else 'https'}://{host}:{self.port}"


def run_directory(data: Path) -> Path:
    """Where the sockets of a data directory are: its own path may be too long for them."""
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"ksched-{os.getuid()}-{digest}"


def up(*, data_dir: Path, host: str, port: int, sample: bool, tls: bool = False) -> int:
    """Run the service until it is asked to stop; with `tls`, over https with a certificate of its own making."""
    # Others pass through it to what is theirs (PostgreSQL as another user); all files in it are private one by one.
    data = private_directory(data_dir, 0o711)
    if tls and not os.environ.get("KSCHED_TLS_CERT"):
        certificate, key = certificates.own(data, host)
        os.environ.update(KSCHED_TLS_CERT=str(certificate), KSCHED_TLS_KEY=str(key))
    named = os.environ.get("KSCHED_TLS_CERT")
    place = Place(data, run_directory(data), host, port, Path(named).resolve() if named else None)
    leftovers = _processes_of_last_run(data)
    with Supervisor(directory=data, say=say) as watch:
        try:
            _start(watch, place, leftovers, sample=sample)
            watch.run()
        except Interrupted:
            pass
        finally:
            say("stopping")
    shutil.rmtree(place.run, ignore_errors=True)  # sockets that nobody serves any more
    say("stopped")
    return 0


def _start(watch: Supervisor, place: Place, leftovers: list[int], *, sample: bool) -> None:
    started_at = time.monotonic()
    watch.wait(lambda: not any(map(_alive, leftovers)), seconds=LEFTOVER_SECONDS)
    check_port(place.host, place.port)
    say(f"data in {place.data}")
    set_where = {"KSCHED_DATA_DIR": str(place.data), "KSCHED_HOST": place.host, "KSCHED_PORT": str(place.port)}
    os.environ.update(set_where, DJANGO_SETTINGS_MODULE="kschedweb.settings")
    # What the user has set stays.
    os.environ["KSCHED_SECRET_KEY"] = os.environ.get("KSCHED_SECRET_KEY") or _secret_key(place.data)
    os.environ["KSCHED_HTTPS"] = os.environ.get("KSCHED_HTTPS") or str(int(place.certificate is not None))
    # On a laptop an extender is a program on the same laptop; in production the operator names the hosts.
    os.environ.setdefault("KSCHED_EXTENDER_HOSTS", "127.0.0.1,localhost,[::1]")
    for name, seconds in QUICK_LEASE.items():
        os.environ[name] = os.environ.get(name) or seconds
    os.environ["DATABASE_URL"] = os.environ.get("DATABASE_URL") or _start_postgres(watch, place)
    os.environ["REDIS_URL"] = os.environ.get("REDIS_URL") or _start_valkey(watch, place)
    try:
        environment.load()
    except environment.EnvironmentProblem as problem:
        raise UpProblem(f"the environment is not usable:\n{problem}") from None

    facts = _setup(watch, sample=sample)
    watch.start("web", partial(_python, "kschedweb.ops.web"), stage=SERVICE)
    for kind in worker.KINDS:
        watch.start(kind, partial(_python, "kschedweb.ops.worker", kind), stage=SERVICE)
    certificate = str(place.certificate) if place.certificate is not None else ""
    watch.tell(url=place.url, host=place.host, port=place.port, certificate=certificate)

    def is_ready() -> bool:
        return answers_ready(place.host, place.port, certificate)

    if not watch.wait(is_ready, seconds=READY_SECONDS, pause_seconds=0.2):
        say(f"not ready after {READY_SECONDS:g} seconds; the reason should be in {place.data / 'logs'}. Still trying.")
        while not watch.wait(is_ready, seconds=60.0, pause_seconds=1.0):
            pass
    say(f"ready after {time.monotonic() - started_at:.1f} s")
    if "password" in facts:
        say(f"user {facts['user']}, password {facts['password']} (shown only now)")
    say(f"open {place.url}{facts['login']}  (logs you in; once, within 10 minutes)")
    say(f"  or {place.url}/  — Ctrl-C stops everything")


def down(*, data_dir: Path) -> int:
    """Stop the service of a data directory, wherever it was started."""
    pid = supervisor.holder(data_dir)
    if pid is None:
        print(f"nothing runs on {data_dir}")
        return 0
    os.kill(pid, signal.SIGTERM)
    if not wait_until(lambda: supervisor.holder(data_dir) is None, seconds=DOWN_SECONDS, pause_seconds=0.2):
        print(f"process {pid} has not stopped within {DOWN_SECONDS:g} seconds", file=sys.stderr)
        return 1
    print("stopped")
    return 0


def status(*, data_dir: Path) -> int:
    """Print what runs; exit code 0 when it runs and answers, 1 otherwise."""
    pid = supervisor.holder(data_dir)
    if pid is None:
        print(f"nothing runs on {data_dir}")
        return 1
    facts = read_status(data_dir)
    if facts is None or "port" not in facts:
        print(f"starting (process {pid})")
        return 1
    ready = answers_ready(facts["host"], facts["port"], facts.get("certificate", ""))
    print(f"{facts['url']}  {'ready' if ready else 'NOT READY'}  since {facts['started']}  (process {pid})")
    for name, process in facts["processes"].items():
        restarts = process["restarts"]
        again = f"  started again {restarts} time{'s' if restarts != 1 else ''}" if restarts else ""
        print(f"  {name:10} {process['pid'] or 'down':>8}  since {process['started']}{again}")
    return 0 if ready else 1


def read_status(data_dir: Path) -> dict[str, Any] | None:
    """The status file of a running service, or None."""
    try:
        found: dict[str, Any] = json.loads(supervisor.status_path(data_dir).read_text())
    except (OSError, ValueError):
        return None
    return found


def say(text: str) -> None:
    with contextlib.suppress(BrokenPipeError, OSError):  # the terminal may be gone, the service goes on
        print(f"kschedweb: {text}", flush=True)


def check_port(host: str, port: int) -> None:
    """UpProblem when somebody listens there already."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError as error:
            raise UpProblem(f"cannot listen on {host}:{port} ({error.strerror}): choose another with --port") from None


def connection_to(host: str, port: int, certificate: str, seconds: float) -> http.client.HTTPConnection:
    """A connection to the service; over TLS when it has a certificate, which has to be the one it shows."""
    if not certificate:
        return http.client.HTTPConnection(host, port, timeout=seconds)
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False  # the service is known by its certificate, whatever name it was made for
    return http.client.HTTPSConnection(host, port, timeout=seconds, context=context)


def answers_ready(host: str, port: int, certificate: str = "") -> bool:
    """Whether /readyz answers 200."""
    connection = connection_to(host, port, certificate, 2)
    try:
        connection.request("GET", "/readyz", headers={"Host": "localhost"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _start_postgres(watch: Supervisor, place: Place) -> str:
    private_directory(place.run, 0o711)
    server = postgres.prepare(data=place.data / "postgres", run=place.run / "pg")
    watch.start("postgres", server.launch, stage=DATABASES)
    if not watch.wait(server.ready, seconds=60.0):
        raise UpProblem(f"PostgreSQL does not start; see {place.data / 'logs' / 'postgres.log'}")
    server.create_database()
    say("PostgreSQL runs")
    return server.url()


def _start_valkey(watch: Supervisor, place: Place) -> str:
    private_directory(place.run, 0o711)
    server = valkey.prepare(run=place.run / "valkey")
    watch.start("valkey", server.launch, stage=BROKER)
    if not watch.wait(server.ready, seconds=30.0, pause_seconds=0.05):
        raise UpProblem(f"Valkey does not start; see {place.data / 'logs' / 'valkey.log'}")
    say("Valkey runs")
    return server.url


def _setup(watch: Supervisor, *, sample: bool) -> dict[str, Any]:
    launch = _python("kschedweb.ops.setup", *([] if sample else ["--no-sample"]))
    code, text = watch.run_once("setup", launch)
    facts: dict[str, Any] = {}
    rest = []
    for line in text.splitlines():
        try:
            facts |= json.loads(line)
        except ValueError:
            rest.append(line)
    if code != 0:
        raise UpProblem("\n".join(["the database could not be set up:", *rest]))
    if facts["migrations"]:
        say(f"database brought up to date ({facts['migrations']} migrations)")
    if facts.get("sample"):
        say("sample cluster loaded")
    return facts


def _python(module: str, *words: str) -> Launch:
    return Launch(argv=(sys.executable, "-P", "-m", module, *words), cwd=environment.ROOT)


def _secret_key(data: Path) -> str:
    path = data / "secret-key"
    if not path.exists():
        supervisor.write_private(path, secrets.token_urlsafe(48))
    return path.read_text().strip()


def _processes_of_last_run(data: Path) -> list[int]:
    """Children of a supervisor that was killed: the kernel has told them to end, they may need a moment."""
    facts = read_status(data)
    if facts is None or supervisor.holder(data) is not None:
        return []
    return [process["pid"] for process in facts["processes"].values() if process["pid"]]


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
