"""Files that an extender's TLS settings name: only regular ones of a bounded size are read."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kschedweb.environment import ROOT
from tests.waiting import HANG_SECONDS

# In a process of its own, which may take 10 seconds and 1 GB: what goes wrong here takes memory, or waits for ever.
ASK = """
import sys, django
django.setup()
from kschedweb.cluster.extender_http import connect
from scheduler_core.config.types import Extender, ExtenderTLSConfig
from scheduler_core.errors import ConfigError
field, path = sys.argv[1:]
tls = {field: path}
if field != "ca_file":
    tls = {"insecure": True, "cert_file": path, "key_file": path}
try:
    connect(Extender(url_prefix="https://127.0.0.1:1", tls_config=ExtenderTLSConfig(**tls)))
except ConfigError as error:
    print(error)
"""


def refusal(field: str, path: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ASK, field, path],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "kschedweb.settings_test"},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("kind", "field", "reason"),
    [
        ("device", "ca_file", "is no regular file"),
        ("pipe", "cert_file", "is no regular file"),
        ("folder", "ca_file", "is a directory"),
        ("large", "cert_file", "is larger than 1,048,576 bytes"),
    ],
)
def test_file_that_is_no_certificate_is_refused_without_reading_on(
    kind: str, field: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / kind
    if kind == "device":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 40)  # without a block on the disk
    name = {"ca_file": "caFile", "cert_file": "certFile"}[field]
    assert refusal(field, str(path)) == f"tlsConfig cannot be used: {name}: {reason}"
