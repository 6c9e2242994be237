"""Events after which a pod without its volumes is tried again."""

from __future__ import annotations

import pytest

from scheduler_core.api.meta import KubeObject
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from tests.builders import make, make_node, make_pod
from tests.core.plugins.support import ask_hint, make_plugin
from tests.core.volumes import make_capacity, make_claim, make_class, make_csi_node, make_volume

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
COUNTING, SILENT = (make("CSIDriver", "inline", spec={"storageCapacity": counts}) for counts in (True, False))
ZONES = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
OTHER_DRIVER = make("CSIDriver", "other", spec={"storageCapacity": True})
OTHER_DRIVER_SILENT = make("CSIDriver", "other", spec={})


@pytest.mark.parametrize(
    ("resource", "old", "new", "want"),
    [
        pytest.param(EventResource.STORAGE_CLASS, None, make_class(), QUEUE, id="a new class"),
        pytest.param(EventResource.STORAGE_CLASS, make_class(), make_class(), SKIP, id="a class that stays"),
        pytest.param(
            EventResource.STORAGE_CLASS,
            make_class(),
            make_class(allowedTopologies=ZONES),
            QUEUE,
            id="a class with other topologies",
        ),
        pytest.param(EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("c"), QUEUE, id="the pod's claim"),
        pytest.param(EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("pod-e"), QUEUE, id="its ephemeral claim"),
        pytest.param(
            EventResource.PERSISTENT_VOLUME_CLAIM, make_claim("x"), make_claim("x"), SKIP, id="somebody else's claim"
        ),
        pytest.param(EventResource.PERSISTENT_VOLUME, make_volume(), make_volume(), QUEUE, id="any change of a volume"),
        pytest.param(EventResource.CSI_NODE, None, make_csi_node(), QUEUE, id="a new CSINode"),
        pytest.param(
            EventResource.CSI_NODE, make_csi_node(), make_csi_node(example=3), SKIP, id="a CSINode with another limit"
        ),
        pytest.param(
            EventResource.CSI_NODE, make_csi_node(), make_csi_node(migrated="x"), QUEUE, id="a CSINode that migrated"
        ),
        pytest.param(EventResource.CSI_DRIVER, COUNTING, SILENT, QUEUE, id="the pod's driver stops counting"),
        pytest.param(EventResource.CSI_DRIVER, SILENT, COUNTING, SKIP, id="the pod's driver begins to count"),
        pytest.param(
            EventResource.CSI_DRIVER, OTHER_DRIVER, OTHER_DRIVER_SILENT, SKIP, id="another driver stops counting"
        ),
        pytest.param(EventResource.CSI_STORAGE_CAPACITY, None, make_capacity(), QUEUE, id="a new report of room"),
        pytest.param(
            EventResource.CSI_STORAGE_CAPACITY, make_capacity(), make_capacity(capacity="6Gi"), QUEUE, id="more room"
        ),
        pytest.param(
            EventResource.CSI_STORAGE_CAPACITY, make_capacity(), make_capacity(capacity="4Gi"), SKIP, id="less room"
        ),
        pytest.param(
            EventResource.CSI_STORAGE_CAPACITY,
            make_capacity(capacity=None),
            make_capacity(capacity="1"),
            QUEUE,
            id="a first number",
        ),
    ],
)
def test_hints(resource: EventResource, old: KubeObject | None, new: KubeObject, want: QueueingHint) -> None:
    volumes = [
        {"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "e", "ephemeral": {}},
        {"name": "i", "csi": {"driver": "inline"}},
    ]
    event = ClusterEvent(resource, ActionType.ADD if old is None else ActionType.UPDATE)
    assert ask_hint(make_plugin("VolumeBinding"), event, make_pod().spec(volumes=volumes).build(), old, new) is want


def test_any_new_node_queues_the_pod() -> None:
    assert ask_hint(make_plugin("VolumeBinding"), NODE_ADD, make_pod().build(), None, make_node().build()) is QUEUE
