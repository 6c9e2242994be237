"""`python -m kschedweb.ops.comparing`: makes recorded steps of a cluster again, beside the service.

It only reads the database. Facts go to stdout as JSON.
"""

import argparse
import json
import sys
import time
from typing import Any

import django

from kschedweb.ops.naming import cluster_named


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="kschedweb.ops.comparing")
    parser.add_argument("cluster")
    parser.add_argument("--first")
    parser.add_argument("--last")
    options = parser.parse_args(words)
    django.setup()
    print(json.dumps(compare(options.cluster, options.first, options.last)))


def compare(cluster_name: str, first: str | None, last: str | None) -> dict[str, Any]:
    """What came of it; exits with a message when there is nothing to be made again."""
    from kschedweb.common.errors import ApplicationError

    span = position_said("from", first), position_said("to", last)
    cluster = cluster_named(cluster_name)
    try:
        return outcome_of(cluster.pk, *span)
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


def outcome_of(cluster_id: int, first: Any, last: Any) -> dict[str, Any]:
    """Make the steps after one position up to another again, all unless they are given; ApplicationError."""
    import msgspec

    from kschedweb.common.collector import ease
    from kschedweb.scheduling.past.replaying import replay_of

    ease()
    started = time.monotonic()
    replay = replay_of(cluster_id, first=first, last=last)
    replay.go()
    found = replay.difference
    return {
        "cluster": replay.cluster.name,
        "cycles": replay.cycles,
        "unproven_cycles": replay.unproven,
        "reason": replay.reason,
        "difference": None if found is None else msgspec.structs.asdict(found),
        "seconds": round(time.monotonic() - started, 3),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
