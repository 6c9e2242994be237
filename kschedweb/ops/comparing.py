"""`python -m kschedweb.ops.comparing`: makes recorded steps of a cluster again, beside the service.

It only reads the database. Facts go to stdout as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import django
import msgspec

from kschedweb.ops.naming import cluster_named
from kschedweb.ops.processes import die_with_parent

if TYPE_CHECKING:
    from kschedweb.scheduling.past.parts import Made, Part
    from kschedweb.scheduling.past.replaying import Replay


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="kschedweb.ops.comparing")
    parser.add_argument("cluster")
    parser.add_argument("--first")
    parser.add_argument("--last")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(words)
    django.setup()
    print(json.dumps(compare(options.cluster, options.first, options.last, options.processes)))


def compare(cluster_name: str, first: str | None, last: str | None, processes: int) -> dict[str, Any]:
    """What came of it; exits with a message when there is nothing to be made again."""
    from kschedweb.common.errors import ApplicationError

    span = position_said("from", first), position_said("to", last)
    cluster = cluster_named(cluster_name)
    try:
        return outcome_of(cluster.pk, *span, processes)
    except ApplicationError as error:
        sys.exit(error.message)


def position_said(name: str, text: str | None) -> Any:
    """The position that an option names; exits with a message when it is none."""
    from kschedweb.scheduling.past.asking import position_of

    if text is None:
        return None
    found = position_of(text)
    if found is None:
        sys.exit(f"--{name}: {text!r} is no position of both logs, such as 120.4711")
    return found


def outcome_of(cluster_id: int, first: Any, last: Any, processes: int = 1) -> dict[str, Any]:
    """Make the steps after one position up to another again, all unless they are given; ApplicationError.

    Several processes only for all steps from the first one on, and of a cluster of the service.
    """
    from kschedweb.common.collector import ease
    from kschedweb.scheduling.past import journal, parts
    from kschedweb.scheduling.past.replaying import replay_of

    ease()
    started = time.monotonic()
    found: Made | Replay
    if processes > 1 and first is None and cluster_id > 0:
        found = parts.replayed(cluster_id=cluster_id, last=last, processes=processes, make=_in_processes)
    else:
        found = replay_of(cluster_id, first=first, last=last)
        found.go()
    return {
        "cluster": journal.ends(cluster_id).name,
        "cycles": found.cycles,
        "unproven_cycles": found.unproven,
        "reason": found.reason,
        "difference": None if found.difference is None else msgspec.structs.asdict(found.difference),
        "seconds": round(time.monotonic() - started, 3),
    }


def _in_processes(cluster_id: int, wanted: Sequence[Part]) -> Iterator[Made | str]:
    """Parts made each by a process, the first by this one."""
    from kschedweb.scheduling.past import parts

    first, *others = wanted
    if not others:
        yield from parts.one_after_another(cluster_id, wanted)
        return
    with ProcessPoolExecutor(
        len(others), mp_context=get_context("spawn"), initializer=_begin, initargs=(os.getpid(),)
    ) as pool:
        begun = [pool.submit(parts.part_made, cluster_id, part) for part in others]
        yield parts.part_made(cluster_id, first)
        for part in begun:
            yield part.result()
        # A difference ends it all: whoever asked reads no further.


def _begin(parent: int) -> None:
    """What a process does first that makes a part."""
    from kschedweb.common.collector import ease

    die_with_parent(signal.SIGKILL, parent=parent)()
    django.setup()
    ease()


if __name__ == "__main__":
    main(sys.argv[1:])
