"""Disks and claims that only one pod may use at a time.

filter    a cloud disk, iSCSI target or RBD image of the pod is in use on the node, both not only for reading;
          or a ReadWriteOncePod claim of the pod is in use by any pod of the cluster (then on every node)

The claims' uses are counted in PreFilter, one for each claim in use, but by AddPod and RemovePod for each reference:
only without its user does a claim's count come to nothing. Those two compare names of claims, not namespaces.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/volumerestrictions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod, Volume
from scheduler_core.api.volumes import READ_WRITE_ONCE_POD, as_claim, uses_claim
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint, PreFilterResult, QueueingHint, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.framework.storage_lister import ObjectMissingError, StorageLister
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.helpers import as_pod, infos_of, name_at, queue_if
from scheduler_core.table.node_table import NodeTable

REASON_DISK = "node(s) had no available disk"
REASON_CLAIM = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
NO_PRE_FILTER = f'reading "PreFilter{names.VOLUME_RESTRICTIONS}" from cycleState: not found'

_DISK_IN_USE = Status.unschedulable(REASON_DISK)
_CLAIM_IN_USE = Status.unschedulable(REASON_CLAIM)
_STATUSES = (_DISK_IN_USE, _CLAIM_IN_USE)


@dataclass(slots=True)
class PreFilterState:
    """Names of the pod's ReadWriteOncePod claims, and how often they are in use."""

    claims: frozenset[str]
    conflicts: int

    def clone(self) -> PreFilterState:
        return PreFilterState(self.claims, self.conflicts)

    def count(self, pod: Pod, times: int) -> None:
        """The pod's references to these claims, added or taken off."""
        self.conflicts += times * sum(name in self.claims for name in _claim_names(pod))


class VolumeRestrictions:
    name = names.VOLUME_RESTRICTIONS

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments."""
        self._handle = handle
        self._storage = StorageLister(handle)

    def depends_on(self, pod: Pod) -> DependsOn | None:
        return None if pod.spec.volumes else DependsOn.POD

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        if not pod.spec.volumes:
            return None, SKIP
        try:
            claims = self._claims_of_one_pod(pod)
        except ObjectMissingError as error:
            return None, Status.unresolvable(str(error))
        snapshot = self._handle.snapshot
        conflicts = sum(snapshot.is_pvc_used_by_pods(f"{pod.namespace}/{claim}") for claim in claims)
        if not conflicts and not _disks(pod):
            return None, SKIP
        state.write(PreFilterState(claims, conflicts))
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status:
        return _count(state, pod_to_add.pod, 1)

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status:
        return _count(state, pod_to_remove.pod, -1)

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        if _disk_in_use(_disks(pod), node_info):
            return _DISK_IN_USE
        found = state.find(PreFilterState)
        if found is None:
            return Status.failed(NO_PRE_FILTER)
        return _CLAIM_IN_USE if found.conflicts > 0 else SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        found = state.find(PreFilterState)
        statuses = _STATUSES if found is not None else (_DISK_IN_USE, Status.failed(NO_PRE_FILTER))
        codes = np.zeros(table.n_rows, dtype=np.uint16)
        if found is None or found.conflicts > 0:
            codes[:] = 2
        disks = _disks(pod)
        if disks:
            for row, node_info in enumerate(table.node_infos):
                if node_info is not None and _disk_in_use(disks, node_info):
                    codes[row] = 1
        return RowVerdicts(codes, statuses).at(rows) if codes.any() else None

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        found = state.find(PreFilterState)
        if reason == REASON_DISK:
            for disk in _disks(pod):
                for info in node_info.pods:
                    if any(_conflict(disk, used) for used in info.pod.spec.volumes or ()):
                        yield Amounts(AmountKind.DISK, disk.name, node=node_info.name, pod=info.pod.key)
                        break
        elif reason == REASON_CLAIM and found is not None:
            for claim, user in self._users(pod, found):
                yield Amounts(AmountKind.CLAIM, claim, node=node_info.name, pod=user)

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        if refused.reason == REASON_DISK:
            for node_info in infos_of(table, refused.rows):
                yield from self.amounts_on(state, pod, node_info, REASON_DISK, True)
        elif refused.reason == REASON_CLAIM and (found := state.find(PreFilterState)) is not None:
            for claim, user in self._users(pod, found):
                node = name_at(table, refused.rows, 0)
                yield Amounts(AmountKind.CLAIM, claim, len(refused.rows), node=node, pod=user)

    def _users(self, pod: Pod, found: PreFilterState) -> Iterator[tuple[str, str]]:
        """The claims of the pod that are in use, and by whom."""
        for key in sorted(f"{pod.namespace}/{name}" for name in found.claims):
            users = (
                info.pod.key
                for node_info in self._handle.snapshot.list()
                if key in node_info.pvc_ref_counts
                for info in node_info.pods
                if key in info.claim_keys
            )
            user = next(users, None)
            if user is not None:
                yield key, user

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod_deleted = ClusterEvent(EventResource.POD, ActionType.DELETE)
        claim_added = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        return (
            ClusterEventWithHint(pod_deleted, _after_pod_deletion),
            ClusterEventWithHint(NODE_ADD),
            ClusterEventWithHint(claim_added, _after_claim_change),
        )

    def _claims_of_one_pod(self, pod: Pod) -> frozenset[str]:
        """The pod's claims that only one pod may use. Raises ObjectMissingError."""
        claims = (self._storage.claim(pod.namespace, name) for name in _claim_names(pod))
        return frozenset(claim.name for claim in claims if READ_WRITE_ONCE_POD in (claim.spec.access_modes or ()))


def _count(state: CycleState, pod: Pod, times: int) -> Status:
    found = state.find(PreFilterState)
    if found is None:
        return Status.failed(NO_PRE_FILTER)
    found.count(pod, times)
    return SUCCESS


def _claim_names(pod: Pod) -> list[str]:
    return [
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes or ()
        if volume.persistent_volume_claim is not None
    ]


def _disks(pod: Pod) -> tuple[Volume, ...]:
    """The volumes that name a disk themselves and may conflict."""
    return tuple(
        volume
        for volume in pod.spec.volumes or ()
        if volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.rbd or volume.iscsi
    )


def _disk_in_use(disks: tuple[Volume, ...], node_info: NodeInfo) -> bool:
    return bool(disks) and any(
        _conflict(disk, used) for info in node_info.pods for used in info.pod.spec.volumes or () for disk in disks
    )


def _conflict(disk: Volume, used: Volume) -> bool:
    """Whether both name the same disk and may not share it."""
    gce, used_gce = disk.gce_persistent_disk, used.gce_persistent_disk
    if gce is not None and used_gce is not None:
        return gce.pd_name == used_gce.pd_name and not (gce.read_only and used_gce.read_only)
    ebs, used_ebs = disk.aws_elastic_block_store, used.aws_elastic_block_store
    if ebs is not None and used_ebs is not None:
        return ebs.volume_id == used_ebs.volume_id
    iscsi, used_iscsi = disk.iscsi, used.iscsi
    if iscsi is not None and used_iscsi is not None:
        return iscsi.iqn == used_iscsi.iqn and not (iscsi.read_only and used_iscsi.read_only)
    rbd, used_rbd = disk.rbd, used.rbd
    if rbd is not None and used_rbd is not None:
        return (
            (rbd.pool, rbd.image) == (used_rbd.pool, used_rbd.image)
            and not set(rbd.monitors).isdisjoint(used_rbd.monitors)
            and not (rbd.read_only and used_rbd.read_only)
        )
    return False


def _after_pod_deletion(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when the deleted pod used a disk or a claim of this one."""
    deleted = as_pod(old)
    if deleted is None or deleted.namespace != pod.namespace:
        return QueueingHint.SKIP
    disks = _disks(pod)
    freed_disk = any(_conflict(disk, used) for disk in disks for used in deleted.spec.volumes or ())
    return queue_if(freed_disk or not set(_claim_names(pod)).isdisjoint(_claim_names(deleted)))


def _after_claim_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    claim = as_claim(new)
    return queue_if(claim is not None and uses_claim(pod, claim, ephemeral=False))
