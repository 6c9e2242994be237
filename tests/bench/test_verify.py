"""Every workload of 1,000 nodes, and small ones of our own, pod by pod against the row-by-row engine.

A first few pods of those that begin with pods in every run of the tests; all of them with --long.
"""

from pathlib import Path

import pytest

from tests.recordings.record import WORKLOADS as OWN
from tools.bench.engine.verify import verify
from tools.bench.engine.workload import find_workload
from tools.bench.options import WORKLOADS

FEW = 24


def stems(folder: Path, pattern: str) -> list[str]:
    """Of the workloads there; W8 is made of W5."""
    found = [path.name.removesuffix(".json.gz") for path in sorted(folder.glob(pattern))]
    return found + [f"W8{stem.removeprefix('W5')}" for stem in found if stem.startswith("W5")]


# Our own, which are part of the project, and those beside it where they are there.
STEMS = dict.fromkeys(stems(OWN, "*.json.gz"), OWN) | dict.fromkeys(stems(WORKLOADS, "*_n1000_*.json.gz"), WORKLOADS)


@pytest.mark.parametrize(
    "stem", [pytest.param(stem, marks=[pytest.mark.slow] if "_e0_" in stem else []) for stem in STEMS]
)
def test_first_decisions_are_those_of_the_row_by_row_engine(stem: str) -> None:
    verdict = verify("L1", find_workload(stem, STEMS[stem]).with_pods(FEW), reuse=True)
    assert verdict.divergence is None, f"{verdict.pod_key}: {verdict.divergence}"
    assert verdict.agreed >= FEW


@pytest.mark.slow
@pytest.mark.parametrize("level", [pytest.param("L1", id="L1"), pytest.param("L2", id="L2")])
@pytest.mark.parametrize("stem", STEMS)
def test_all_decisions_are_those_of_the_row_by_row_engine(stem: str, level: str) -> None:
    workload = find_workload(stem, STEMS[stem])
    if level == "L2":
        workload = workload.with_pods(400)
    verdict = verify(level, workload, reuse=True)
    assert verdict.divergence is None, f"{verdict.pod_key}: {verdict.divergence}"
    assert verdict.agreed >= workload.num_pods


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_all_decisions_are_the_same_without_reuse(stem: str) -> None:
    workload = find_workload(stem, STEMS[stem]).with_pods(200)
    verdict = verify("L1", workload, reuse=False)
    assert verdict.divergence is None, f"{verdict.pod_key}: {verdict.divergence}"
