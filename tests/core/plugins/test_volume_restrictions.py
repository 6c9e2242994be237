"""Disks and ReadWriteOncePod claims that are in use keep others away."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ASSIGNED_POD_DELETE, NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import PodInfo
from tests.builders import PodBuilder, make_node, make_pod
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter
from tests.core.volumes import make_claim

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


@pytest.mark.parametrize(
    ("pod", "used", "want"),
    [
        pytest.param(gce(), gce(), DISK, id="the same GCE disk"),
        pytest.param(gce(True), gce(True), SUCCESS, id="the same GCE disk, both only read it"),
        pytest.param(gce(True), gce(), DISK, id="the same GCE disk, the other writes"),
        pytest.param(gce(), gce(True), DISK, id="the same GCE disk, the pod writes"),
        pytest.param(gce(), gce(pd="other"), SUCCESS, id="another GCE disk"),
        pytest.param(
            disk("awsElasticBlockStore", volumeID="v", readOnly=True),
            disk("awsElasticBlockStore", volumeID="v", readOnly=True),
            DISK,
            id="an EBS volume is never shared, not even for reading",
        ),
        pytest.param(
            disk("iscsi", iqn="q", targetPortal="1.1.1.1", lun=0),
            disk("iscsi", iqn="q", targetPortal="2.2.2.2", lun=1),
            DISK,
            id="the same iSCSI name by whatever portal and lun",
        ),
        pytest.param(
            disk("iscsi", iqn="q", readOnly=True), disk("iscsi", iqn="q", readOnly=True), SUCCESS, id="iSCSI, read only"
        ),
        pytest.param(disk("iscsi", iqn="q", readOnly=True), disk("iscsi", iqn="q"), DISK, id="iSCSI, the other writes"),
        pytest.param(disk("iscsi", iqn="q"), disk("iscsi", iqn="q", readOnly=True), DISK, id="iSCSI, the pod writes"),
        pytest.param(rbd(["a", "b"]), rbd(["b", "c"]), DISK, id="the same RBD image through a common monitor"),
        pytest.param(rbd(["a"]), rbd(["b"]), SUCCESS, id="the same RBD image of another cluster"),
        pytest.param(
            rbd(["a"], read_only=True), rbd(["a"], read_only=True), SUCCESS, id="the same RBD image, both only read it"
        ),
        pytest.param(rbd(["a"], read_only=True), rbd(["a"]), DISK, id="the same RBD image, the other writes"),
        pytest.param(rbd(["a"]), rbd(["a"], read_only=True), DISK, id="the same RBD image, the pod writes"),
        pytest.param(
            rbd(["a"]), disk("rbd", monitors=["a"], image="i", pool="other"), SUCCESS, id="an RBD image of another pool"
        ),
        pytest.param(rbd(["a"]), rbd(["a"], image="j"), SUCCESS, id="another RBD image"),
        pytest.param(gce(), disk("iscsi", iqn="pd"), SUCCESS, id="disks of different kinds"),
    ],
)
def test_filter_refuses_nodes_where_the_disk_is_in_use(pod: PodBuilder, used: PodBuilder, want: Status) -> None:
    infos = [make_info(make_node("used"), used), make_info(make_node("free"))]
    assert run_filter(make_plugin("VolumeRestrictions", infos=infos), pod.build(), *infos) == [want, SUCCESS]


def test_filter_refuses_every_node_when_a_claim_of_one_pod_is_in_use() -> None:
    infos = [make_info(make_node("a"), make_pod("user").claim_volume("one")), make_info(make_node("b"))]
    plugin = make_plugin("VolumeRestrictions", infos=infos, objects=[ONE_POD])
    assert run_filter(plugin, make_pod().claim_volume("one").build(), *infos) == [CLAIM, CLAIM]


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(make_pod(), SKIP, id="a pod without volumes"),
        pytest.param(make_pod().claim_volume("many"), SKIP, id="a claim many pods may use"),
        pytest.param(make_pod().claim_volume("one"), SKIP, id="a claim of one pod that nobody uses"),
        pytest.param(gce(), SUCCESS, id="a disk"),
        pytest.param(
            make_pod().claim_volume("missing"),
            Status.unresolvable('persistentvolumeclaim "missing" not found'),
            id="a claim that is not there",
        ),
    ],
)
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


@pytest.mark.parametrize(
    ("deleted", "want"),
    [
        pytest.param(gce(), QueueingHint.QUEUE, id="it held the disk"),
        pytest.param(make_pod("x").claim_volume("one"), QueueingHint.QUEUE, id="it used the claim"),
        pytest.param(make_pod("x").claim_volume("other"), QueueingHint.SKIP, id="it used another claim"),
        pytest.param(
            make_pod("x", namespace="other").claim_volume("one"), QueueingHint.SKIP, id="it is of another namespace"
        ),
    ],
)
def test_pod_hint_asks_for_what_the_deleted_pod_used(deleted: PodBuilder, want: QueueingHint) -> None:
    volumes = [
        {"name": "d", "gcePersistentDisk": {"pdName": "pd"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "one"}},
    ]
    pod = make_pod().spec(volumes=volumes).build()
    plugin = make_plugin("VolumeRestrictions")
    assert ask_hint(plugin, ASSIGNED_POD_DELETE, pod, deleted.build(), None) is want


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(make_pod().claim_volume("one").build(), QueueingHint.QUEUE, id="a claim of the pod"),
        pytest.param(make_pod().claim_volume("many").build(), QueueingHint.SKIP, id="somebody else's claim"),
    ],
)
def test_claim_hint_asks_whether_the_pod_names_it(pod: Pod, want: QueueingHint) -> None:
    assert ask_hint(make_plugin("VolumeRestrictions"), CLAIM_ADD, pod, None, ONE_POD) is want


def test_any_new_node_queues_the_pod() -> None:
    plugin = make_plugin("VolumeRestrictions")
    assert ask_hint(plugin, NODE_ADD, make_pod().build(), None, make_node().build()) is QueueingHint.QUEUE
