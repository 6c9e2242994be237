"""Recorded conversations with kube-apiserver against the Kubernetes API of a service.

    conformance --kube-api [PATH…] [--server URL --token T [--token-readonly T]] [--family F]… [--name TEXT] [--show N]

The recordings bring the program that plays and compares them (`replay.py`, beside them). Without --server a service is
started for it, in a folder of its own that goes afterwards, with an empty frozen cluster. The last line is
`N passed, M failed`; the exit code is 0 when all agree, 1 when something differs, 2 when nothing could be played.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kschedweb.environment import ROOT
from kschedweb.ops import up

UNUSABLE = 2
CLUSTER = "conformance"
START_SECONDS = 180
_ENTRY = str(ROOT / "ksched")
_YEARS_AGO = re.compile(r"\d{1,4}y\d{1,3}d(?= ago)")


class ServiceProblem(Exception):
    """The service that was started for this does not answer."""


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster's address, and tokens for everything and for reading only."""

    url: str
    token: str
    token_readonly: str = ""


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    program = _program(options.paths)
    if program is None:
        print(f"no recordings with a replay.py in {', '.join(map(str, options.paths))}", file=sys.stderr)
        return UNUSABLE
    if options.server:
        if not options.token:
            print("--server needs --token", file=sys.stderr)
            return UNUSABLE
        return _play(program, options, Target(options.server, options.token, options.token_readonly))
    try:
        with _service() as target:
            return _play(program, options, target)
    except ServiceProblem as problem:
        print(f"the service did not start: {problem}", file=sys.stderr)
        return UNUSABLE


def undated(text: str) -> str:
    """Recordings whose ages are any: how long ago a date was depends on the day on which they are played."""
    return _YEARS_AGO.sub("<age>", text)


def _program(paths: Sequence[Path]) -> Any:
    """The program that came with the recordings, None when there is none."""
    folders = [path if path.is_dir() else path.parent for path in paths]
    found = next((folder / "replay.py" for folder in folders if (folder / "replay.py").is_file()), None)
    if found is None:
        return None
    spec = importlib.util.spec_from_file_location("kube_api_replay", found)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _play(program: Any, options: argparse.Namespace, target: Target) -> int:
    words = ["--base", target.url, "--token", target.token, "--jobs", "3", "--timeout", "60"]
    words += ["--show", str(options.show)]
    if target.token_readonly:
        words += ["--token-readonly", target.token_readonly]
    for family in options.family:
        words += ["--family", family]
    if options.name:
        words += ["--name", options.name]
    with tempfile.TemporaryDirectory(prefix="ksched-") as folder:
        code: int = program.main([*words, *map(str, _copies(options.paths, Path(folder)))])
    return code


def _copies(paths: Sequence[Path], folder: Path) -> Iterator[Path]:
    """The recordings there, undated."""
    for number, path in enumerate(paths):
        for file in sorted(path.glob("*.jsonl.gz")) if path.is_dir() else [path]:
            copy = folder / f"{number}-{file.name}"
            with gzip.open(file, "rt", encoding="utf-8") as told:
                copy.write_bytes(gzip.compress(undated(told.read()).encode(), 1))
            yield copy


@contextmanager
def _service() -> Iterator[Target]:
    """A service on a free port with an empty cluster in which nobody acts."""
    with tempfile.TemporaryDirectory(prefix="ksched-") as folder:
        data = Path(folder)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = (data / "up.log").open("wb")
        words = [sys.executable, _ENTRY, "up", "--data-dir", str(data / "data"), "--port", str(port), "--no-sample"]
        running = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            _wait(running, port, data / "up.log")
            _ksched(data, "cluster", "create", CLUSTER, "--lifecycle", "frozen")
            tokens = [_token(data, role) for role in ("admin", "viewer")]
            yield Target(f"http://127.0.0.1:{port}/k8s/{CLUSTER}", *tokens)
        finally:
            running.terminate()
            running.wait(60)
            log.close()


def _wait(running: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not up.answers_ready("127.0.0.1", port):
        if running.poll() is not None or time.monotonic() > deadline:
            raise ServiceProblem(log.read_text(errors="replace")[-2000:])
        time.sleep(0.5)


def _ksched(data: Path, *words: str) -> str:
    command = [sys.executable, _ENTRY, words[0], "--data-dir", str(data / "data"), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise ServiceProblem(done.stderr)
    return done.stdout


def _token(data: Path, role: str) -> str:
    return _ksched(data, "token", "make", "--name", f"{CLUSTER}-{role}", "--role", role).strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksched conformance --kube-api",
        description="Play recorded conversations with kube-apiserver 1.34.1 against a service and compare the answers.",
    )
    default = ROOT.parent / "shared" / "golden" / "kubeapi"
    parser.add_argument(
        "paths", nargs="*", type=Path, default=[default], metavar="PATH", help="recordings, or the folder they are in"
    )
    parser.add_argument("--server", help="address of a frozen cluster (default: a service is started for this)")
    parser.add_argument("--token", help="a token that may do everything in the cluster")
    parser.add_argument(
        "--token-readonly", default="", help="a token that may read (else those scenarios are left out)"
    )
    parser.add_argument("--family", action="append", default=[], help="only this family; may be repeated")
    parser.add_argument("--name", help="only scenarios whose names contain this")
    parser.add_argument("--show", type=int, default=20, help="how many differing steps to print (default: 20)")
    return parser
