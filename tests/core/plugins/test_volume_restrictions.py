"""Disks and ReadWriteOncePod claims that are in use keep others away."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ASSIGNED_POD_DELETE, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import PodInfo
from tests.builders import PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter
from tests.core.volumes import make_claim

QUEUE, HINT_SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
DISK = Status.unschedulable("node(s) had no available disk")
CLAIM = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
ONE_POD = make_claim("one", modes=("ReadWriteOncePod",))
MANY = make_claim("many")
CLAIM_ADD = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)


def disk(source: str, name: str = "p", **fields: Any) -> PodBuilder:
    return make_pod(name).spec(volumes=[{"name": "d", source: fields}])


def gce(read_only: bool = False, pd: str = "pd") -> PodBuilder:
    return disk("gcePersistentDisk", pdName=pd, readOnly=read_only)


def rbd(monitors: list[str], *, read_only: bool = False, image: str = "i") -> PodBuilder:
    return disk("rbd", monitors=monitors, image=image, pool="rbd", readOnly=read_only)


@cases(
    "pod, used, want",
    ("the same GCE disk", gce(), gce(), DISK),
    ("the same GCE disk, both only read it", gce(True), gce(True), SUCCESS),
    ("the same GCE disk, the other writes", gce(True), gce(), DISK),
    ("the same GCE disk, the pod writes", gce(), gce(True), DISK),
    ("another GCE disk", gce(), gce(pd="other"), SUCCESS),
    ("an EBS volume is never shared, not even for reading", disk("awsElasticBlockStore", volumeID="v", readOnly=True),
     disk("awsElasticBlockStore", volumeID="v", readOnly=True), DISK),
    ("the same iSCSI name by whatever portal and lun", disk("iscsi", iqn="q", targetPortal="1.1.1.1", lun=0),
     disk("iscsi", iqn="q", targetPortal="2.2.2.2", lun=1), DISK),
    ("iSCSI, read only", disk("iscsi", iqn="q", readOnly=True), disk("iscsi", iqn="q", readOnly=True), SUCCESS),
    ("iSCSI, the other writes", disk("iscsi", iqn="q", readOnly=True), disk("iscsi", iqn="q"), DISK),
    ("iSCSI, the pod writes", disk("iscsi", iqn="q"), disk("iscsi", iqn="q", readOnly=True), DISK),
    ("the same RBD image through a common monitor", rbd(["a", "b"]), rbd(["b", "c"]), DISK),
    ("the same RBD image of another cluster", rbd(["a"]), rbd(["b"]), SUCCESS),
    ("the same RBD image, both only read it", rbd(["a"], read_only=True), rbd(["a"], read_only=True), SUCCESS),
    ("the same RBD image, the other writes", rbd(["a"], read_only=True), rbd(["a"]), DISK),
    ("the same RBD image, the pod writes", rbd(["a"]), rbd(["a"], read_only=True), DISK),
    ("an RBD image of another pool", rbd(["a"]), disk("rbd", monitors=["a"], image="i", pool="other"), SUCCESS),
    ("another RBD image", rbd(["a"]), rbd(["a"], image="j"), SUCCESS),
    ("disks of different kinds", gce(), disk("iscsi", iqn="pd"), SUCCESS),
)  # fmt: skip
def test_filter_refuses_nodes_where_the_disk_is_in_use(pod: PodBuilder, used: PodBuilder, want: Status) -> None:
    infos = [make_info(make_node("used"), used), make_info(make_node("free"))]
    assert run_filter(make_plugin("VolumeRestrictions", infos=infos), pod.build(), *infos) == [want, SUCCESS]


def test_filter_refuses_every_node_when_a_claim_of_one_pod_is_in_use() -> None:
    infos = [make_info(make_node("a"), make_pod("user").claim_volume("one")), make_info(make_node("b"))]
    plugin = make_plugin("VolumeRestrictions", infos=infos, objects=[ONE_POD])
    assert run_filter(plugin, make_pod().claim_volume("one").build(), *infos) == [CLAIM, CLAIM]


@cases(
    "pod, want",
    ("a pod without volumes", make_pod(), SKIP),
    ("a claim many pods may use", make_pod().claim_volume("many"), SKIP),
    ("a claim of one pod that nobody uses", make_pod().claim_volume("one"), SKIP),
    ("a disk", gce(), SUCCESS),
    ("a claim that is not there", make_pod().claim_volume("missing"),
     Status.unresolvable('persistentvolumeclaim "missing" not found')),
)  # fmt: skip
def test_pre_filter_skips_what_cannot_conflict(pod: PodBuilder, want: Status) -> None:
    infos = [make_info(make_node(), make_pod("user").claim_volume("many"))]
    plugin = make_plugin("VolumeRestrictions", infos=infos, objects=[ONE_POD, MANY])
    assert plugin.pre_filter(CycleState(), pod.build(), infos) == (None, want)


def test_without_its_user_the_claim_is_free_again_in_a_copy_of_the_state() -> None:
    user = make_pod("user").claim_volume("one").build()
    info = make_info(make_node(), make_pod("user").claim_volume("one"))
    plugin = make_plugin("VolumeRestrictions", infos=[info], objects=[ONE_POD])
    state, pod = CycleState(), make_pod().claim_volume("one").build()
    plugin.pre_filter(state, pod, [info])
    what_if = state.clone()
    assert plugin.remove_pod(what_if, pod, PodInfo.of(user), info).is_success
    assert plugin.filter(what_if, pod, make_info(make_node())) == SUCCESS
    assert plugin.filter(state, pod, info) == CLAIM
    assert plugin.add_pod(what_if, pod, PodInfo.of(user), info).is_success
    assert plugin.filter(what_if, pod, info) == CLAIM


def test_a_claim_of_the_same_name_elsewhere_counts_when_pods_come_and_go() -> None:
    stranger = make_pod("stranger", namespace="other").claim_volume("one").build()
    info = make_info(make_node(), make_pod("user").claim_volume("one"))
    plugin = make_plugin("VolumeRestrictions", infos=[info], objects=[ONE_POD])
    state, pod = CycleState(), make_pod().claim_volume("one").build()
    plugin.pre_filter(state, pod, [info])
    plugin.remove_pod(state, pod, PodInfo.of(stranger), info)
    assert plugin.filter(state, pod, info) == SUCCESS


@cases(
    "deleted, want",
    ("it held the disk", gce(), QUEUE),
    ("it used the claim", make_pod("x").claim_volume("one"), QUEUE),
    ("it used another claim", make_pod("x").claim_volume("other"), HINT_SKIP),
    ("it is of another namespace", make_pod("x", namespace="other").claim_volume("one"), HINT_SKIP),
)
def test_pod_hint_asks_for_what_the_deleted_pod_used(deleted: PodBuilder, want: QueueingHint) -> None:
    volumes = [
        {"name": "d", "gcePersistentDisk": {"pdName": "pd"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "one"}},
    ]
    pod = make_pod().spec(volumes=volumes)
    assert ask_hint(make_plugin("VolumeRestrictions"), ASSIGNED_POD_DELETE, pod, deleted, None) is want


@cases(
    "pod, want",
    ("a claim of the pod", make_pod().claim_volume("one").build(), QUEUE),
    ("somebody else's claim", make_pod().claim_volume("many").build(), HINT_SKIP),
)
def test_claim_hint_asks_whether_the_pod_names_it(pod: Pod, want: QueueingHint) -> None:
    assert ask_hint(make_plugin("VolumeRestrictions"), CLAIM_ADD, pod, None, ONE_POD) is want
