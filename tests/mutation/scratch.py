"""A copy of the project in which faults are made and tests run, with a PostgreSQL and a Valkey that stay up.

The copy has what git has, and what it does not ignore. The recordings beside the project are linked beside the copy,
unless a plain clone is asked for; so are the frontend's packages. Before each run of web tests the test database is
made anew from a template, and before each run of browser tests the bundle from the copy's sources.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from kschedweb.environment import ROOT
from kschedweb.ops import postgres, processes, valkey
from tests.mutation.server import NICE
from tools.node import FRONTEND, install_front, node_environment
from tools.testing.pytests import find_chromium

TEST_DATABASE = "test_ksched"
TEMPLATE = "template_ksched"


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of tests came to: `failed` is the first test that failed, empty where none did."""

    passed: bool
    in_time: bool
    failed: str
    output: str


class Scratch:
    """The copy; use it as a context manager."""

    def __init__(self, *, plain: bool = False, root: Path = ROOT) -> None:
        self._root = root
        self._plain = plain
        self._folder = Path(tempfile.mkdtemp(prefix="ksched-mutation-", dir="/tmp"))
        self.tree = self._folder / "tree"
        self._stack = contextlib.ExitStack()
        self._environment: dict[str, str] = {}
        self._server: postgres.Postgres | None = None
        self._pytest: subprocess.Popen[str] | None = None
        self._node: dict[str, str] | None = None

    def __enter__(self) -> Scratch:
        self._folder.chmod(0o711)
        # Ended from outside as well, nothing is left behind.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self._root,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for name in listed.split("\0"):
            source = self._root / name
            if name and source.is_file():
                target = self.tree / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        shared = self._root.parent / "shared"
        if shared.exists() and not self._plain:
            (self._folder / "shared").symlink_to(shared.resolve())
        return self

    def __exit__(self, *_: object) -> None:
        if self._pytest is not None:
            self._pytest.kill()
            self._pytest.wait()
        self._stack.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start_servers(self) -> None:
        """PostgreSQL and Valkey for the web tests, until the end; the database is made by the first run."""
        if self._server is not None:
            return
        run = self._folder / "run"
        run.mkdir(mode=0o711)
        self._server = postgres.prepare(data=run / "data" / "postgres", run=run / "pg", sync=False)
        broker = valkey.prepare(run=run / "valkey")
        self._start(self._server.launch(postgres.TEST_OPTIONS), run / "postgres.log", signal.SIGINT)
        self._start(broker.launch(), run / "valkey.log", signal.SIGTERM)
        self._server.wait_ready()
        broker.wait_ready()
        self._environment = {"DATABASE_URL": self._server.url(), "REDIS_URL": broker.url}
        # Any web test makes the database; the template is what it is before a test has run.
        options = ["--create-db", "--reuse-db"]
        made = self.pytest(["tests/web/common/test_migrations.py"], seconds=600, options=options, database=True)
        if not made.passed:
            raise RuntimeError(f"the test database could not be made:\n{made.output}")
        self._sql(f'CREATE DATABASE "{TEMPLATE}" TEMPLATE "{TEST_DATABASE}"')

    def pytest(
        self,
        files: Sequence[str],
        *,
        seconds: float,
        options: Sequence[str] = (),
        environment: dict[str, str] | None = None,
        database: bool = False,
    ) -> Run:
        """Run the files until the first failure, no longer than `seconds`; with `database` on a fresh one."""
        words = ["-x", "-q", "-p", "no:cacheprovider", "--tb=line", *options, *files]
        if database and "--create-db" not in options:
            self._fresh_database()
            words.insert(0, "--reuse-db")
        given = {
            "KSCHED_TEST_RUN_DIR": str(self._folder / "tests"),
            "DJANGO_SETTINGS_MODULE": "kschedweb.settings_test",
            **(self._environment if database else {}),
            **(environment or {}),
        }
        output = self._folder / "output"
        code, in_time = self._served(words, given, output, seconds)
        text = output.read_text(errors="replace")
        failed = next((line for line in text.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))), "")
        return Run(code == 0, in_time, failed.partition(" - ")[0], text[-6000:])

    def chosen(
        self, tests: Sequence[str], known: Sequence[str], files: Sequence[str], *, seconds: float, database: bool
    ) -> Run:
        """Run these tests, and those of the files that are not known."""
        told = self._folder / "chosen.json"
        told.write_text(json.dumps({"wanted": list(tests), "known": list(known)}))
        environment = {"KSCHED_MUTATION_TESTS": str(told)}
        options = ["-p", "tests.mutation.chosen"]
        return self.pytest(files, seconds=seconds, options=options, environment=environment, database=database)

    def vitest(self, tests: Sequence[str], *, seconds: float) -> Run:
        """Run unit tests of the frontend, each named `frontend/src/FILE::what it says`."""
        paths, names = zip(*(test.split("::", 1) for test in tests), strict=True)
        files = sorted({str(Path(path).relative_to("frontend")) for path in paths})
        report = self._folder / "report.json"
        report.unlink(missing_ok=True)
        pattern = f"({'|'.join(map(re.escape, names))})$"
        words = ["test", "--silent", "--", "--reporter=json", f"--outputFile={report}", "-t", pattern, *files]
        run = self._npm(words, seconds)
        found = json.loads(report.read_text())["testResults"] if report.exists() else []
        results = [each for file in found for each in file["assertionResults"]]
        failed = next((each["title"] for each in results if each["status"] == "failed"), "")
        passed = {each["title"] for each in results if each["status"] == "passed"}
        said = "\n".join(text for each in results for text in each["failureMessages"])
        return Run(run.passed and passed >= set(names), run.in_time, failed, said[-6000:] or run.output)

    def browser(self, tests: Sequence[str], *, seconds: float, environment: dict[str, str] | None = None) -> Run:
        """Run tests of the browser with a bundle of the sources as they are, in place of the committed one."""
        bundle, committed = self.tree / "frontend" / "dist", self._folder / "dist"
        bundle.rename(committed)
        try:
            built = self._npm(["run", "--silent", "build"], seconds)
            if not built.passed:
                return built
            given = {"KSCHED_CHROMIUM": str(find_chromium()), **(environment or {})}
            return self.pytest(tests, seconds=seconds, environment=given)
        finally:
            shutil.rmtree(bundle, ignore_errors=True)
            committed.rename(bundle)

    @contextlib.contextmanager
    def changed(self, path: str, text: str) -> Iterator[None]:
        """Another text in one file, for so long."""
        target = self.tree / path
        before, times = target.read_bytes(), target.stat()
        compiled = list((target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"))
        for each in compiled:
            each.unlink()  # known to be of the text only by second and size
        target.write_text(text)
        try:
            yield
        finally:
            target.write_bytes(before)
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
            for each in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
                each.unlink()

    def _served(
        self, words: Sequence[str], environment: dict[str, str], output: Path, seconds: float
    ) -> tuple[int, bool]:
        """The exit code of one run, and whether it ended in time; all processes of the run are gone then."""
        if self._pytest is None:
            self._pytest = subprocess.Popen(
                [sys.executable, "-m", "tests.mutation.server"],
                cwd=self.tree,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        server = self._pytest
        assert server.stdin is not None and server.stdout is not None
        print(json.dumps({"words": list(words), "environment": environment, "output": str(output)}), file=server.stdin)
        server.stdin.flush()
        group = int(server.stdout.readline())
        in_time = bool(select.select([server.stdout], [], [], seconds)[0])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        return int(server.stdout.readline()), in_time

    def _npm(self, words: Sequence[str], seconds: float) -> Run:
        """Run npm in the copy's frontend; all its processes are gone then. No test is named as the failed one."""
        if self._node is None:
            self._node = node_environment()
            install_front(self._node)
            (self.tree / "frontend" / "node_modules").symlink_to(FRONTEND / "node_modules")
        output = self._folder / "output"
        with open(output, "wb") as file:
            process = subprocess.Popen(
                ["nice", "-n", str(NICE), "npm", *words],
                cwd=self.tree / "frontend",
                env=self._node,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            code, in_time = process.wait(seconds), True
        except subprocess.TimeoutExpired:
            code, in_time = 1, False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Run(code == 0, in_time, "", output.read_text(errors="replace")[-6000:])

    def _start(self, launch: processes.Launch, log: Path, stop: signal.Signals) -> None:
        with open(log, "wb") as output:
            process = processes.spawn(launch, output)
        self._stack.callback(processes.stop, process, stop)

    def _fresh_database(self) -> None:
        self._sql(f'DROP DATABASE IF EXISTS "{TEST_DATABASE}" WITH (FORCE)')
        self._sql(f'CREATE DATABASE "{TEST_DATABASE}" TEMPLATE "{TEMPLATE}"')

    def _sql(self, statement: str) -> None:
        assert self._server is not None
        with psycopg.connect(self._server.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]
