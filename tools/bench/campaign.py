"""All rows of the page measured, kept in a JSON file beside it, and written into it.

The file is written after every row: a campaign that was broken off loses one row, and rows can be measured again alone.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

from tools.bench.engine.result import Details, Result
from tools.bench.measuring import Measured, measure
from tools.bench.rows import Row

CPU_INFO = Path("/proc/cpuinfo")


class Measurement(msgspec.Struct, kw_only=True):
    """One row as it was measured; `load` is the machine's load average of a minute before."""

    key: str
    at: str
    load: float
    result: Result
    details: Details


class Campaign(msgspec.Struct, kw_only=True):
    """All measurements, by row, with the machine they were made on."""

    machine: str = ""
    python: str = ""
    command: str = ""
    measurements: dict[str, Measurement] = {}


def read_campaign(path: Path) -> Campaign:
    """Read the stored campaign; an empty one when there is none."""
    return msgspec.json.decode(path.read_bytes(), type=Campaign) if path.exists() else Campaign()


def measure_rows(rows: Sequence[Row], runs: int, path: Path, told: Callable[[Measured], None]) -> None:
    """Measure the rows and keep each as soon as it is there; `told` hears of it."""
    campaign = read_campaign(path)
    campaign.machine, campaign.python, campaign.command = machine(), python(), " ".join(["./ksched", *sys.argv[1:]])
    for row in rows:
        load = os.getloadavg()[0]
        measured = measure(row.job, runs)
        at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        campaign.measurements[row.key] = Measurement(
            key=row.key, at=at, load=round(load, 2), result=measured.result, details=measured.details
        )
        path.write_bytes(msgspec.json.format(msgspec.json.encode(campaign)) + b"\n")
        told(measured)


def machine() -> str:
    """The processor and how many of it this process may use."""
    names = [line.partition(":")[2].strip() for line in _cpu_lines() if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.processor() or platform.machine()}, {cores} cores, {platform.system()}"


def python() -> str:
    """The versions that decide about speed."""
    return f"{platform.python_implementation()} {platform.python_version()}, numpy {np.__version__}"


def _cpu_lines() -> list[str]:
    try:
        return CPU_INFO.read_text().splitlines()
    except OSError:
        return []
