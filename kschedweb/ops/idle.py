"""How much of a core the processes of a running service use: `python -m kschedweb.ops.idle [--seconds 60]`.

Read from /proc, for each process with everything below it. What a process used that ended meanwhile is not counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from kschedweb import environment
from kschedweb.ops.up import read_status

TARGET = 0.01  # of a core, all processes of an idle service together
TICK = os.sysconf("SC_CLK_TCK")


def usage(pids: Mapping[str, int], *, seconds: float, sleep: Callable[[float], None] = time.sleep) -> dict[str, float]:
    """Share of one core that each process, with all its descendants, used in the next `seconds`."""
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    started = time.monotonic()
    sleep(seconds)
    passed = time.monotonic() - started
    found = {}
    for name, pid in pids.items():
        after = cpu_seconds(pid)
        used = sum(spent - before[name].get(each, 0.0) for each, spent in after.items())
        found[name] = used / passed
    return found


def cpu_seconds(pid: int) -> dict[int, float]:
    """CPU time so far of the process and everything below it, by pid."""
    found: dict[int, float] = {}
    for each in (pid, *descendants(pid)):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        found[each] = (int(fields[11]) + int(fields[12])) / TICK
    return found


def descendants(pid: int) -> list[int]:
    """Everything below a process, whichever of its threads started it."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []  # it has just ended
    found: list[int] = []
    for thread in threads:
        try:
            children = [int(word) for word in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
        except OSError:
            continue
        for child in children:
            found += (child, *descendants(child))
    return found


def service_pids(data_dir: Path) -> dict[str, int]:
    """The processes `./ksched up` has started on that directory; empty when nothing runs."""
    facts = read_status(data_dir)
    if facts is None:
        return {}
    return {name: process["pid"] for name, process in facts["processes"].items() if process["pid"]}


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="kschedweb.ops.idle", description="Measure what an idle service uses.")
    parser.add_argument("--data-dir", type=Path, default=environment.ROOT / ".ksched")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(words)
    pids = service_pids(options.data_dir)
    if not pids:
        print(f"nothing runs on {options.data_dir}", file=sys.stderr)
        return 1
    used = usage(pids, seconds=options.seconds)
    for name, share in sorted(used.items(), key=lambda item: -item[1]):
        print(f"{name:12} {share:7.2%}")
    total = sum(used.values())
    print(f"{'together':12} {total:7.2%} of one core, target {TARGET:.0%}: {'ok' if total < TARGET else 'missed'}")
    return 0 if total < TARGET else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
