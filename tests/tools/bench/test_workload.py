"""Reading workloads, finding them, making others of them."""

from pathlib import Path

import pytest

from scheduler_core.api.manifests import convert, decode
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.errors import WorkloadError
from tests.cases import cases
from tests.tools.bench.workloads import file_of, written
from tools.bench.engine.workload import Workload, find_workload, read_workload


def pods_of(workload: Workload) -> list[Pod]:
    return [convert(manifest, Pod) for manifest in workload.pods()]


def test_objects_are_named_and_placed_by_their_index(tmp_path: Path) -> None:
    workload = read_workload(written(tmp_path, "w.json.gz", file_of(existing=[(0, 2)])))
    *_, last_node, existing = map(decode, workload.objects())
    assert isinstance(last_node, Node)
    assert (last_node.name, last_node.uid) == ("node-00003", "uid-node-00003")
    assert last_node.labels == {"zone": "b", "kubernetes.io/hostname": "node-00003"}
    assert isinstance(existing, Pod)
    assert (existing.key, existing.spec.node_name) == ("default/existing-000000", "node-00002")
    assert [pod.name for pod in pods_of(workload)] == [f"pod-{index:06d}" for index in range(6)]
    assert [_cpu(pod) for pod in pods_of(workload)] == ["500m", "1", "1", "500m", "500m", "1"]


def test_templates_are_left_as_they_were_when_objects_are_made(tmp_path: Path) -> None:
    workload = read_workload(written(tmp_path, "w.json", file_of(existing=[(0, 0)])))
    assert workload.objects() == workload.objects()
    own = workload.with_own_signatures("W8")
    assert own.pods() == own.pods()
    assert "labels" not in workload.namespaces[0]["metadata"]
    assert "nodeName" not in workload.existing_templates[0]["spec"]


def test_resized_workload_repeats_nodes_and_what_runs_on_them(tmp_path: Path) -> None:
    workload = read_workload(written(tmp_path, "w.json", file_of(existing=[(0, 0), (0, 3)]))).resized(9)
    assert workload.node_template_of == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert workload.existing == [(0, 0), (0, 3), (0, 4), (0, 7), (0, 8)]


def test_resized_workload_keeps_only_what_fits_when_it_is_smaller(tmp_path: Path) -> None:
    workload = read_workload(written(tmp_path, "w.json", file_of(existing=[(0, 0), (0, 3)]))).resized(2)
    assert (workload.num_nodes, workload.existing) == (2, [(0, 0)])


@cases(
    "num_pods, want",
    ("the first", 2, [0, 1]),
    ("again and again", 8, [0, 1, 1, 0, 0, 1, 0, 1]),
)
def test_workload_takes_another_number_of_pods(num_pods: int, want: list[int], tmp_path: Path) -> None:
    workload = read_workload(written(tmp_path, "w.json", file_of())).with_pods(num_pods)
    assert workload.pod_template_of == want
    assert len({pod.uid for pod in pods_of(workload)}) == num_pods


def test_w8_gives_every_pod_a_label_a_request_and_a_toleration_of_its_own(tmp_path: Path) -> None:
    plain = read_workload(written(tmp_path, "w.json", file_of()))
    pods = pods_of(plain.with_own_signatures("W8"))
    assert [pod.labels for pod in pods] == [{"app": "x", "bench/own": pod.name} for pod in pods]
    bytes_asked = [_requests(pod)["memory"].value() for pod in pods]
    assert bytes_asked == [100 * 2**20 + place for place in range(1, 7)]
    for pod in pods:
        (toleration,) = pod.spec.tolerations or ()
        assert (toleration.key, toleration.operator, toleration.value) == ("bench/own", "Equal", pod.name)
        assert toleration.effect == "NoSchedule"
    assert [_cpu(pod) for pod in pods] == [_cpu(pod) for pod in pods_of(plain)]


@cases(
    "word, want",
    ("its whole stem", "W1_n4_e0_p9", 1),
    ("without pods the one of 2,000", "W1_n4_e0", 2),
    ("without pods the only one", "W6_n4", 3),
)
def test_workload_is_found_by_its_stem(word: str, want: int, tmp_path: Path) -> None:
    for name, pods in (("W1_n4_e0_p9", 1), ("W1_n4_e0_p2000", 2), ("W1_n4_e5_p9", 4), ("W6_n4_p7", 3)):
        written(tmp_path, f"{name}.json.gz", file_of(pod_of=[0] * pods))
    assert find_workload(word, tmp_path).num_pods == want


def test_workload_is_found_by_its_path(tmp_path: Path) -> None:
    path = written(tmp_path, "mine.json", file_of(workload="mine"))
    assert find_workload(str(path), tmp_path / "elsewhere").name == "mine"


def test_w8_is_made_of_the_w5_of_the_same_size(tmp_path: Path) -> None:
    written(tmp_path, "W5_n4_e0_p2000.json.gz", file_of(workload="W5"))
    workload = find_workload("W8_n4_e0", tmp_path)
    assert (workload.name, workload.own_signatures) == ("W8", True)


@cases(
    "word, words",
    ("two sizes", "W1_n4", "which of them W1_n4_p1, W1_n4_p3"),
    ("nobody of that name", "W1_n5", "no such workload; there are W1_n4_p1, W1_n4_p3"),
)
def test_unknown_stem_is_told_with_what_there_is(word: str, words: str, tmp_path: Path) -> None:
    for name in ("W1_n4_p1", "W1_n4_p3", "W2_n4_p1"):
        written(tmp_path, f"{name}.json.gz", file_of())
    with pytest.raises(WorkloadError, match=words):
        find_workload(word, tmp_path)


@cases(
    "content",
    ("no JSON", b"{"),
    ("no gzip", b"\x1f\x8bxx"),
    ("another shape", b"{}"),
)
def test_file_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(content)
    with pytest.raises(WorkloadError, match=r"w\.json"):
        read_workload(path)


def test_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "w.json", file_of() | {"format": "schedbench/2: new"})
    with pytest.raises(WorkloadError, match="format is not schedbench/1"):
        read_workload(path)


def _requests(pod: Pod) -> dict[str, object]:
    resources = pod.spec.containers[0].resources
    assert resources is not None and resources.requests is not None
    return resources.requests


def _cpu(pod: Pod) -> str:
    return str(_requests(pod)["cpu"])
