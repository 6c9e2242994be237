"""Volumes with topology labels keep their pods in those zones and regions."""

from __future__ import annotations

from scheduler_core.api.meta import KubeObject
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SKIP, SUCCESS, Status
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter
from tests.core.volumes import make_claim, make_class, make_volume

QUEUE, HINT_SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
USER = make_pod().claim_volume("c")
ELSEWHERE = Status.unresolvable("node(s) had no available volume zone")
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def node(labels: dict[str, str]) -> NodeBuilder:
    return make_node().label(labels)


@cases(
    "labels, on_node, want",
    ("the same zone", {ZONE: "a"}, {ZONE: "a"}, SUCCESS),
    ("another zone", {ZONE: "a"}, {ZONE: "b"}, ELSEWHERE),
    ("one of several zones in one label", {ZONE: "a__ b"}, {ZONE: "b"}, SUCCESS),
    ("a node without any topology label passes", {ZONE: "a"}, {}, SUCCESS),
    ("a node with a region but no zone does not", {ZONE: "a"}, {REGION: "r"}, ELSEWHERE),
    ("every label counts", {ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, ELSEWHERE),
    ("a beta label is met by the one that replaced it", {OLD_ZONE: "a"}, {ZONE: "a"}, SUCCESS),
    ("unless the node has the beta label", {OLD_ZONE: "a"}, {ZONE: "a", OLD_ZONE: "b"}, ELSEWHERE),
    ("a new label is never met by a beta label", {ZONE: "a"}, {OLD_ZONE: "a"}, ELSEWHERE),
)
def test_filter_wants_every_topology_label_of_the_volume(
    labels: dict[str, str], on_node: dict[str, str], want: Status
) -> None:
    objects = [make_claim("c", volume="v"), make_volume("v", labels=labels)]
    infos = [make_info(node(on_node)), make_info(make_node("bare"))]
    assert run_filter(make_plugin("VolumeZone", objects=objects), USER.build(), *infos) == [want, SUCCESS]


def test_filter_looks_again_when_pre_filter_did_not_run() -> None:
    objects = [make_claim("c", volume="v"), make_volume("v", labels={ZONE: "a"})]
    plugin = make_plugin("VolumeZone", objects=objects)
    assert plugin.filter(CycleState(), USER.build(), make_info(node({ZONE: "b"}))) == ELSEWHERE


@cases(
    "pod, objects, want",
    ("a pod without volumes", make_pod(), [], SKIP),
    ("no labels", USER, [make_claim("c", volume="v"), make_volume("v")], SKIP),
    ("a label with an empty zone is ignored", make_pod().claim_volume("c"),
     [make_claim("c", volume="v"), make_volume("v", labels={ZONE: "a____b"})], SKIP),
    ("a claim that waits", USER, [make_claim("c"), make_class()], SKIP),
    ("an unbound claim that binds at once", USER, [make_claim("c"), make_class(late=False)],
     "PersistentVolume had no name"),
    ("an unbound claim without class", USER, [make_claim("c", class_name=None)],
     "PersistentVolumeClaim had no pv name and storageClass name"),
    ("a class without a mode", USER, [make_claim("c"), make_class(volumeBindingMode=None)],
     'VolumeBindingMode not set for StorageClass "late"'),
    ("a class that is not there", USER, [make_claim("c")], 'storageclass.storage.k8s.io "late" not found'),
    ("a volume that is not there", USER, [make_claim("c", volume="gone")], 'persistentvolume "gone" not found'),
    ("a missing claim", USER, [], 'persistentvolumeclaim "c" not found'),
    ("a claim without a name", make_pod().claim_volume("", name="x"), [], "PersistentVolumeClaim had no name"),
)  # fmt: skip
def test_pre_filter_looks_up_the_volumes(pod: PodBuilder, objects: list[KubeObject], want: Status | str) -> None:
    status = Status.unresolvable(want) if isinstance(want, str) else want
    assert make_plugin("VolumeZone", objects=objects).pre_filter(CycleState(), pod.build(), []) == (None, status)


@cases(
    "resource, old, new, want",
    ("a class that waits", EventResource.STORAGE_CLASS, None, make_class(), QUEUE),
    ("one that binds", EventResource.STORAGE_CLASS, None, make_class(late=False), HINT_SKIP),
    ("a class that changed", EventResource.STORAGE_CLASS, make_class(), make_class(), None),
    ("a new volume", EventResource.PERSISTENT_VOLUME, None, make_volume(), QUEUE),
    ("a volume that moved", EventResource.PERSISTENT_VOLUME, make_volume(labels={ZONE: "a"}),
     make_volume(labels={ZONE: "b"}), QUEUE),
    ("a volume that stayed", EventResource.PERSISTENT_VOLUME, make_volume(labels={ZONE: "a"}),
     make_volume(labels={ZONE: "a", "x": "y"}), HINT_SKIP),
    ("the pod's claim", EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("c"), QUEUE),
    ("another claim", EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("d"), HINT_SKIP),
)  # fmt: skip
def test_hints(resource: EventResource, old: KubeObject | None, new: KubeObject, want: QueueingHint | None) -> None:
    event = ClusterEvent(resource, ActionType.ADD if old is None else ActionType.UPDATE)
    assert ask_hint(make_plugin("VolumeZone"), event, USER, old, new) is want
