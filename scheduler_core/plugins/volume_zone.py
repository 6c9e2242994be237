"""A volume whose labels name zones or regions can only be used from nodes there.

pre_filter  the wanted (label, values) pairs of the pod's bound volumes; unbound claims must be waiting for a consumer
filter      every pair is met; a node with none of the topology labels passes

A beta label of a volume is looked up on the node under the label that replaced it too, never the other way round.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/volumezone
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler_core.api.csi_migration import ZONE_DELIMITER
from scheduler_core.api.derived import BETA_REGION, BETA_ZONE, REGION, ZONE
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.selectors import Operator, Requirement
from scheduler_core.api.storage import PersistentVolume, StorageClass
from scheduler_core.api.volumes import WAIT_FOR_FIRST_CONSUMER, as_claim, claim_class_name, uses_claim
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint, PreFilterResult, QueueingHint, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.framework.storage_lister import ObjectMissingError, StorageLister
from scheduler_core.model.amounts import Amounts
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.plugins.asked_labels import AskedLabels, label_amounts, label_amounts_on
from scheduler_core.plugins.helpers import BoolArray, queue_if, refuse, refuse_all
from scheduler_core.table.node_table import NodeTable

REASON = "node(s) had no available volume zone"

_ELSEWHERE = Status.unresolvable(REASON)
_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_REPLACED_BY = {BETA_ZONE: ZONE, BETA_REGION: REGION}

Topologies = tuple[tuple[str, frozenset[str]], ...]


@dataclass(frozen=True, slots=True)
class PreFilterState:
    """(label, values) pairs every node has to meet."""

    topologies: Topologies


class _CannotRunError(Exception):
    """The pod cannot run on any node as its claims are; the text is the reason."""


class VolumeZone:
    name = names.VOLUME_ZONE

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments."""
        self._storage = StorageLister(handle)

    def depends_on(self, pod: Pod) -> DependsOn | None:
        return None if pod.spec.volumes else DependsOn.POD

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        if not pod.spec.volumes:
            return None, SKIP
        try:
            topologies = self._topologies(pod)
        except (_CannotRunError, ObjectMissingError) as error:
            return None, Status.unresolvable(str(error))
        if not topologies:
            return None, SKIP
        state.write(PreFilterState(topologies))
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        wanted = self._wanted(state, pod)
        if isinstance(wanted, Status):
            return wanted
        assert node_info.node is not None
        labels = node_info.node.labels
        if not any(label in labels for label in _LABELS):
            return SUCCESS
        for key, values in wanted:
            value = labels.get(key)
            if value is None and key in _REPLACED_BY:
                value = labels.get(_REPLACED_BY[key])
            if value is None or value not in values:
                return _ELSEWHERE
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        wanted = self._wanted(state, pod)
        if isinstance(wanted, Status):
            return refuse_all(table, rows, wanted)
        elsewhere: BoolArray = np.zeros(table.n_rows, dtype=np.bool_)
        for key, values in wanted:
            listed = sorted(values)
            met = table.label(key).holds_any(listed)
            if key in _REPLACED_BY:
                met = met | (~table.label(key).has_key & table.label(_REPLACED_BY[key]).holds_any(listed))
            elsewhere |= ~met
        if not elsewhere.any():
            return None
        somewhere: BoolArray = np.zeros(table.n_rows, dtype=np.bool_)
        for label in _LABELS:
            somewhere |= table.label(label).has_key
        return refuse((elsewhere & somewhere)[rows], _ELSEWHERE)

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        return label_amounts_on(self._asked(state, pod, reason), node_info.node) if node_info.node is not None else ()

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        return label_amounts(self._asked(state, pod, refused.reason), table, refused.rows, few=refused.are_all)

    def _asked(self, state: CycleState, pod: Pod, reason: str) -> AskedLabels:
        """What volumes require of nodes; not of beta labels, for which another label of the node may stand."""
        wanted = self._wanted(state, pod)
        if isinstance(wanted, Status) or reason != REASON or any(key in _REPLACED_BY for key, _ in wanted):
            return AskedLabels((), (), True)
        asked = (Requirement(key, Operator.IN, tuple(sorted(values))) for key, values in wanted)
        return AskedLabels(tuple(dict.fromkeys(asked)), (), True)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        add_or_update = ActionType.ADD | ActionType.UPDATE
        node_changed = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        class_added = ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD)
        claim_changed = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, add_or_update)
        volume_changed = ClusterEvent(EventResource.PERSISTENT_VOLUME, add_or_update)
        return (
            ClusterEventWithHint(class_added, _after_class_added),
            ClusterEventWithHint(node_changed),
            ClusterEventWithHint(claim_changed, _after_claim_change),
            ClusterEventWithHint(volume_changed, _after_volume_change),
        )

    def _wanted(self, state: CycleState, pod: Pod) -> Topologies | Status:
        """What PreFilter found; looked up again when it did not run."""
        found = state.find(PreFilterState)
        if found is not None:
            return found.topologies
        try:
            return self._topologies(pod)
        except (_CannotRunError, ObjectMissingError) as error:
            return Status.unresolvable(str(error))

    def _topologies(self, pod: Pod) -> Topologies:
        found: list[tuple[str, frozenset[str]]] = []
        for volume in pod.spec.volumes or ():
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            if not name:
                raise _CannotRunError("PersistentVolumeClaim had no name")
            claim = self._storage.claim(pod.namespace, name)
            if claim.spec.volume_name:
                found += _topologies_of(self._storage.volume(claim.spec.volume_name))
            else:
                self._check_waits(claim_class_name(claim))
        return tuple(found)

    def _check_waits(self, class_name: str) -> None:
        """An unbound claim is no obstacle when its class binds it to where the pod goes."""
        if not class_name:
            raise _CannotRunError("PersistentVolumeClaim had no pv name and storageClass name")
        mode = self._storage.storage_class(class_name).volume_binding_mode
        if mode is None:
            raise _CannotRunError(f'VolumeBindingMode not set for StorageClass "{class_name}"')
        if mode != WAIT_FOR_FIRST_CONSUMER:
            raise _CannotRunError("PersistentVolume had no name")


def _topologies_of(volume: PersistentVolume) -> list[tuple[str, frozenset[str]]]:
    """The volume's topology labels; several values stand in one label, an empty one spoils it."""
    found = []
    for key in _LABELS:
        if key in volume.labels:
            values = frozenset(value.strip() for value in volume.labels[key].split(ZONE_DELIMITER))
            if "" not in values:
                found.append((key, values))
    return found


def _after_class_added(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    if not isinstance(new, StorageClass):
        raise TypeError("expected a StorageClass")
    return queue_if(new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER)


def _after_claim_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    claim = as_claim(new)
    return queue_if(claim is not None and uses_claim(pod, claim, ephemeral=False))


def _after_volume_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """A volume that keeps its topology changes nothing."""
    if not isinstance(new, PersistentVolume):
        raise TypeError("expected a PersistentVolume")
    return queue_if(not isinstance(old, PersistentVolume) or _topologies_of(old) != _topologies_of(new))
