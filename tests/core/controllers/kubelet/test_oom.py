"""Scores of the kernel's out-of-memory killer, as kubelets set them."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.controllers.kubelet.oom import oom_score, oom_score_adj
from tests.builders import make_pod
from tests.cases import cases

GI = 1024**3
FULL = {"cpu": "1", "memory": "1Gi"}


def adjustment(pod: Pod, memory: int = 10 * GI, container: int = 0) -> int:
    return oom_score_adj(pod, pod.spec.containers[container], memory)


@cases(
    "pod, want",
    ("guaranteed", make_pod("p").container(FULL, limits=FULL).build(), -997),
    ("best effort", make_pod("p").container().build(), 1000),
    ("a tenth of the memory", make_pod("p").req(memory="1Gi").build(), 900),
    ("hardly any memory", make_pod("p").req(memory="1Mi").build(), 999),
    ("no memory", make_pod("p").req(cpu="1").build(), 999),
    ("all of the memory", make_pod("p").req(memory="10Gi").build(), 3),
    ("nine tenths", make_pod("p").req(memory="9Gi").build(), 100),
    ("critical for the node",
     make_pod("p").container().priority(2_000_001_000).spec(priorityClassName="system-node-critical").build(), -997),
    ("critical for the cluster only",
     make_pod("p").container().priority(2_000_000_000).spec(priorityClassName="system-cluster-critical").build(), 1000),
)  # fmt: skip
def test_adjustment_follows_the_class_and_the_request(pod: Pod, want: int) -> None:
    assert adjustment(pod) == want


def test_sidecar_is_no_sooner_ended_than_what_it_serves() -> None:
    pod = make_pod("p").container({"memory": "4Gi"}).init_container({"memory": "1Gi"}, sidecar=True).build()
    (sidecar,) = pod.spec.init_containers or ()
    assert oom_score_adj(pod, sidecar, 10 * GI) == 600


def test_memory_of_the_pod_as_a_whole_is_shared() -> None:
    pod = make_pod("p").container({"memory": "1Gi"}).container().pod_level(memory="3Gi").build()
    assert [adjustment(pod, container=number) for number in (0, 1)] == [800, 900]


def test_score_is_a_thousandth_of_what_is_used_and_the_adjustment() -> None:
    assert oom_score(900, 2 * GI, 10 * GI) == 1100
    assert oom_score(-997, GI, 10 * GI) == 0
    assert oom_score(1000, GI, 10 * GI) > oom_score(900, GI, 10 * GI) > oom_score(-997, 10 * GI, 10 * GI)
