"""Files in the form of the openb trace: what becomes of a node, of a task, and of a row that is not as it should be."""

from collections.abc import Mapping
from typing import Any

import pytest

from kschedweb.cluster.intake import openb
from kschedweb.cluster.intake.openb import GPU, GPU_MILLI, NODE_HEADER, POD_HEADER
from kschedweb.cluster.intake.problems import UnreadableError
from kschedweb.environment import ROOT
from tests.cases import cases

FOLDER = ROOT / "tests" / "recordings" / "openb"


def manifests(text: str) -> dict[str, dict[str, Any]]:
    return {manifest["metadata"]["name"]: manifest for _, manifest in openb.read("f.csv", text)}


@pytest.fixture(scope="module")
def nodes() -> dict[str, dict[str, Any]]:
    return manifests((FOLDER / "nodes.csv").read_text())


@pytest.fixture(scope="module")
def pods() -> dict[str, dict[str, Any]]:
    return manifests((FOLDER / "pods.csv").read_text())


@cases(
    "name, gpus, labels",
    ("no GPU", "plain-b", {}, {}),
    ("GPUs of a model", "large-gpu", {GPU: "8", GPU_MILLI: "8000"}, {"gpu-model": "A10"}),
    ("GPUs of no named model", "unnamed-gpu", {GPU: "4", GPU_MILLI: "4000"}, {}),
)
def test_node_has_its_gpus_whole_and_in_thousandths(
    nodes: Mapping[str, Any], name: str, gpus: dict[str, str], labels: dict[str, str]
) -> None:
    node = nodes[name]
    assert node["kind"] == "Node"
    assert node["metadata"]["labels"] == {"kubernetes.io/hostname": name} | labels
    assert {key: value for key, value in node["status"]["allocatable"].items() if "/" in key} == gpus
    assert node["status"]["capacity"] == node["status"]["allocatable"]


def test_node_has_cpu_memory_and_room_for_pods(nodes: Mapping[str, Any]) -> None:
    assert nodes["plain-b"]["status"]["allocatable"] == {"cpu": "8000m", "memory": "65536Mi", "pods": "110"}


@cases(
    "name, requests",
    ("no GPU", "web", {"cpu": "2000m", "memory": "4096Mi"}),
    ("a part of a GPU", "part", {"cpu": "4000m", "memory": "8192Mi", GPU_MILLI: "750"}),
    ("two GPUs", "two", {"cpu": "8000m", "memory": "16384Mi", GPU_MILLI: "2000"}),
)
def test_task_requests_its_share_of_gpus(pods: Mapping[str, Any], name: str, requests: dict[str, str]) -> None:
    (container,) = pods[name]["spec"]["containers"]
    limits = {GPU_MILLI: requests[GPU_MILLI]} if GPU_MILLI in requests else None
    assert container["resources"] == {"requests": requests} | ({"limits": limits} if limits else {})


@pytest.mark.parametrize(("name", "models"), [("tied", ["T4"]), ("either", ["T4", "A10"]), ("part", None)])
def test_task_is_tied_to_the_models_it_names(pods: Mapping[str, Any], name: str, models: list[str] | None) -> None:
    affinity = pods[name]["spec"].get("affinity")
    if models is None:
        assert affinity is None
        return
    (term,) = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [{"key": "gpu-model", "operator": "In", "values": models}]}


@pytest.mark.parametrize(
    ("name", "class_name", "priority"),
    [
        ("web", "openb-latency-sensitive", 1000),
        ("two", "openb-latency-sensitive", 1000),
        ("tied", "openb-latency-sensitive", 1000),
        ("batch", "openb-best-effort", 0),
    ],
)
def test_task_has_the_priority_of_its_service_class(
    pods: Mapping[str, Any], name: str, class_name: str, priority: int
) -> None:
    spec = pods[name]["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == (class_name, priority, "Never")
    assert (pods[class_name]["kind"], pods[class_name]["value"]) == ("PriorityClass", priority)


def test_task_begins_as_pending_and_keeps_its_times(pods: Mapping[str, Any]) -> None:
    ended = pods["two"]
    assert "status" not in ended and "nodeName" not in ended["spec"]
    assert ended["metadata"]["annotations"] == {"openb/creation-time": "20", "openb/deletion-time": "700"}


def test_header_may_have_blanks_and_lines_may_be_empty() -> None:
    assert openb.is_header(" sn , cpu_milli,memory_mib,gpu,model")
    assert not openb.is_header("sn,cpu_milli,memory_mib,gpu")
    assert list(manifests("sn, cpu_milli,memory_mib,gpu,model\r\n\r\nn1,1000,1024,0,\r\n")) == ["n1"]


TASK = "t,1000,1024,1,500,,LS,Running,0,1,0"


@cases(
    "text, line, problem",
    ("nothing", "", 1, "expected the columns sn,"),
    ("another table", "sn,cpu\nn1,1\n", 1, "expected the columns sn,"),
    ("a column is missing", f"{','.join(NODE_HEADER)}\nn1,1,1,0\n", 2, "expected 5 columns, got 4"),
    ("below 0", f"{','.join(NODE_HEADER)}\n\nn1,-1,1,0,\n", 3, "cpu_milli: expected a whole"),
    ("a fraction", f"{','.join(NODE_HEADER)}\nn1,1,1.5,0,\n", 2, "memory_mib: expected a whole"),
    ("too large", f"{','.join(NODE_HEADER)}\nn1,1,1,{'9' * 13},\n", 2, "gpu: expected a whole"),
    ("other digits", f"{','.join(NODE_HEADER)}\nn1,1,1,\u0663,\n", 2, "gpu: expected a whole"),
    ("unknown class", f"{','.join(POD_HEADER)}\n{TASK.replace('LS', 'ls')}\n", 2, "qos: expected one of LS,"),
    ("a word", f"{','.join(POD_HEADER)}\n{TASK.replace(',1,', ',one,')}\n", 2, "num_gpu: expected a whole"),
    ("text after a quote", f'{",".join(NODE_HEADER)}\n"n1"x,1,1,0,\n', 2, "is not sound CSV"),
)
def test_row_that_is_not_as_it_should_be_is_named_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(UnreadableError, match=problem) as caught:
        for _, value in openb.read("f.csv", text):
            if isinstance(value, UnreadableError):
                raise value
    assert str(caught.value).startswith(f"f.csv: line {line}: ")
