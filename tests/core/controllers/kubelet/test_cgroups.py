"""Values of a pod's control group: shares, quota and memory, with overhead."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.controllers.kubelet.cgroups import PodCgroup, pod_cgroup
from tests.builders import make_pod
from tests.cases import cases

MI = 1024**2
TWO = (
    make_pod("p")
    .container({"cpu": "500m", "memory": "100Mi"}, limits={"cpu": "500m", "memory": "100Mi"})
    .container({"cpu": "1500m", "memory": "100Mi"}, limits={"cpu": "1500m", "memory": "100Mi"})
)


@cases(
    "pod, want",
    ("overhead is a part of it", TWO.overhead(cpu="250m", memory="120Mi").build(),
     PodCgroup(2304, 225_000, 335_544_320)),
    ("best effort", make_pod("p").container().build(), PodCgroup(2)),
    ("no limits", make_pod("p").req(cpu="1").build(), PodCgroup(1024)),
    ("least shares", make_pod("p").req(cpu="1m").build(), PodCgroup(2)),
    ("most shares", make_pod("p").req(cpu="1000").build(), PodCgroup(262_144)),
    ("one container without a limit",
     make_pod("p").container({"cpu": "1"}, limits={"cpu": "2"}).container({"cpu": "1"}).build(), PodCgroup(2048)),
    ("least quota", make_pod("p").container({"cpu": "1m"}, limits={"cpu": "1m", "memory": "1Mi"}).build(),
     PodCgroup(2, 1_000, MI)),
    ("limits of the pod as a whole",
     make_pod("p").container({"cpu": "1"})
         .spec(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3", "memory": "1Gi"}}).build(),
     PodCgroup(2048, 300_000, 1024 * MI)),
)  # fmt: skip
def test_group_of_a_pod(pod: Pod, want: PodCgroup) -> None:
    assert pod_cgroup(pod) == want
