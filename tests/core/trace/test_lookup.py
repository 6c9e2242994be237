"""One node's refusal read from a stored matrix, against the whole matrix."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from scheduler_core.errors import TraceError
from scheduler_core.model.effects import Attempt, FilterRows
from scheduler_core.model.status import Status
from scheduler_core.trace.codec import encode
from scheduler_core.trace.lookup import refusal
from scheduler_core.trace.matrix import AttemptMatrix
from tests.core.trace.attempts import CPU, attempts, make_attempt
from tests.examples import examples


@examples(60)
@given(attempts())
def test_every_node_is_told_what_the_whole_matrix_tells_it(attempt: Attempt) -> None:
    if attempt.node_order is None or attempt.filter_rows is None:
        return
    told = {row.node_name: row.status for row in AttemptMatrix.of(attempt).rows() if not row.status.is_success}
    blob = encode(attempt)
    for place, name in enumerate(attempt.node_order.names):
        assert refusal(blob, place) == told.get(name), name


@examples(60)
@given(attempts())
def test_counts_are_those_of_the_rows(attempt: Attempt) -> None:
    matrix = AttemptMatrix.of(attempt)
    rows = list(matrix.rows())
    assert matrix.num_rows() == len(rows)
    assert matrix.refused_by() == Counter(row.status.plugin for row in rows if not row.status.is_success)


def test_nodes_that_are_listed_one_by_one_are_found() -> None:
    rows = FilterRows(np.array([4, 1, 3], dtype=np.int32), np.array([0, 1, 1], dtype=np.uint8), (CPU,))
    blob = encode(make_attempt(6, filter_rows=rows))
    assert [refusal(blob, node) for node in range(6)] == [None, CPU, None, CPU, None, None]


def test_every_node_is_refused_when_the_pod_was_refused_before_any_was_looked_at() -> None:
    status = Status.unresolvable("no volume", plugin="VolumeBinding")
    blob = encode(make_attempt(3, pre_filter_status=status))
    assert [refusal(blob, node) for node in range(3)] == [status] * 3


@pytest.mark.parametrize("blob", [b"", b"\x63rest", encode(make_attempt(3))[:-3]], ids=["empty", "layout", "cut"])
def test_damaged_matrix_is_refused(blob: bytes) -> None:
    with pytest.raises(TraceError):
        refusal(blob, 0)


def test_node_out_of_the_order_is_refused() -> None:
    with pytest.raises(TraceError):
        refusal(encode(make_attempt(3)), 3)
