"""Events after which a pod without its volumes is tried again."""

from __future__ import annotations

from scheduler_core.api.meta import KubeObject
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from tests.builders import make, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_plugin
from tests.core.volumes import make_capacity, make_claim, make_class, make_csi_node, make_volume

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
COUNTING, SILENT = (make("CSIDriver", "inline", spec={"storageCapacity": counts}) for counts in (True, False))
ZONES = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
OTHER_DRIVER = make("CSIDriver", "other", spec={"storageCapacity": True})
OTHER_DRIVER_SILENT = make("CSIDriver", "other", spec={})


@cases(
    "resource, old, new, want",
    ("a new class", EventResource.STORAGE_CLASS, None, make_class(), QUEUE),
    ("a class that stays", EventResource.STORAGE_CLASS, make_class(), make_class(), SKIP),
    ("a class with other topologies", EventResource.STORAGE_CLASS, make_class(), make_class(allowedTopologies=ZONES),
     QUEUE),
    ("the pod's claim", EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("c"), QUEUE),
    ("its ephemeral claim", EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("pod-e"), QUEUE),
    ("somebody else's claim", EventResource.PERSISTENT_VOLUME_CLAIM, make_claim("x"), make_claim("x"), SKIP),
    ("any change of a volume", EventResource.PERSISTENT_VOLUME, make_volume(), make_volume(), QUEUE),
    ("a new CSINode", EventResource.CSI_NODE, None, make_csi_node(), QUEUE),
    ("a CSINode with another limit", EventResource.CSI_NODE, make_csi_node(), make_csi_node(example=3), SKIP),
    ("a CSINode that migrated", EventResource.CSI_NODE, make_csi_node(), make_csi_node(migrated="x"), QUEUE),
    ("the pod's driver stops counting", EventResource.CSI_DRIVER, COUNTING, SILENT, QUEUE),
    ("the pod's driver begins to count", EventResource.CSI_DRIVER, SILENT, COUNTING, SKIP),
    ("another driver stops counting", EventResource.CSI_DRIVER, OTHER_DRIVER, OTHER_DRIVER_SILENT, SKIP),
    ("a new report of room", EventResource.CSI_STORAGE_CAPACITY, None, make_capacity(), QUEUE),
    ("more room", EventResource.CSI_STORAGE_CAPACITY, make_capacity(), make_capacity(capacity="6Gi"), QUEUE),
    ("less room", EventResource.CSI_STORAGE_CAPACITY, make_capacity(), make_capacity(capacity="4Gi"), SKIP),
    ("a first number", EventResource.CSI_STORAGE_CAPACITY, make_capacity(capacity=None), make_capacity(capacity="1"),
     QUEUE),
)  # fmt: skip
def test_hints(resource: EventResource, old: KubeObject | None, new: KubeObject, want: QueueingHint) -> None:
    volumes = [
        {"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "e", "ephemeral": {}},
        {"name": "i", "csi": {"driver": "inline"}},
    ]
    event = ClusterEvent(resource, ActionType.ADD if old is None else ActionType.UPDATE)
    assert ask_hint(make_plugin("VolumeBinding"), event, make_pod().spec(volumes=volumes), old, new) is want
