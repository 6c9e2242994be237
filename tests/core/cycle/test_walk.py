"""The refusals of a walk say the same before and after they are spelled out by name."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from scheduler_core.cycle.view import SnapshotView
from scheduler_core.cycle.walk import Walk, WalkStatuses
from scheduler_core.model.effects import FilterRows, NodeOrder
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import NodeToStatus
from scheduler_core.table.node_table import NodeTable

CPU, TAINT, BROKEN = Status.unschedulable("cpu"), Status.unresolvable("taint"), Status.failed("broken")
CODES = (Code.Unschedulable, Code.UnschedulableAndUnresolvable, Code.Error)


def random_statuses(seed: int) -> tuple[WalkStatuses, tuple[str, ...]]:
    random = Random(seed)
    names = tuple(f"n{number}" for number in range(6))
    view = SnapshotView.of(NodeOrder("", names), [], np.arange(6, dtype=np.int32), NodeTable())
    walked = random.sample(range(6), random.randint(0, 6))
    codes = [random.randint(0, 3) for _ in walked]
    rows = FilterRows(np.array(walked, np.int32), np.array(codes, np.uint8), (CPU, TAINT, BROKEN))
    earlier = NodeToStatus(random.choice((None, CPU)))
    for name in random.sample((*names, "gone"), random.randint(0, 2)):
        earlier.set(name, random.choice((CPU, TAINT)))
    nobody = np.zeros(0, np.int32)
    walk = Walk(rows, nobody, nobody.astype(np.intp), num_rejected=sum(code > 0 for code in codes))
    return WalkStatuses(view, walk, earlier), names


@pytest.mark.parametrize("seed", range(60))
def test_answers_are_the_same_when_everything_is_spelled_out(seed: int) -> None:
    statuses, names = random_statuses(seed)
    found = [statuses.nodes_with_code(code, names).tolist() for code in CODES]
    told, many, reasons = [statuses.status_of(name) for name in names], len(statuses), statuses.reason_counts()
    list(statuses)  # spells them out
    assert told == [statuses.status_of(name) for name in names]
    assert (many, reasons) == (len(statuses), statuses.reason_counts())
    assert found == [statuses.nodes_with_code(code, names).tolist() for code in CODES]
    assert found == [[at for at, status in enumerate(told) if status.code is code] for code in CODES]


def test_status_set_later_wins_over_the_walk() -> None:
    statuses, names = random_statuses(3)
    for name in names:
        statuses.set(name, BROKEN)
    assert statuses.status_of("n0") == BROKEN
    assert statuses.nodes_with_code(Code.Error, names).tolist() == list(range(6))
