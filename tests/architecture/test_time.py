"""Time is given: the core reads no clock, and the service reads wall time only where that is meant.

What happens in a cluster has the cluster's time, `kschedweb.cluster.clock`; its entry here is where that is made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedweb.environment import ROOT

CLOCKS = {"timezone.now", "time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today"}
WALL_TIME = {
    "kschedweb/accounts": "sessions, tokens, logins",
    "kschedweb/cluster/clock.py": "what the clock of a cluster is made from",
    "kschedweb/cluster/services/imports.py": "claims and heartbeats of uploads",
    "kschedweb/common/logs.py": "logs",
    "kschedweb/common/throttling.py": "limits of requests",
    "kschedweb/mirror/selectors.py": "leases of mirrors, and when the other cluster was last heard of",
    "kschedweb/ops/supervisor.py": "logs of processes",
    "kschedweb/scheduling/leases.py": "leases",
    "kschedweb/scheduling/past/proving.py": "when steps were made again last",
    "kschedweb/scheduling/services/steps.py": "when an engine last worked, for its health",
}


def readings(source: str) -> Iterator[int]:
    """The lines that read a clock."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Attribute, ast.Name)) and ast.unparse(node) in CLOCKS:
            yield node.lineno


def found_in(package: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if "migrations" not in path.parts
        for line in readings(path.read_text(encoding="utf-8"))
    ]


def test_the_core_reads_no_clock() -> None:
    assert found_in("scheduler_core") == []


def test_the_service_reads_wall_time_only_where_that_is_meant() -> None:
    elsewhere = [place for place in found_in("kschedweb") if not place.startswith(tuple(WALL_TIME))]
    assert elsewhere == [], "take the time as an argument, or ask kschedweb.cluster.clock"


@pytest.mark.parametrize("place", WALL_TIME)
def test_every_place_named_here_reads_wall_time(place: str) -> None:
    assert any(found.startswith(place) for found in found_in("kschedweb")), "take it off the list"
    assert Path(ROOT / place).exists()
