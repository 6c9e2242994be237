"""How a value is told that differs from its record: as people write it, not as Python does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from kschedweb.scheduling.past.comparing import MOST_TEXT, text
from kschedweb.traces.choices import LogKind
from scheduler_core.model.effects import PreemptionCandidate
from tests.cases import cases


@cases(
    "value, told",
    ("nothing", None, "nothing"),
    ("text", "it's so", "it's so"),
    ("a choice", LogKind.EVENT, "event"),
    ("truth", True, "true"),
    ("a number", 7, "7"),
    ("a number of an array", np.int64(7), "7"),
    ("a time", datetime(2026, 11, 28, tzinfo=UTC), "2026-11-28T00:00:00+00:00"),
    ("bytes", b"\x01\xff", "01ff"),
    ("a list", ("n1", None, False), '["n1",null,false]'),
    ("fields", {"reason": "it's full"}, '{"reason":"it\'s full"}'),
    ("a struct", PreemptionCandidate("n1", ("d/a",), 0), '{"node_name":"n1","victims":["d/a"],"num_pdb_violations":0}'),
    ("an array", np.array([[1, 2], [3, 4]]), "[[1,2],[3,4]]"),
    ("a view of nodes", range(2), "[0,1]"),
)
def test_value_is_told_as_people_write_it(value: Any, told: str) -> None:
    assert text(value) == told


def test_long_value_is_cut() -> None:
    assert len(text("x" * 10_000)) == MOST_TEXT
