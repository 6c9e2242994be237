"""Configuration files of scheduler_perf small enough to be written in a test, and a clock for their runs."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from tools.bench.scheduler_perf.files import PerfWorkload, read_file
from tools.bench.scheduler_perf.worker import Run, run_here

Json = dict[str, Any]

POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "1"}}}],
    },
}


def operation(opcode: str, **fields: Any) -> Json:
    return {"opcode": opcode, **fields}


def config_file(
    folder: Path, *operations: Json, templates: dict[str, str | Json] | None = None, **workload: Any
) -> Path:
    """A file with one test case `Case` of these operations, and one workload; further keys are the workload's."""
    for name, text in (templates or {}).items():
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text))
    one = {"name": "few", "labels": ["short", "integration-test"], **workload}
    path = folder / "performance-config.yaml"
    path.write_text(json.dumps([{"name": "Case", "workloadTemplate": list(operations), "workloads": [one]}]))
    return path


def only(path: Path) -> PerfWorkload:
    (workload,) = read_file(path)
    return workload


def ticking(nanoseconds: int = 5_000_000) -> Callable[[], int]:
    """A clock that goes on by so much whenever it is read: runs with it are the same every time."""
    ticks = count()
    return lambda: next(ticks) * nanoseconds


def ran(folder: Path, *operations: Json, **workload: Any) -> Run:
    """What comes of a configuration file with these operations."""
    return run_here(only(config_file(folder, *operations, **workload)), ticking())
