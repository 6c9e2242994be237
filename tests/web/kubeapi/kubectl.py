"""The real kubectl, with a kubeconfig of its own, run in a folder of its own."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.waiting import HANG_SECONDS

PROGRAM = shutil.which("kubectl")
NEWER = 21  # the minor version from which kubectl shows managedFields and generates CronJobs and budgets of version 1
NEEDS_KUBECTL = pytest.mark.skipif(PROGRAM is None, reason="no kubectl on the PATH")


@lru_cache(maxsize=1)
def minor_version() -> int:
    """The minor version of kubectl itself."""
    words = [str(PROGRAM), "version", "--client", "-o", "json"]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=HANG_SECONDS, check=True).stdout)
    return int(told["clientVersion"]["gitVersion"].split(".")[1])


def is_newer() -> bool:
    return minor_version() >= NEWER


def needs_newer() -> None:
    """Skip the test where kubectl is older than it expects."""
    if not is_newer():
        pytest.skip(f"kubectl 1.{minor_version()} does not do this")


@dataclass(frozen=True)
class Started:
    """A kubectl that runs; what it writes counts with its errors."""

    process: subprocess.Popen[str]

    def heard(self, word: str) -> str:
        """What it writes up to the first line with the word."""
        heard = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            heard += line
            if word in line:
                return heard
        raise AssertionError(heard)

    def ended(self) -> str:
        """What it writes until it has ended well."""
        told, _ = self.process.communicate()
        assert self.process.returncode == 0, told
        return told


@dataclass(frozen=True)
class Kubectl:
    """`kubectl("get", "pods")` runs it and expects it to end with `code`."""

    folder: Path
    prefix: str  # of all paths: that of the server's URL, which kubectl leaves out of raw requests

    @staticmethod
    def made(folder: Path, server: str, certificate: str, token: str) -> "Kubectl":
        cluster = {"server": server, "certificate-authority": certificate}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        (folder / "config").write_text(yaml.safe_dump(content))
        return Kubectl(folder, urlsplit(server).path)

    def __call__(self, *words: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(PROGRAM), *words], env=self._environment() | environment, cwd=self.folder, capture_output=True,
            text=True, timeout=HANG_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def forget_kinds(self) -> None:
        """Let it ask anew which kinds are served: it keeps the answer for hours, with kinds that are gone since."""
        shutil.rmtree(self.folder / ".kube" / "cache", ignore_errors=True)

    def write(self, name: str, *manifests: Mapping[str, Any]) -> None:
        """A file for it to read."""
        (self.folder / name).write_text(yaml.safe_dump_all(manifests))

    def apply(self, *manifests: Mapping[str, Any]) -> None:
        self.write("now.yaml", *manifests)
        self("apply", "-f", "now.yaml")

    def write_status(self, path: str, **status: Any) -> None:
        """Set fields of the status of the object at this path, as a controller does; old kubectl has no word for it."""
        whole = self.prefix + path
        stored = json.loads(self("get", "--raw", whole).stdout)
        stored["status"] = stored.get("status", {}) | status
        (self.folder / "status.json").write_text(json.dumps(stored))
        self("replace", "--raw", f"{whole}/status", "-f", "status.json")

    @contextmanager
    def started(self, *words: str) -> Iterator["Started"]:
        """Run it in the background, and no longer than the block."""
        with subprocess.Popen(
            [str(PROGRAM), *words],
            env=self._environment(),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            alarm = threading.Timer(HANG_SECONDS, process.kill)
            alarm.start()
            try:
                yield Started(process)
            finally:
                alarm.cancel()
                process.kill()

    def _environment(self) -> dict[str, str]:
        path = f"{Path(str(PROGRAM)).parent}{os.pathsep}{os.environ['PATH']}"  # diff and editors are found there
        # It does not run for long: collecting its garbage would take a quarter of its time.
        return {"HOME": str(self.folder), "KUBECONFIG": str(self.folder / "config"), "PATH": path, "GOGC": "off"}
