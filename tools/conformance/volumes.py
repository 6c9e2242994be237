"""Completes VolumeBinding's writes after a cycle, as the recording's harness did, and names them.

A volume taken is bound to its claim; for a claim placed on a node a volume is made there and then, and bound to it:
what the volume controller does, told of nothing but these claims and volumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.api.manifests import decode
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.volumes import VolumeController
from scheduler_core.model.changes import ObjectPut
from scheduler_core.sim.world import World


def decided(writes: Sequence[KubeObject]) -> dict[str, Any]:
    """Return the recorded words for what the cycle decided: (claim, volume) pairs, taken and to be made."""
    taken = [write for write in writes if isinstance(write, PersistentVolume)]
    static = [[f"{claim.namespace}/{claim.name}", write.name] for write in taken for claim in [_claim_of(write)]]
    provision = [[write.key, f"pvc-{write.uid}"] for write in writes if isinstance(write, PersistentVolumeClaim)]
    told = {"static": static, "provision": provision}
    return {name: pairs for name, pairs in told.items() if pairs}


def complete(writes: Sequence[KubeObject], world: World) -> None:
    """Bind the claims of the writes."""
    keys = [_claim_of(write) for write in writes]
    keys += [ObjectKey(write.kind, "", write.name) for write in writes if isinstance(write, PersistentVolume)]
    concerned = [stored for key in keys if (stored := world.store.get(key)) is not None]
    around = [*world.store.list(StorageClass.kind), *world.store.list(Node.kind)]
    controller = VolumeController(ClusterOptions())
    world.request(*controller.step(world.now, [ObjectPut(decode(each)) for each in (*around, *concerned)]))
    while (due := controller.next_due()) is not None:
        world.request(*controller.step(due, []))


def _claim_of(write: KubeObject) -> ObjectKey:
    if isinstance(write, PersistentVolume):
        assert write.spec.claim_ref is not None
        return ObjectKey(PersistentVolumeClaim.kind, write.spec.claim_ref.namespace, write.spec.claim_ref.name)
    return ObjectKey(write.kind, write.namespace, write.name)
