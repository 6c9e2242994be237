"""What volume plugins keep from cycle to cycle never shows: both forms agree while the cluster changes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.volumes import NO_PROVISIONER
from scheduler_core.config import names
from scheduler_core.framework.answers import ALL_ROWS
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.registry import IN_TREE
from scheduler_core.table.node_table import NodeTable
from tests.builders import make, make_node, make_pod
from tests.core.volumes import DRIVER, make_claim, make_class, make_csi_node, make_volume

NODES = ("n0", "n1", "n2", "n3", "n4")
CLAIMS = ("a", "b", "c", "d")
PODS = [
    make_pod("one").claim_volume("a").build(),
    make_pod("two").claim_volume("b").claim_volume("c").build(),
    make_pod("late").claim_volume("late-1").claim_volume("late-2").build(),
    make_pod("own").claim_volume("mine").build(),
    make_pod("none").build(),
]


class ChangingLister:
    """A store in which objects come, change and go."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], KubeObject] = {}
        self._versions: dict[str, int] = {}

    def put(self, obj: KubeObject) -> None:
        self.objects[obj.kind, obj.key] = obj
        self._versions[obj.kind] = self.version(obj.kind) + 1

    def remove(self, kind: str, key: str) -> None:
        if self.objects.pop((kind, key), None) is not None:
            self._versions[kind] = self.version(kind) + 1

    def get(self, kind: str, key: str) -> KubeObject | None:
        return self.objects.get((kind, key))

    def list(self, kind: str) -> Sequence[KubeObject]:
        return [obj for obj in self.objects.values() if obj.kind == kind]

    def version(self, kind: str) -> int:
        return self._versions.get(kind, 0)


def a_volume(random: Random, name: str) -> KubeObject:
    where = random.choice([None, ("kubernetes.io/hostname", NODES), ("zone", ("x", "y"))])
    fields: dict[str, Any] = {"csi": {"driver": DRIVER, "volumeHandle": name}}
    if where is not None:
        key, values = where
        one = {"key": key, "operator": "In", "values": [random.choice(values)]}
        fields["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [one]}]}}
    if random.random() < 0.2:
        fields["claimRef"] = {"namespace": "default", "name": random.choice(["mine", "other"])}
    fields["capacity"] = {"storage": random.choice(["1Gi", "2Gi", "5Gi"])}
    found: KubeObject = make(
        "PersistentVolume",
        name,
        spec={"storageClassName": "late", "accessModes": ["ReadWriteOnce"], **fields},
        status={"phase": random.choice(["Available", "Available", "Bound"])},
    )
    return found


def change(random: Random, lister: ChangingLister, table: NodeTable, infos: dict[str, NodeInfo]) -> None:
    name = random.choice(NODES)
    match random.randrange(7):
        case 0 if name in infos:
            table.remove(name)
            del infos[name]
        case 0 | 1:
            info = infos.setdefault(name, NodeInfo(next_generation=lambda: 0))
            info.set_node(make_node(name).label({"zone": random.choice("xy")}).build())
            table.upsert(info)
        case 2 | 3 if name in infos:
            info, pod = infos[name], make_pod(f"user-{random.randrange(3)}").claim_volume(random.choice(CLAIMS)).build()
            if not info.remove_pod(pod):
                info.add_pod(PodInfo.of(pod))
            table.upsert(info)
        case 4:
            if random.random() < 0.3:
                lister.remove("CSINode", name)
            else:
                lister.put(make_csi_node(name, example=random.randrange(3)))
        case 5:
            key = f"attached-{name}"
            spec = {
                "attacher": DRIVER,
                "nodeName": name,
                "source": {"persistentVolumeName": "v" + random.choice(CLAIMS)},
            }
            if random.random() < 0.5:
                lister.remove("VolumeAttachment", key)
            else:
                lister.put(make("VolumeAttachment", key, spec=spec))
        case _:
            free = f"free-{random.randrange(6)}"
            if random.random() < 0.3:
                lister.remove("PersistentVolume", free)
            else:
                lister.put(a_volume(random, free))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", [names.NODE_VOLUME_LIMITS, names.VOLUME_BINDING])
def test_both_forms_agree_after_each_change(name: str, seed: int) -> None:
    random, lister, table = Random(seed), ChangingLister(), NodeTable()
    infos: dict[str, NodeInfo] = {}
    # Nobody makes volumes where only matching is to be seen.
    lister.put(make_class(provisioner=NO_PROVISIONER if name == names.VOLUME_BINDING else DRIVER))
    for claim in CLAIMS:
        lister.put(make_claim(claim, volume=f"v{claim}"))
        csi = {"driver": DRIVER, "volumeHandle": claim}
        lister.put(make_volume(f"v{claim}", claim=make_claim(claim), phase="Bound", csi=csi))
    for claim in ("late-1", "late-2", "mine"):
        lister.put(make_claim(claim, size=random.choice(["1Gi", "2Gi"])))
    plugin: Any = IN_TREE[name](None, SimpleNamespace(lister=lister, snapshot=None))
    refused = 0
    for _ in range(80):
        change(random, lister, table, infos)
        for pod in PODS:
            state = CycleState()
            _, status = plugin.pre_filter(state, pod, list(infos.values()))
            if not status.is_success:
                continue
            verdicts = plugin.filter_nodes(state, pod, table, ALL_ROWS)
            for node, info in infos.items():
                code = 0 if verdicts is None else int(verdicts.codes[table.row_of[node]])
                want = plugin.filter(state, pod, info)
                assert (verdicts.statuses[code - 1] if code else SUCCESS) == want, (pod.name, node)
                refused += not want.is_success
    assert refused > 20
