"""The real kubectl, with a kubeconfig of its own, run in a folder of its own."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

PROGRAM = shutil.which("kubectl")
NEEDS_KUBECTL = pytest.mark.skipif(PROGRAM is None, reason="no kubectl on the PATH")


@dataclass(frozen=True)
class Kubectl:
    """`kubectl("get", "pods")` runs it and expects it to end with `code`."""

    folder: Path

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
        return Kubectl(folder)

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
