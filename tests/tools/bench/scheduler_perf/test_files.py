"""Configuration files: parameters put in, labels, and every thing that does not exist here named."""

from pathlib import Path

import pytest

from scheduler_core.errors import WorkloadError
from tests.cases import cases
from tests.tools.bench.scheduler_perf.perf_files import Json, config_file, only, operation
from tools.bench.scheduler_perf.files import is_labelled, problem_of, read_file
from tools.bench.scheduler_perf.operations import CreatePods, CreatePodSets


def test_parameters_are_put_in_inside_of_operations_as_well(tmp_path: Path) -> None:
    inner = operation("createPods", countParam="$few", skipWaitToCompletion=True)
    path = config_file(
        tmp_path,
        operation("createPodSets", countParam="$sets", namespacePrefix="ns", createPodsOp=inner),
        operation("createPods", count=1, steadyState=True, durationParam="$long"),
        params={"few": 3, "sets": 2, "long": "2s"},
        threshold=12.5,
    )
    workload = only(path)
    assert (workload.key, workload.labels, workload.threshold) == ("Case/few", ("short", "integration-test"), 12.5)
    assert problem_of(workload) == ""
    assert workload.operations() == [
        CreatePodSets(count=2, namespace_prefix="ns", create_pods_op=CreatePods(count=3, skip_wait_to_completion=True)),
        CreatePods(count=1, steady_state=True, duration="2s"),
    ]


@cases(
    "asked, gates, want",
    ("an operation", operation("createPodGroups", count=1), {}, "createPodGroups"),
    ("a field", operation("createNodes", count=1, uniqueNodeLabelStrategy={}), {}, "uniqueNodeLabelStrategy"),
    ("a field of a field", operation("createNodes", count=1, nodeAllocatableStrategy={"x": 1}), {}, "`x`"),
    ("a choice", operation("churn", mode="shuffle", templatePaths=[]), {}, "mode shuffle"),
    ("a parameter", operation("createNodes", countParam="$many"), {}, "no parameter $many"),
    ("a gate", operation("createNodes", count=1), {"DRADeviceTaints": True}, "DRADeviceTaints=true"),
    ("a gate switched off", operation("createNodes", count=1), {"SchedulerAsyncPreemption": False}, "Preemption=false"),
    ("a gate nobody knows", operation("createNodes", count=1), {"Flying": False}, "Flying=false"),
)  # fmt: skip
def test_what_does_not_exist_here_is_named(asked: Json, gates: dict[str, bool], want: str, tmp_path: Path) -> None:
    assert want in problem_of(only(config_file(tmp_path, asked, featureGates=gates)))


def test_every_gate_that_is_missing_is_named(tmp_path: Path) -> None:
    gates = {"DRAPartitionableDevices": True, "SchedulerQueueingHints": False, "DRAConsumableCapacity": True}
    problem = problem_of(only(config_file(tmp_path, operation("createPodGroups"), featureGates=gates)))
    assert problem.startswith("feature gate DRAPartitionableDevices=true, DRAConsumableCapacity=true; operation")


@cases(
    "asked, want",
    ("all", "", True),
    ("one", "short", True),
    ("with a plus", "+short,integration-test", True),
    ("one that is not there", "short,performance", False),
    ("without another", "short,-performance", True),
    ("without its own", "short,-integration-test", False),
)  # fmt: skip
def test_labels(asked: str, want: bool) -> None:
    assert is_labelled(("integration-test", "short"), asked) is want


def test_folder_stands_for_all_files_below(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        config_file(tmp_path / name, operation("createNodes", count=1), name=name)
    assert [workload.name for workload in read_file(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    "text", ["{", "- name: x\n", "- 3\n", "[{name: x, workloadTemplate: [], workloads: [], y: 1}]"]
)
def test_anything_else_is_refused_with_its_path(text: str, tmp_path: Path) -> None:
    path = tmp_path / "performance-config.yaml"
    path.write_text(text)
    with pytest.raises(WorkloadError, match=str(path)):
        read_file(path)


def test_folder_without_such_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="there is no"):
        read_file(tmp_path)
