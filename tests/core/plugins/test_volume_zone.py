"""Volumes with topology labels keep their pods in those zones and regions."""

from __future__ import annotations

import pytest

from scheduler_core.api.meta import KubeObject
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SKIP, SUCCESS, Status
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter
from tests.core.volumes import make_claim, make_class, make_volume

ELSEWHERE = Status.unresolvable("node(s) had no available volume zone")
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def node(labels: dict[str, str]) -> NodeBuilder:
    return make_node().label(labels)


@pytest.mark.parametrize(
    ("labels", "on_node", "want"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, SUCCESS, id="the same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, ELSEWHERE, id="another zone"),
        pytest.param({ZONE: "a__ b"}, {ZONE: "b"}, SUCCESS, id="one of several zones in one label"),
        pytest.param({ZONE: "a"}, {}, SUCCESS, id="a node without any topology label passes"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, ELSEWHERE, id="a node with a region but no zone does not"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, ELSEWHERE, id="every label counts"),
        pytest.param({OLD_ZONE: "a"}, {ZONE: "a"}, SUCCESS, id="a beta label is met by the one that replaced it"),
        pytest.param({OLD_ZONE: "a"}, {ZONE: "a", OLD_ZONE: "b"}, ELSEWHERE, id="unless the node has the beta label"),
        pytest.param({ZONE: "a"}, {OLD_ZONE: "a"}, ELSEWHERE, id="a new label is never met by a beta label"),
    ],
)
def test_filter_wants_every_topology_label_of_the_volume(
    labels: dict[str, str], on_node: dict[str, str], want: Status
) -> None:
    objects = [make_claim("c", volume="v"), make_volume("v", labels=labels)]
    infos = [make_info(node(on_node)), make_info(make_node("bare"))]
    pod = make_pod().claim_volume("c").build()
    assert run_filter(make_plugin("VolumeZone", objects=objects), pod, *infos) == [want, SUCCESS]


def test_filter_looks_again_when_pre_filter_did_not_run() -> None:
    objects = [make_claim("c", volume="v"), make_volume("v", labels={ZONE: "a"})]
    plugin = make_plugin("VolumeZone", objects=objects)
    pod = make_pod().claim_volume("c").build()
    assert plugin.filter(CycleState(), pod, make_info(node({ZONE: "b"}))) == ELSEWHERE


@pytest.mark.parametrize(
    ("pod", "objects", "want"),
    [
        pytest.param(make_pod(), [], SKIP, id="a pod without volumes"),
        pytest.param(
            make_pod().claim_volume("c"), [make_claim("c", volume="v"), make_volume("v")], SKIP, id="no labels"
        ),
        pytest.param(
            make_pod().claim_volume("c"),
            [make_claim("c", volume="v"), make_volume("v", labels={ZONE: "a____b"})],
            SKIP,
            id="a label with an empty zone is ignored",
        ),
        pytest.param(make_pod().claim_volume("c"), [make_claim("c"), make_class()], SKIP, id="a claim that waits"),
        pytest.param(
            make_pod().claim_volume("c"),
            [make_claim("c"), make_class(late=False)],
            "PersistentVolume had no name",
            id="an unbound claim that binds at once",
        ),
        pytest.param(
            make_pod().claim_volume("c"),
            [make_claim("c", class_name=None)],
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="an unbound claim without class",
        ),
        pytest.param(
            make_pod().claim_volume("c"),
            [make_claim("c"), make_class(volumeBindingMode=None)],
            'VolumeBindingMode not set for StorageClass "late"',
            id="a class without a mode",
        ),
        pytest.param(
            make_pod().claim_volume("c"),
            [make_claim("c")],
            'storageclass.storage.k8s.io "late" not found',
            id="a class that is not there",
        ),
        pytest.param(
            make_pod().claim_volume("c"),
            [make_claim("c", volume="gone")],
            'persistentvolume "gone" not found',
            id="a volume that is not there",
        ),
        pytest.param(make_pod().claim_volume("c"), [], 'persistentvolumeclaim "c" not found', id="a missing claim"),
        pytest.param(
            make_pod().claim_volume("", name="x"), [], "PersistentVolumeClaim had no name", id="a claim without a name"
        ),
    ],
)
def test_pre_filter_looks_up_the_volumes(pod: PodBuilder, objects: list[KubeObject], want: Status | str) -> None:
    status = Status.unresolvable(want) if isinstance(want, str) else want
    assert make_plugin("VolumeZone", objects=objects).pre_filter(CycleState(), pod.build(), []) == (None, status)


@pytest.mark.parametrize(
    ("resource", "old", "new", "want"),
    [
        pytest.param(EventResource.STORAGE_CLASS, None, make_class(), QueueingHint.QUEUE, id="a class that waits"),
        pytest.param(EventResource.STORAGE_CLASS, None, make_class(late=False), QueueingHint.SKIP, id="one that binds"),
        pytest.param(EventResource.STORAGE_CLASS, make_class(), make_class(), None, id="a class that changed"),
        pytest.param(EventResource.PERSISTENT_VOLUME, None, make_volume(), QueueingHint.QUEUE, id="a new volume"),
        pytest.param(
            EventResource.PERSISTENT_VOLUME,
            make_volume(labels={ZONE: "a"}),
            make_volume(labels={ZONE: "b"}),
            QueueingHint.QUEUE,
            id="a volume that moved",
        ),
        pytest.param(
            EventResource.PERSISTENT_VOLUME,
            make_volume(labels={ZONE: "a"}),
            make_volume(labels={ZONE: "a", "x": "y"}),
            QueueingHint.SKIP,
            id="a volume that stayed",
        ),
        pytest.param(
            EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("c"), QueueingHint.QUEUE, id="the pod's claim"
        ),
        pytest.param(
            EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("d"), QueueingHint.SKIP, id="another claim"
        ),
    ],
)
def test_hints(resource: EventResource, old: KubeObject | None, new: KubeObject, want: QueueingHint | None) -> None:
    event = ClusterEvent(resource, ActionType.ADD if old is None else ActionType.UPDATE)
    assert ask_hint(make_plugin("VolumeZone"), event, make_pod().claim_volume("c").build(), old, new) is want
