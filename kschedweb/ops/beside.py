"""Programs that run beside the service, on its database: they tell facts on stdout as JSON, or end with a reason."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kschedweb import environment
from kschedweb.ops import postgres, up, valkey


class Failed(Exception):
    """The program ended without facts; the text is the last that it said."""


def ask(data_dir: Path, module: str, words: Sequence[str] = (), given: str = "") -> Any:
    """Run a module; what it tells. Failed when it ends with an error."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", module, *words],
        input=given,
        env=service_environment(data_dir),
        cwd=environment.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise Failed(said[-1] if said else f"{module} ended with {done.returncode}")
    return json.loads(done.stdout)


def service_environment(data_dir: Path) -> dict[str, str]:
    """The environment of a process beside the service: what the user has set, else the embedded servers."""
    run = up.run_directory(data_dir)
    found = {"KSCHED_DATA_DIR": str(data_dir), "DJANGO_SETTINGS_MODULE": "kschedweb.settings", "KSCHED_HTTPS": "0"}
    if "DATABASE_URL" not in os.environ:
        found["DATABASE_URL"] = postgres.Postgres(Path(), data_dir / "postgres", run / "pg").url()
    if "REDIS_URL" not in os.environ:
        found["REDIS_URL"] = valkey.Valkey(Path(), run / "valkey").url
    key = data_dir / "secret-key"
    if "KSCHED_SECRET_KEY" not in os.environ and key.exists():
        found["KSCHED_SECRET_KEY"] = key.read_text().strip()
    return {**os.environ, **found}
