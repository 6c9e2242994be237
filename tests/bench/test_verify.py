"""Every workload of 1,000 nodes, pod by pod, against the row-by-row engine.

A first few pods of each in every run of the tests; all of them with --long.
"""

from pathlib import Path

import pytest

from kschedweb.ops.bench.options import WORKLOADS
from scheduler_core.bench.verify import verify
from scheduler_core.bench.workload import find_workload

STEMS = [path.name.removesuffix(".json.gz") for path in sorted(WORKLOADS.glob("*_n1000_*.json.gz"))]
STEMS += [f"W8{stem.removeprefix('W5')}" for stem in STEMS if stem.startswith("W5")]
FEW = 24


@pytest.fixture(autouse=True)
def workloads() -> Path:
    if not STEMS:
        pytest.skip("there are no workloads in ../shared/bench/workloads")
    return WORKLOADS


@pytest.mark.parametrize("stem", STEMS or [pytest.param("", id="none")])
def test_first_decisions_are_those_of_the_row_by_row_engine(stem: str, workloads: Path) -> None:
    verdict = verify("L1", find_workload(stem, workloads).with_pods(FEW), reuse=True)
    assert verdict.divergence is None, f"{verdict.pod_key}: {verdict.divergence}"
    assert verdict.agreed >= FEW


@pytest.mark.slow
@pytest.mark.parametrize("level", [pytest.param("L1", id="L1"), pytest.param("L2", id="L2")])
@pytest.mark.parametrize("stem", STEMS or [pytest.param("", id="none")])
def test_all_decisions_are_those_of_the_row_by_row_engine(stem: str, level: str, workloads: Path) -> None:
    workload = find_workload(stem, workloads)
    if level == "L2":
        workload = workload.with_pods(400)
    verdict = verify(level, workload, reuse=True)
    assert verdict.divergence is None, f"{verdict.pod_key}: {verdict.divergence}"
    assert verdict.agreed >= workload.num_pods


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS or [pytest.param("", id="none")])
def test_all_decisions_are_the_same_without_reuse(stem: str, workloads: Path) -> None:
    workload = find_workload(stem, workloads).with_pods(200)
    verdict = verify("L1", workload, reuse=False)
    assert verdict.divergence is None, f"{verdict.pod_key}: {verdict.divergence}"
