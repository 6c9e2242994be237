"""Files that an extender's TLS settings name: only regular ones of a bounded size are read."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from kschedweb.environment import ROOT
from tests.waiting import HANG_SECONDS

# In a process of its own, which may take 1 GB and so long: what goes wrong here takes memory, or waits for ever.
ASK = """
import sys, django
django.setup()
from kschedweb.cluster.extender_http import connect
from scheduler_core.config.types import Extender, ExtenderTLSConfig
from scheduler_core.errors import ConfigError
for path in sys.argv[1:]:
    for tls in {"ca_file": path}, {"insecure": True, "cert_file": path, "key_file": path}:
        try:
            connect(Extender(url_prefix="https://127.0.0.1:1", tls_config=ExtenderTLSConfig(**tls)))
        except ConfigError as error:
            print(error)
"""


def test_file_that_is_no_certificate_is_refused_without_reading_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with open(tmp_path / "large", "wb") as file:
        file.truncate(1 << 40)  # without a block on the disk
    reasons = {
        Path("/dev/zero"): "is no regular file",
        tmp_path / "pipe": "is no regular file",
        tmp_path / "folder": "is a directory",
        tmp_path / "large": "is larger than 1,048,576 bytes",
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK, *map(str, reasons)],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "kschedweb.settings_test"},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.splitlines() == [
        f"tlsConfig cannot be used: {name}: {reason}" for reason in reasons.values() for name in ("caFile", "certFile")
    ]
