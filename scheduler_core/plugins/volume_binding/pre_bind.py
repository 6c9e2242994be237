"""Whether the volumes a pod waits for are bound by now, or never will be on its node.

As long as an object is the one our write replaces, the write is on its way; any other object without it has refused it.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/volumebinding (checkBindings).
"""

from __future__ import annotations

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.volumes import SELECTED_NODE, is_fully_bound
from scheduler_core.framework.storage_lister import ObjectMissingError
from scheduler_core.plugins.volume_binding.binder import Binder
from scheduler_core.plugins.volume_binding.claims import BindingError
from scheduler_core.plugins.volume_binding.reserve import Reservation

NO_MATCHING_TERMS = "no matching NodeSelectorTerms"


def are_bound(binder: Binder, reservation: Reservation, node: Node) -> bool:
    """Raises BindingError."""
    return _are_static_bound(binder, reservation, node) and _are_provisioned(binder, reservation, node)


def pod_gone(pod: Pod) -> BindingError:
    return BindingError(f'pod does not exist any more: pod "{pod.name}" not found')


def node_gone(node_name: str) -> BindingError:
    return BindingError(f'failed to get node "{node_name}": node "{node_name}" not found')


def _are_static_bound(binder: Binder, reservation: Reservation, node: Node) -> bool:
    for claim_name, volume_name in reservation.static:
        try:
            volume = binder.storage.volume(volume_name)
            claim = binder.storage.claim(reservation.namespace, claim_name)
        except ObjectMissingError as error:
            raise BindingError(f"failed to check binding: {error}") from error
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            if reservation.is_on_its_way(volume):
                return False
            raise BindingError(f'ClaimRef got reset for pv "{volume_name}"')
        _check_reach(binder, volume_name, node)
        if not is_fully_bound(claim):
            return False
    return True


def _are_provisioned(binder: Binder, reservation: Reservation, node: Node) -> bool:
    for claim_name in reservation.provision:
        try:
            claim = binder.storage.claim(reservation.namespace, claim_name)
        except ObjectMissingError as error:
            raise BindingError(f"failed to check provisioning pvc: {error}") from error
        if claim.annotations.get(SELECTED_NODE) != node.name:
            if reservation.is_on_its_way(claim):
                return False
            if not claim.annotations:
                raise BindingError(f'selectedNode annotation reset for PVC "{claim_name}"')
            raise BindingError(f'provisioning failed for PVC "{claim_name}"')
        if claim.spec.volume_name:
            try:
                _check_reach(binder, claim.spec.volume_name, node)
            except ObjectMissingError:
                return False  # the volume is seen later than the claim
        if not is_fully_bound(claim):
            return False
    return True


def _check_reach(binder: Binder, volume_name: str, node: Node) -> None:
    if not binder.reach.reaches_bound(binder.storage.volume(volume_name), node):
        raise BindingError(f'pv "{volume_name}" node affinity doesn\'t match node "{node.name}": {NO_MATCHING_TERMS}')
