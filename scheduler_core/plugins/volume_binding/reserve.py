"""What was decided about a pod's volumes, from Reserve until they are bound: names only, so that it can be stored.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/volumebinding (AssumePodVolumes, BindPodVolumes).
"""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler_core import typed
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.api.volumes import SELECTED_NODE, belongs_to_claim, bound_to_claim, with_annotation
from scheduler_core.framework.storage_lister import ObjectMissingError
from scheduler_core.plugins.volume_binding.assume_cache import AssumeCache
from scheduler_core.plugins.volume_binding.binder import NodeVolumes
from scheduler_core.plugins.volume_binding.claims import BindingError

Static = tuple[str, str]  # claim, volume
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class Reservation(msgspec.Struct):
    """One pod's volumes on its node.

    `written_on`: (kind, name, resource version) of the objects PreBind's writes replace; `deadline` in engine time.
    """

    namespace: str
    node_name: str
    static: list[Static]
    provision: list[str]  # claims
    written_on: list[tuple[str, str, str]] = []
    deadline: int | None = None

    @staticmethod
    def of(namespace: str, node_name: str, found: NodeVolumes) -> Reservation:
        static = [(claim.name, volume.name) for claim, volume in found.static]
        return Reservation(namespace, node_name, static, [claim.name for claim in found.provision])

    def assume(self, cache: AssumeCache) -> None:
        """Let later pods see the volumes taken and the claims placed."""
        for claim_name, volume_name in self.static:
            volume = cache.volume(volume_name)
            bound = bound_to_claim(volume, cache.claim(self.namespace, claim_name))
            if bound != volume:
                cache.assume_volume(bound)
        for claim_name in self.provision:
            placed = with_annotation(cache.claim(self.namespace, claim_name), SELECTED_NODE, self.node_name)
            cache.assume_claim(placed)

    def standing(self, cache: AssumeCache) -> list[tuple[str, str]]:
        """(kind, name) of the assumptions about this pod's volumes and claims that still stand."""
        volumes = [(PersistentVolume.kind, name) for _, name in self.static if cache.assumes_volume(name)]
        claims = [
            (PersistentVolumeClaim.kind, name) for name in self.provision if cache.assumes_claim(self.namespace, name)
        ]
        return [*volumes, *claims]

    def assume_again(self, cache: AssumeCache, assumed: list[tuple[str, str]]) -> None:
        """Bring back those assumptions that still stood when this was written down."""
        for claim_name, volume_name in self.static:
            if (PersistentVolume.kind, volume_name) in assumed:
                claim = cache.storage.claim(self.namespace, claim_name)
                cache.assume_volume(bound_to_claim(cache.storage.volume(volume_name), claim))
        for claim_name in self.provision:
            if (PersistentVolumeClaim.kind, claim_name) in assumed:
                claim = cache.storage.claim(self.namespace, claim_name)
                cache.assume_claim(with_annotation(claim, SELECTED_NODE, self.node_name))

    def release(self, cache: AssumeCache) -> None:
        """What is stored counts again, for all volumes of the pod as upstream."""
        for _, volume_name in self.static:
            cache.restore(PersistentVolume.kind, volume_name)
        for claim_name in self.provision:
            cache.restore(PersistentVolumeClaim.kind, f"{self.namespace}/{claim_name}")

    def writes(self, cache: AssumeCache) -> list[KubeObject]:
        """What has to be written, volumes first; remembers on what. BindingError when a volume was given away."""
        writes: list[KubeObject] = []
        storage = cache.storage
        try:
            for claim_name, volume_name in self.static:
                volume, claim = storage.volume(volume_name), storage.claim(self.namespace, claim_name)
                if volume.spec.claim_ref is not None and not belongs_to_claim(volume, claim):
                    text = f'Operation cannot be fulfilled on persistentvolumes "{volume_name}": {MODIFIED}'
                    raise BindingError(text)
                bound = bound_to_claim(volume, claim)
                if bound != volume:
                    writes.append(bound)
            for claim_name in self.provision:
                claim = storage.claim(self.namespace, claim_name)
                if claim.annotations.get(SELECTED_NODE) != self.node_name:
                    writes.append(with_annotation(claim, SELECTED_NODE, self.node_name))
        except ObjectMissingError as error:
            raise BindingError(str(error)) from error
        self.written_on = [(obj.kind, obj.name, obj.metadata.resource_version) for obj in writes]
        return writes

    def is_on_its_way(self, stored: KubeObject) -> bool:
        """Whether the object is still the one that a write is to replace."""
        return (stored.kind, stored.name, stored.metadata.resource_version) in self.written_on

    def dump(self) -> Any:
        return msgspec.to_builtins(self)

    @staticmethod
    def load(dumped: Any) -> Reservation:
        return typed.convert(dumped, Reservation)
