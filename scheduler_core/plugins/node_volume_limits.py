"""How many volumes of a CSI driver a node takes, as its CSINode says.

filter    volumes the pod would add to those the node's pods use or that are attached, counted by driver

A volume is known by driver and handle and counts once per node; a claim without volume counts for the driver that
would make it. In-tree volumes count for the driver they migrated to.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/nodevolumelimits
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler_core.api.csi_migration import (
    AWS_EBS,
    AZURE_DISK,
    CINDER,
    CSI_DRIVERS,
    GCE_PD,
    PORTWORX,
    InTreeSource,
    TranslationError,
    in_tree_source,
    in_tree_source_of,
)
from scheduler_core.api.derived import ephemeral_claim_name
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod, Volume
from scheduler_core.api.storage import CSINode, PersistentVolumeClaim, VolumeAttachment
from scheduler_core.api.volumes import (
    as_claim,
    claim_class_name,
    migrated_plugins,
    not_owner_text,
    uses_claim,
)
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint, PreFilterResult, QueueingHint, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.framework.storage_lister import ObjectMissingError, StorageLister
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.plugins.helpers import BoolArray, Rows, as_pod, had_a_place, infos_of, queue_if
from scheduler_core.table.node_table import NodeTable

REASON = "node(s) exceed max volume count"

_TOO_MANY = Status.unschedulable(REASON)
_ALWAYS_MIGRATED = frozenset({AWS_EBS, GCE_PD, AZURE_DISK, CINDER})
# Handle of a volume that is still to be made: upstream's is random, it only has to differ from real ones.
_UNMADE = "unmade volume of "
_NO_PODS = NodeInfo(lambda: 0)

Attachable = dict[tuple[str, str], str]  # (driver, handle) -> driver


@dataclass(frozen=True, slots=True)
class _Known:
    """Of one attempt: attachments by node, and the pod's own volumes by what has migrated on a node."""

    attached: dict[str, list[VolumeAttachment]]
    new: dict[frozenset[str], Attachable | Status] = field(default_factory=dict)


class _CannotTellError(Exception):
    """The volumes of a pod cannot be collected; the text is the error's."""


class _Rows:
    """What is known of the rows of a table as of one of its versions.

    `by_csi_node`: rows whose CSINodes have the same limits and migrations, each time with the CSINode of one of them.
    """

    def __init__(self) -> None:
        self.by_csi_node: list[tuple[CSINode, Rows]] = []
        self._grouped: tuple[object, ...] = ()
        self._table: NodeTable | None = None
        self._version = 0
        self._pods_have: BoolArray = np.zeros(0, dtype=np.bool_)  # rows with pods that have volumes

    def keep_up(self, table: NodeTable, storage: StorageLister) -> None:
        if table is not self._table:
            self._table, self._version, self._grouped = table, 0, ()
            self._pods_have = np.zeros(0, dtype=np.bool_)
        if len(self._pods_have) < table.n_rows:
            more = np.zeros(table.n_rows - len(self._pods_have), dtype=np.bool_)
            self._pods_have = np.concatenate((self._pods_have, more))
        for row in set(table.rows_changed_since(self._version).tolist()):
            node_info = table.node_infos[row]
            pods = node_info.pods if node_info is not None else ()
            self._pods_have[row] = any(info.pod.spec.volumes for info in pods)
        self._version = table.version
        as_of = (storage.csi_nodes_version(), table.nodes_version)
        if as_of != self._grouped:
            self._grouped = as_of
            self._group(table, storage)

    def have_volumes(self, attached: Sequence[int]) -> BoolArray:
        """Rows with volumes of their pods, and those named; shape (n_rows,)."""
        if not attached:
            return self._pods_have
        result = self._pods_have.copy()
        result[list(attached)] = True
        return result

    def _group(self, table: NodeTable, storage: StorageLister) -> None:
        groups: dict[object, tuple[CSINode, list[int]]] = {}
        for csi_node in storage.csi_nodes():
            row = table.row_of.get(csi_node.name)
            if row is not None:
                key = (_migrated(csi_node), tuple(sorted(_limits(csi_node).items())))
                groups.setdefault(key, (csi_node, []))[1].append(row)
        self.by_csi_node = [(csi_node, np.array(rows, dtype=np.int32)) for csi_node, rows in groups.values()]


class NodeVolumeLimits:
    name = names.NODE_VOLUME_LIMITS

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments."""
        self._storage = StorageLister(handle)
        self._rows = _Rows()

    def depends_on(self, pod: Pod) -> DependsOn | None:
        return None if pod.spec.volumes else DependsOn.POD

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        if not pod.spec.volumes or not any(map(_is_counted, pod.spec.volumes)):
            return None, SKIP
        state.write(self._begin())
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        known = state.find(_Known) or self._begin()
        return self._judge(known, pod, node_info, self._storage.csi_node(node_info.name))

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        """Only nodes with a CSINode can differ; the others have no limits and no migration.

        Of rows whose CSINodes say the same, those are judged one by one that have volumes already.
        """
        if not pod.spec.volumes:
            return None
        statuses: dict[Status, int] = {}
        codes = np.zeros(table.n_rows, dtype=np.uint16)

        def code_of(status: Status) -> int:
            return 0 if status.is_success else statuses.setdefault(status, len(statuses) + 1)

        known = state.find(_Known) or self._begin()
        codes[:] = code_of(self._judge(known, pod, None, None))
        self._rows.keep_up(table, self._storage)
        attached = [row for row in map(table.row_of.get, known.attached) if row is not None]
        has_volumes = self._rows.have_volumes(attached)
        for csi_node, group in self._rows.by_csi_node:
            codes[group] = code_of(self._judge(known, pod, _NO_PODS, csi_node))
            if isinstance(known.new[_migrated(csi_node)], dict):
                for row in group[has_volumes[group]].tolist():
                    node_info = table.node_infos[row]
                    codes[row] = code_of(self._judge(known, pod, node_info, csi_node))
        return RowVerdicts(codes, tuple(statuses)).at(rows) if codes.any() else None

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        known, csi_node = state.find(_Known) or self._begin(), self._storage.csi_node(node_info.name)
        counted = self._counted(known, pod, node_info, csi_node)
        if reason == REASON and isinstance(counted, tuple):
            in_use, added, limits = counted
            for driver in dict.fromkeys(added):
                asked, left = added.count(driver), limits.get(driver, 0) - in_use.count(driver)
                if driver in limits and asked > left:
                    yield Amounts(AmountKind.LIMIT, driver, 1, asked, left, node_info.name, limits[driver])

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        for node_info in infos_of(table, refused.rows):
            yield from self.amounts_on(state, pod, node_info, refused.reason, True)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod_deleted = ClusterEvent(EventResource.POD, ActionType.DELETE)
        claim_added = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        detached = ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE)
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, ActionType.ADD)),
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE), _after_csi_node_update),
            ClusterEventWithHint(pod_deleted, _after_pod_deletion),
            ClusterEventWithHint(claim_added, _after_claim_added),
            ClusterEventWithHint(detached, _after_detachment),
        )

    def _begin(self) -> _Known:
        attached: dict[str, list[VolumeAttachment]] = {}
        for attachment in self._storage.volume_attachments():
            if attachment.spec.node_name:
                attached.setdefault(attachment.spec.node_name, []).append(attachment)
        return _Known(attached)

    def _judge(self, known: _Known, pod: Pod, node_info: NodeInfo | None, csi_node: CSINode | None) -> Status:
        """`node_info` is only looked at when the CSINode has limits."""
        counted = self._counted(known, pod, node_info, csi_node)
        if counted is None or isinstance(counted, Status):
            return counted or SUCCESS
        in_use, added, limits = counted
        limited = [driver for driver in set(added) if driver in limits]
        exceeded = any(in_use.count(driver) + added.count(driver) > limits[driver] for driver in limited)
        return _TOO_MANY if exceeded else SUCCESS

    def _counted(
        self, known: _Known, pod: Pod, node_info: NodeInfo | None, csi_node: CSINode | None
    ) -> tuple[list[str], list[str], dict[str, int]] | Status | None:
        """Drivers of the volumes in use and of those the pod adds, one for each, and limits; None: nothing counts."""
        if not pod.spec.volumes:
            return None
        migrated = _migrated(csi_node)
        new = known.new.get(migrated)
        if new is None:
            new = known.new[migrated] = self._new_volumes(pod, csi_node)
        if isinstance(new, Status):
            return new
        limits = _limits(csi_node)
        if node_info is None or not new or not limits:
            return None
        used: Attachable = {}
        try:
            for info in node_info.pods:
                if info.pod.spec.volumes:
                    self._collect(info.pod, csi_node, used, is_new=False)
        except _CannotTellError as error:
            return Status.failed(str(error))
        self._add_attached(known.attached.get(node_info.name, ()), used)
        added = [driver for key, driver in new.items() if key not in used]
        return (list(used.values()), added, limits) if added else None

    def _new_volumes(self, pod: Pod, csi_node: CSINode | None) -> Attachable | Status:
        new: Attachable = {}
        try:
            self._collect(pod, csi_node, new, is_new=True)
        except ObjectMissingError as error:
            return Status.unresolvable(str(error))
        except _CannotTellError as error:
            return Status.failed(str(error))
        return new

    def _collect(self, pod: Pod, csi_node: CSINode | None, found: Attachable, *, is_new: bool) -> None:
        """The pod's volumes that count. ObjectMissingError for a claim a new pod lacks; others are passed over."""
        for volume in pod.spec.volumes or ():
            if volume.persistent_volume_claim is not None:
                claim_name = volume.persistent_volume_claim.claim_name
            elif volume.ephemeral is not None:
                claim_name = ephemeral_claim_name(pod, volume.name)
            else:
                self._collect_inline(volume, csi_node, found)
                continue
            if not claim_name:
                raise _CannotTellError("PersistentVolumeClaim had no name")
            try:
                claim = self._storage.claim(pod.namespace, claim_name)
            except ObjectMissingError as error:
                if is_new:
                    raise ObjectMissingError(f"looking up PVC {pod.namespace}/{claim_name}: {error}") from error
                continue
            if volume.ephemeral is not None and (text := not_owner_text(claim, pod)):
                raise _CannotTellError(text)
            known_as = self._known_as(claim, csi_node)
            if known_as is not None:
                found[known_as] = known_as[0]

    def _collect_inline(self, volume: Volume, csi_node: CSINode | None, found: Attachable) -> None:
        source = in_tree_source(volume)
        if source is None or not _is_migrated(source.plugin, csi_node):
            return
        try:
            handle = source.handle()
        except TranslationError as error:
            raise _CannotTellError(f"converting volume({volume.name}) from inline to csi: {error}") from error
        if handle is not None:
            found[source.driver, handle] = source.driver

    def _known_as(self, claim: PersistentVolumeClaim, csi_node: CSINode | None) -> tuple[str, str] | None:
        """Driver and handle of the claim's volume, or of the one its class would make; None when it does not count."""
        try:
            volume = self._storage.volume(claim.spec.volume_name) if claim.spec.volume_name else None
        except ObjectMissingError:
            volume = None
        if volume is None:
            return self._known_by_class(claim, csi_node)
        if volume.spec.csi is not None:
            return volume.spec.csi.driver, volume.spec.csi.volume_handle
        return _migrated_name(in_tree_source_of(volume), csi_node)

    def _known_by_class(self, claim: PersistentVolumeClaim, csi_node: CSINode | None) -> tuple[str, str] | None:
        class_name = claim_class_name(claim)
        if not class_name:
            return None
        try:
            provisioner = self._storage.storage_class(class_name).provisioner
        except ObjectMissingError:
            return None
        if provisioner in CSI_DRIVERS:
            if not _is_migrated(provisioner, csi_node):
                return None
            provisioner = CSI_DRIVERS[provisioner]
        return provisioner, _UNMADE + claim.key

    def _add_attached(self, attachments: Sequence[VolumeAttachment], used: Attachable) -> None:
        """Volumes attached to the node, whoever uses them."""
        for attachment in attachments:
            spec = attachment.spec
            if not spec.attacher or not spec.source.persistent_volume_name:
                continue
            try:
                volume = self._storage.volume(spec.source.persistent_volume_name)
            except ObjectMissingError:
                continue
            if volume.spec.csi is not None:
                used[spec.attacher, volume.spec.csi.volume_handle] = spec.attacher


def _limits(csi_node: CSINode | None) -> dict[str, int]:
    """Volumes the node takes, by driver; a driver that names no number has no limit."""
    drivers = csi_node.spec.drivers or () if csi_node is not None else ()
    return {
        driver.name: driver.allocatable.count
        for driver in drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def _migrated(csi_node: CSINode | None) -> frozenset[str]:
    """The in-tree plugins whose volumes count for their drivers on the node."""
    if csi_node is None:
        return frozenset()
    if csi_node.metadata.annotations is None or PORTWORX not in migrated_plugins(csi_node):
        return _ALWAYS_MIGRATED
    return _ALWAYS_MIGRATED | {PORTWORX}


def _is_migrated(plugin: str, csi_node: CSINode | None) -> bool:
    return plugin in _migrated(csi_node)


def _migrated_name(source: InTreeSource | None, csi_node: CSINode | None) -> tuple[str, str] | None:
    if source is None or not _is_migrated(source.plugin, csi_node):
        return None
    try:
        handle = source.handle()
    except TranslationError as error:
        raise _CannotTellError(str(error)) from error
    return None if handle is None else (source.driver, handle)


def _is_counted(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or in_tree_source(volume) is not None
    )


def _after_csi_node_update(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when the node takes more volumes of some driver than before."""
    if not isinstance(old, CSINode) or not isinstance(new, CSINode):
        raise TypeError("expected CSINodes")
    before = _limits(old)
    return queue_if(any(limit > before.get(driver, 0) for driver, limit in _limits(new).items()))


def _after_pod_deletion(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when the deleted pod may have used a volume that counts."""
    deleted = as_pod(old)
    if deleted is None or not had_a_place(deleted):
        return QueueingHint.SKIP
    return queue_if(any(map(_is_counted, deleted.spec.volumes or ())))


def _after_claim_added(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    claim = as_claim(new)
    return queue_if(claim is not None and uses_claim(pod, claim))


def _after_detachment(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when the volume that was detached may be one of the attacher the pod needs."""
    if not isinstance(old, VolumeAttachment):
        raise TypeError("expected a VolumeAttachment")
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            return QueueingHint.QUEUE
        source = in_tree_source(volume)
        if source is not None and source.driver == old.spec.attacher:
            return QueueingHint.QUEUE
    return QueueingHint.SKIP
