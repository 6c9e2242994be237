"""`./ksched replay`: makes recorded steps of a cluster again, and says whether they are identical.

It works on the database, in a process of its own, so that the service goes on undisturbed.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kschedweb.ops import beside, up
from kschedweb.ops.telling import number_of


def replay(*, data_dir: Path, options: argparse.Namespace) -> int:
    """0 when all was identical, 1 at the first difference, 2 when nothing could be made again."""
    if up.read_status(data_dir) is None and "DATABASE_URL" not in os.environ:
        print(f"ksched: nothing runs on {data_dir}: start it with ./ksched up", file=sys.stderr)
        return 2
    words = [options.cluster, f"--processes={options.processes or os.cpu_count() or 1}"]
    words += [f"--first={options.first}"] if options.first is not None else []
    words += [f"--last={options.last}"] if options.last is not None else []
    try:
        found = beside.ask(data_dir, "kschedweb.ops.comparing", words)
    except beside.Failed as problem:
        print(f"ksched: {problem}", file=sys.stderr)
        return 2
    print(json.dumps(found) if options.json else told(found))
    return 0 if found["difference"] is None else 1


def told(found: Mapping[str, Any]) -> str:
    """The outcome in words."""
    lines = []
    if found["unproven_cycles"]:
        lines.append(f"{number_of(found['unproven_cycles'], 'cycle')} cannot be made again: {found['reason']}")
    difference = found["difference"]
    if difference is None:
        lines.append(f"identical, {number_of(found['cycles'], 'cycle')}")
    else:
        of_pod = f" pod {difference['pod']}" if difference["pod"] else ""
        lines += [
            f"different after {number_of(found['cycles'], 'identical cycle')}",
            f"step {difference['run']}.{difference['step']}, entry {difference['seq']}{of_pod}: {difference['field']}",
            f"  recorded: {difference['recorded']}",
            f"  replayed: {difference['replayed']}",
        ]
    return "\n".join(lines)
