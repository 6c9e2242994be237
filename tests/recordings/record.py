"""Record what our engine decides of the scenarios of our own: `python -m tests.recordings.record`.

The recordings of the real scheduler lie beside the project and are not part of it. These small ones are: in the same
form, made by our own engine asked node by node while it agreed with all of the others. They are written anew only when
scenarios change, or when a decision is meant to; a difference in a file that stays is a difference in what is decided.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.recordings import operations, scenarios, workloads
from tools.conformance.harness import run_scenario
from tools.conformance.queue import run_queue_scenario

FOLDER = Path(__file__).parent
CYCLES, QUEUE, WORKLOADS = FOLDER / "cycles", FOLDER / "queue", FOLDER / "workloads"


def main() -> None:
    """Write all of them."""
    for family in scenarios.FAMILIES:
        lines = [
            {"scenario": each, "result": run_scenario(each, use_table=False)} for each in scenarios.scenarios(family)
        ]
        _write(CYCLES / f"{family}.jsonl.gz", lines)
    for family in operations.FAMILIES:
        steps = [
            {"scenario": each, "result": {"name": each["name"], "steps": run_queue_scenario(each)}}
            for each in operations.scenarios(family)
        ]
        _write(QUEUE / f"{family}.jsonl.gz", steps)
    for stem, content in workloads.workloads().items():
        _write(WORKLOADS / f"{stem}.json.gz", [content])


def _write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
