"""Upstream's own files, run at level 2: every small workload comes to its end, or says what it lacks.

A few of them in every run of the tests, one for each kind of operation; all that are labelled integration-test with
--long. Decisions are the engine's, which other tests are about; here nothing is measured.
"""

from pathlib import Path

import pytest

from kschedweb.environment import ROOT
from tests.tools.bench.scheduler_perf.perf_files import ticking
from tools.bench.scheduler_perf.files import PerfWorkload, is_labelled, problem_of, read_file
from tools.bench.scheduler_perf.worker import run_here

FILES = ROOT.parent / "shared" / "data" / "scheduler_perf"
FEW = {
    "SchedulingBasic/5Nodes",
    "PreemptionAsync/5Nodes_QueueingHintsEnabled",
    "SchedulingWhileGated/1Node_10GatedPods",
    "SchedulingWithMixedChurn/10Nodes",
    "SchedulingRequiredPodAntiAffinityWithNSSelector/10Nodes",
    "SchedulingCSIPVs/5Nodes",
    "EventHandlingPodUpdate/1Node_10Pods",
    "SchedulingWithResourceClaim/fast",
}
LACKING = {
    "DRAExtendedResource=true",
    "DRAPartitionableDevices=true",
    "DRAConsumableCapacity=true",
    "DRADeviceTaints=true",
}
# Its claims name a class that nobody makes, for which PreFilter refuses their pods, as kube-scheduler 1.34.1 does.
OF_NO_CLASS = {"SteadyStateClusterResourceClaimTemplateFirstAvailable"}

pytestmark = pytest.mark.skipif(not FILES.exists(), reason=f"{FILES} is not there")


def workloads(path: Path) -> list[PerfWorkload]:
    return read_file(path) if path.exists() else []


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(one, id=one.key, marks=[] if one.key in FEW else [pytest.mark.slow])
        for one in workloads(FILES)
        if is_labelled(one.labels, "integration-test")
    ],
)
def test_small_workload_comes_to_its_end_or_says_what_it_lacks(workload: PerfWorkload) -> None:
    run = run_here(workload, ticking())
    if workload.case in OF_NO_CLASS:
        assert run.failed.startswith("no pod was scheduled")
        return
    assert run.failed == ""
    if run.missing:
        assert any(gate in run.missing for gate in LACKING), run.missing
    else:
        assert [item.pods > 0 for item in run.items] == [True]


def test_what_is_lacking_is_a_feature_gate() -> None:
    problems = {workload.key: problem_of(workload) for workload in workloads(FILES)}
    lacking = LACKING | {"SchedulerAsyncPreemption=false"}
    left = {key: text for key, text in problems.items() if text and not any(gate in text for gate in lacking)}
    assert left == {}
    assert {"SchedulingBasic/5Nodes", *FEW} <= {key for key, text in problems.items() if not text}
