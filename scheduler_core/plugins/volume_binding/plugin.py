"""Nodes from which a pod's volumes can be used, and the binding of volumes to the node chosen.

pre_filter  every claim is there and usable; claims that bind at once must be bound
filter      bound volumes can be reached; the other claims find a volume or can have one made
reserve     volumes found are taken and claims placed, as far as later pods see
pre_bind    both are written, and the pod waits until its claims are bound, at most bindTimeoutSeconds

Scoring by storage capacity is behind a feature gate that is off: PreScore skips.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/volumebinding
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.config.types import VolumeBindingArgs
from scheduler_core.framework.answers import (
    ClusterEventWithHint,
    Int64Array,
    PreBindWork,
    PreFilterResult,
    RowIndex,
    RowVerdicts,
)
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.framework.storage_lister import ObjectMissingError, StorageLister
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Code, Status
from scheduler_core.plugins.helpers import check_args, name_at, refuse_all
from scheduler_core.plugins.volume_binding import hints, pre_bind
from scheduler_core.plugins.volume_binding.assume_cache import AssumeCache
from scheduler_core.plugins.volume_binding.binder import NODE_CONFLICT, Binder
from scheduler_core.plugins.volume_binding.claims import (
    BindingError,
    PodClaims,
    UnusableClaimError,
    all_bound,
    classify,
    usable_claims,
)
from scheduler_core.plugins.volume_binding.reserve import Reservation
from scheduler_core.plugins.volume_binding.rows import judge_rows
from scheduler_core.table.node_table import NodeTable

REASON_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
NO_PRE_FILTER = "not found"
TIMED_OUT = "context deadline exceeded"

_WAIT = Status(Code.Wait)
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class PreFilterState:
    """The pod's claims; None when it has none."""

    claims: PodClaims | None


_NO_CLAIMS = PreFilterState(None)


class VolumeBinding:
    name = names.VOLUME_BINDING

    def __init__(self, args: VolumeBindingArgs | None, handle: Handle) -> None:
        args = args if args is not None else VolumeBindingArgs()
        check_args(args)
        self._timeout_us = args.bind_timeout_seconds * _SECOND_US
        self._handle = handle
        self._cache = AssumeCache(StorageLister(handle))
        self._binder = Binder(self._cache)
        self._reservations: dict[str, Reservation] = {}  # by pod uid, until its volumes are bound

    def depends_on(self, pod: Pod) -> DependsOn | None:
        return None if pod.spec.volumes else DependsOn.POD

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        if not pod.spec.volumes:
            state.write(_NO_CLAIMS)
            return None, SKIP
        try:
            used = usable_claims(pod, self._cache)
            claims = classify(used, self._cache)
        except UnusableClaimError as error:
            return None, Status.unresolvable(str(error))
        except BindingError as error:
            return None, Status.failed(str(error))
        if not used:
            state.write(_NO_CLAIMS)
            return None, SKIP
        if claims.immediate:
            return None, Status.unresolvable(REASON_IMMEDIATE)
        state.write(PreFilterState(claims))
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        found = state.find(PreFilterState)
        if found is None:
            return Status.failed(NO_PRE_FILTER)
        assert node_info.node is not None
        try:
            return self._binder.find(found.claims or PodClaims(), node_info.node).status()
        except BindingError as error:
            return Status.failed(str(error))

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        found = state.find(PreFilterState)
        if found is None:
            return refuse_all(table, rows, Status.failed(NO_PRE_FILTER))
        verdicts = judge_rows(self._binder, found.claims or PodClaims(), table)
        return verdicts.at(rows) if verdicts is not None else None

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        claims = self._bound(state, reason)
        if claims is not None and node_info.node is not None:
            for volume in self._binder.bound_volumes(claims):
                if not self._binder.reach.reaches_bound(volume, node_info.node):
                    yield Amounts(AmountKind.VOLUME, self._binder.reach.text(volume), node=node_info.name)

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        claims = self._bound(state, refused.reason)
        for volume in self._binder.bound_volumes(claims) if claims is not None else ():
            reached = self._binder.reach.rows_bound(volume, table)
            places = np.flatnonzero(~reached[refused.rows]) if reached is not None else np.zeros(0, dtype=np.intp)
            if len(places):
                node = name_at(table, refused.rows, int(places[0]))
                yield Amounts(AmountKind.VOLUME, self._binder.reach.text(volume), len(places), node=node)

    def _bound(self, state: CycleState, reason: str) -> PodClaims | None:
        """The claims whose volumes the reason is about."""
        found = state.find(PreFilterState)
        return found.claims if found is not None and reason == NODE_CONFLICT else None

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        return SKIP

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        return 0, SUCCESS

    def score_nodes(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp]
    ) -> Int64Array | None:
        return np.zeros(len(rows), dtype=np.int64)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        found = state.find(PreFilterState)
        if found is None:
            return Status.failed(NO_PRE_FILTER)
        if found.claims is None or all_bound(pod, self._cache):
            return SUCCESS
        node_info = self._handle.snapshot.get(node_name)
        assert node_info is not None and node_info.node is not None
        try:
            volumes = self._binder.find(found.claims, node_info.node)
            reservation = Reservation.of(pod.namespace, node_name, volumes)
            self._reservations[pod.uid] = reservation
            reservation.assume(self._cache)
        except (BindingError, ObjectMissingError) as error:
            return Status.failed(str(error))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        reservation = self._reservations.pop(pod.uid, None)
        if reservation is not None:
            reservation.release(self._cache)

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, PreBindWork | None]:
        reservation = self._reservations.get(pod.uid)
        if reservation is None:
            return SUCCESS, None
        try:
            writes = reservation.writes(self._cache)
        except BindingError as error:
            return _not_bound(error), None
        reservation.deadline = self._handle.now + self._timeout_us
        return SUCCESS, PreBindWork(writes, awaits=True, deadline=reservation.deadline)

    def pre_bind_done(self, pod: Pod, node_name: str) -> Status:
        """Success once all claims are bound, Wait before."""
        reservation = self._reservations[pod.uid]
        lister = self._handle.lister
        try:
            if lister.get(Pod.kind, pod.key) is None:
                raise pre_bind.pod_gone(pod)
            node = lister.get(Node.kind, node_name)
            if not isinstance(node, Node):
                raise pre_bind.node_gone(node_name)
            if pre_bind.are_bound(self._binder, reservation, node):
                del self._reservations[pod.uid]
                return SUCCESS
        except BindingError as error:
            return _not_bound(error)
        if reservation.deadline is not None and reservation.deadline <= self._handle.now:
            return _not_bound(BindingError(TIMED_OUT))
        return _WAIT

    def dump_state(self) -> Any:
        """Reservations, with the assumptions of theirs that still stand."""
        return [
            [uid, reservation.dump(), reservation.standing(self._cache)]
            for uid, reservation in self._reservations.items()
        ]

    def load_state(self, state: Any) -> None:
        for uid, dumped, assumed in state:
            reservation = self._reservations[uid] = Reservation.load(dumped)
            reservation.assume_again(self._cache, [(kind, name) for kind, name in assumed])

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return hints.events_to_register()


def _not_bound(error: BindingError) -> Status:
    return Status.failed(f"binding volumes: {error}")
