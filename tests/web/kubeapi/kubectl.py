"""The real kubectl, with a kubeconfig of its own, run in a folder of its own."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

PROGRAM = shutil.which("kubectl")
NEWER = 21  # the minor version from which kubectl shows managedFields and generates CronJobs and budgets of version 1
NEEDS_KUBECTL = pytest.mark.skipif(PROGRAM is None, reason="no kubectl on the PATH")


@lru_cache(maxsize=1)
def minor_version() -> int:
    """The minor version of kubectl itself."""
    words = [str(PROGRAM), "version", "--client", "-o", "json"]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout)
    return int(told["clientVersion"]["gitVersion"].split(".")[1])


def needs_newer() -> None:
    """Skip the test where kubectl is older than it expects."""
    if minor_version() < NEWER:
        pytest.skip(f"kubectl 1.{minor_version()} does not do this")


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
            [str(PROGRAM), *words],
            env=self._environment() | environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def write_status(self, path: str, **status: Any) -> None:
        """Set fields of the status of the object at this path, as a controller does; old kubectl has no word for it."""
        whole = self.prefix + path
        stored = json.loads(self("get", "--raw", whole).stdout)
        stored["status"] = stored.get("status", {}) | status
        (self.folder / "status.json").write_text(json.dumps(stored))
        self("replace", "--raw", f"{whole}/status", "-f", "status.json")

    def started(self, *words: str) -> subprocess.Popen[str]:
        """Run it in the background; what it writes, errors too, is its `stdout`."""
        return subprocess.Popen(
            [str(PROGRAM), *words],
            env=self._environment(),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _environment(self) -> dict[str, str]:
        path = f"{Path(str(PROGRAM)).parent}{os.pathsep}{os.environ['PATH']}"  # diff and editors are found there
        return {"HOME": str(self.folder), "KUBECONFIG": str(self.folder / "config"), "PATH": path}
