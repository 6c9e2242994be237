"""A node takes as many volumes of a driver as its CSINode says."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ASSIGNED_POD_DELETE, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SKIP, SUCCESS, Code, Status
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter
from tests.core.volumes import DRIVER, make_claim, make_class, make_csi_node, make_volume

QUEUE, HINT_SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
TOO_MANY = Status.unschedulable("node(s) exceed max volume count")
EBS = "ebs.csi.aws.com"


def csi_volume(name: str, handle: str = "") -> KubeObject:
    return make_volume(name, csi={"driver": DRIVER, "volumeHandle": handle or name})


def ebs(name: str, volume_id: str) -> PodBuilder:
    return make_pod(name).spec(volumes=[{"name": "d", "awsElasticBlockStore": {"volumeID": volume_id}}])


def attachment(attacher: str, volume: str, node: str = "node") -> KubeObject:
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}}
    found: KubeObject = make("VolumeAttachment", f"attached-{volume}", spec=spec)
    return found


TWO = [make_claim("a", volume="va"), csi_volume("va"), make_claim("b", volume="vb"), csi_volume("vb")]
USER, SECOND = make_pod("user").claim_volume("a"), make_pod().claim_volume("b")


@cases(
    "pod, objects, want",
    ("there is room", SECOND, [*TWO, make_csi_node(example=2)], SUCCESS),
    ("one too many", SECOND, [*TWO, make_csi_node(example=1)], TOO_MANY),
    ("in use there already", make_pod().claim_volume("a"), [*TWO, make_csi_node(example=1)], SUCCESS),
    ("no CSINode, no limit", SECOND, TWO, SUCCESS),
    ("the limit of another driver", SECOND, [*TWO, make_csi_node(other=0)], SUCCESS),
    ("a volume still to be made counts for its provisioner", make_pod().claim_volume("b").claim_volume("new"),
     [*TWO, make_claim("new"), make_class(), make_csi_node(example=2)], TOO_MANY),
    ("not when its class is missing", make_pod().claim_volume("new"),
     [*TWO, make_claim("new"), make_csi_node(example=0)], SUCCESS),
    ("an attached volume that no pod uses counts", SECOND,
     [*TWO, csi_volume("vc"), attachment(DRIVER, "vc"), make_csi_node(example=2)], TOO_MANY),
    ("an attached volume that a pod uses counts once", SECOND,
     [*TWO, attachment(DRIVER, "va"), make_csi_node(example=2)], SUCCESS),
    ("a claim that is not there", make_pod().claim_volume("missing"), [*TWO, make_csi_node(example=9)],
     Status.unresolvable('looking up PVC default/missing: persistentvolumeclaim "missing" not found')),
    ("somebody else's claim for an ephemeral volume", make_pod().spec(volumes=[{"name": "e", "ephemeral": {}}]),
     [make_claim("pod-e")], Status.failed("PVC default/pod-e was not created for pod default/pod (pod is not owner)")),
    ("a claim without a name", make_pod().claim_volume("", name="x"), [],
     Status.failed("PersistentVolumeClaim had no name")),
)  # fmt: skip
def test_filter_counts_volumes_by_driver(pod: PodBuilder, objects: list[KubeObject], want: Status) -> None:
    infos = [make_info(make_node(), USER), make_info(make_node("bare"))]
    plugin = make_plugin("NodeVolumeLimits", objects=objects)
    bare = SUCCESS if want == TOO_MANY else want
    assert run_filter(plugin, pod.build(), *infos) == [want, bare]


@cases(
    "volume_id, want",
    ("the volume that is there, by another name", "vol-1", SUCCESS),
    ("another volume", "vol-2", TOO_MANY),
)
def test_in_tree_volumes_count_for_the_driver_they_migrated_to(volume_id: str, want: Status) -> None:
    infos = [make_info(make_node(), ebs("user", "aws://zone/vol-1"))]
    plugin = make_plugin("NodeVolumeLimits", objects=[make_csi_node(**{EBS: 1})])
    assert run_filter(plugin, ebs("p", volume_id).build(), *infos) == [want]


def test_in_tree_volume_that_cannot_be_told_is_an_error_where_it_migrated() -> None:
    infos = [make_info(make_node()), make_info(make_node("bare"))]
    plugin = make_plugin("NodeVolumeLimits", objects=[make_csi_node(**{EBS: 1})])
    failed, passed = run_filter(plugin, ebs("p", "aws://zone/disk").build(), *infos)
    assert (failed.code, passed) == (Code.Error, SUCCESS)


@cases(
    "volumes, want",
    ("none", [], SKIP),
    ("nothing counted", [{"name": "a", "emptyDir": {}}, {"name": "b", "csi": {"driver": DRIVER}}], SKIP),
    ("a claim", [{"name": "a", "persistentVolumeClaim": {"claimName": "c"}}], SUCCESS),
    ("an ephemeral volume", [{"name": "a", "ephemeral": {}}], SUCCESS),
    ("an in-tree volume", [{"name": "a", "vsphereVolume": {"volumePath": "p"}}], SUCCESS),
)
def test_pre_filter_skips_pods_without_volumes_that_count(volumes: list[dict[str, Any]], want: Status) -> None:
    pod = make_pod().spec(volumes=volumes).build()
    assert make_plugin("NodeVolumeLimits").pre_filter(CycleState(), pod, []) == (None, want)


@cases(
    "old, new, want",
    ("a limit grew", make_csi_node(example=1), make_csi_node(example=2), QUEUE),
    ("a limit shrank", make_csi_node(example=2), make_csi_node(example=1), HINT_SKIP),
    ("a driver came", make_csi_node(), make_csi_node(example=1), QUEUE),
    ("a new CSINode", None, make_csi_node(), QUEUE),
)
def test_csi_node_hint_asks_for_a_larger_limit(old: KubeObject | None, new: KubeObject, want: QueueingHint) -> None:
    event = ClusterEvent(EventResource.CSI_NODE, ActionType.ADD if old is None else ActionType.UPDATE)
    assert ask_hint(make_plugin("NodeVolumeLimits"), event, make_pod(), old, new) is want


@cases(
    "deleted, want",
    ("a bound pod with a claim", make_pod("x").claim_volume("c").on("n"), QUEUE),
    ("a pod without a place", make_pod("x").claim_volume("c"), HINT_SKIP),
    ("a pod without volumes", make_pod("x").on("n"), HINT_SKIP),
    ("a nominated pod with an in-tree volume", ebs("x", "v").nominated("n"), QUEUE),
)
def test_pod_hint_asks_whether_a_volume_was_freed(deleted: PodBuilder, want: QueueingHint) -> None:
    assert ask_hint(make_plugin("NodeVolumeLimits"), ASSIGNED_POD_DELETE, make_pod(), deleted, None) is want


@cases(
    "pod, want",
    ("any claim", make_pod().claim_volume("c"), QUEUE),
    ("an in-tree volume of that driver", ebs("p", "v"), QUEUE),
    ("an in-tree volume of another driver", make_pod().spec(volumes=[{"name": "d", "cinder": {"volumeID": "v"}}]),
     HINT_SKIP),
    ("ephemeral", make_pod().spec(volumes=[{"name": "e", "ephemeral": {}}]), HINT_SKIP),
)  # fmt: skip
def test_attachment_hint_asks_whether_its_driver_matters(pod: PodBuilder, want: QueueingHint) -> None:
    event = ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE)
    assert ask_hint(make_plugin("NodeVolumeLimits"), event, pod, attachment(EBS, "v"), None) is want
