"""The comparison with the row-by-row engine finds what differs, and nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scheduler_core.framework.answers import Int64Array, RowVerdicts
from scheduler_core.model.status import Status
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.plugins.node_unschedulable import NodeUnschedulable
from tests.tools.bench.workloads import file_of, written
from tools.bench.engine.levels import LEVELS
from tools.bench.engine.verify import verify
from tools.bench.engine.workload import Workload, read_workload


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    return read_workload(written(tmp_path, "w.json", file_of(existing=[(0, 0), (0, 1), (0, 1)])))


@pytest.mark.parametrize("level", [pytest.param(level, id=level) for level in LEVELS])
def test_all_attempts_agree_when_both_forms_are_the_same(level: str, workload: Workload) -> None:
    verdict = verify(level, workload, reuse=True)
    assert (verdict.agreed, verdict.divergence) == (6, None)


def test_difference_in_a_score_is_found_where_it_is(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = NodeResourcesFit.score_nodes

    def higher(self: NodeResourcesFit, *arguments: Any) -> Int64Array:
        return scores(self, *arguments) + 1

    monkeypatch.setattr(NodeResourcesFit, "score_nodes", higher)
    verdict = verify("L1", workload, reuse=False)  # with it, so few nodes are asked about one by one
    assert (verdict.agreed, verdict.pod_key) == (0, "default/pod-000000")
    assert verdict.divergence is not None
    assert verdict.divergence.where.startswith("score of NodeResourcesFit for node-")


def test_difference_in_a_verdict_is_found_where_it_is(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    def first_row_refused(self: NodeUnschedulable, state: Any, pod: Any, table: Any, rows: Any) -> RowVerdicts:
        codes = np.zeros(len(table.unschedulable), dtype=np.uint16)
        codes[0] = 1
        return RowVerdicts(codes[rows], (Status.unschedulable("planted"),))

    monkeypatch.setattr(NodeUnschedulable, "filter_nodes", first_row_refused)
    verdict = verify("L2", workload, reuse=False)
    assert verdict.agreed == 0
    assert verdict.divergence is not None
    assert verdict.divergence.where.startswith("filter of node-")
