"""The constraints that hold for a pod: its own, or else the default ones.

A node counts for a constraint when the inclusion policies let it: by default it must meet the pod's node selector and
required node affinity, and its taints do not matter. A selector counts pods of the pod's namespace that are not being
deleted; an empty one counts nobody when nodes are counted, an upstream quirk, though it matches the pod itself.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/podtopologyspread/common.go, plugins/helper/spread.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from scheduler_core.api.affinity import Toleration, TopologySpreadConstraint
from scheduler_core.api.derived import HOSTNAME, ZONE
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.selectors import (
    LabelSelectorMatcher,
    NodeSelectorMatcher,
    RequiredNodeAffinity,
    parse_label_selector,
    required_node_affinity,
    selector_from_map,
)
from scheduler_core.model.types import PodInfo, PodKind
from scheduler_core.plugins.helpers import BoolArray, first_untolerated
from scheduler_core.table.growth import Int32Array
from scheduler_core.table.labels import NO_VALUE, LabelColumn
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.selection import rows_meeting

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
HONOR: Final = "Honor"

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SOFT),
)


@dataclass(frozen=True, slots=True)
class Constraint:
    topology_key: str
    max_skew: int
    selector: LabelSelectorMatcher
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


class Inclusion:
    """Which nodes count for the constraints of one pod."""

    def __init__(self, pod: Pod) -> None:
        self.required = required_node_affinity(pod)
        self.tolerations = pod.spec.tolerations or ()

    def includes(self, constraint: Constraint, node: Node) -> bool:
        if constraint.honors_affinity and not self.required.matches_node(node):
            return False
        return not constraint.honors_taints or first_untolerated(node.taints, self.tolerations) is None


class CountedRows(msgspec.Struct, frozen=True, cache_hash=True):
    """Rows that count for a constraint: they have all the keys, and the inclusion policies let them (`Scope`)."""

    topology_key: str
    keys: tuple[str, ...]
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: NodeSelectorMatcher | None = None
    tolerations: tuple[Toleration, ...] | None = None  # None where taints do not matter
    counts_missing: bool = False  # a row that lacks the topology key counts for the value ""

    @staticmethod
    def of(
        constraint: Constraint, inclusion: Inclusion, keys: Iterable[str], *, counts_missing: bool = False
    ) -> CountedRows:
        required = inclusion.required if constraint.honors_affinity else None
        return CountedRows(
            constraint.topology_key,
            tuple(keys),
            tuple(sorted(required.node_selector.items())) if required is not None else (),
            required.affinity if required is not None else None,
            tuple(inclusion.tolerations) if constraint.honors_taints else None,
            counts_missing,
        )

    def rows(self, table: NodeTable) -> BoolArray:
        """Which they are, shape (n_rows,)."""
        rows = table.live.copy()
        for key in self.keys:
            rows &= table.label(key).has_key
        meeting = rows_meeting(table, RequiredNodeAffinity(dict(self.node_selector), self.affinity))
        if meeting is not None:
            rows &= meeting
        if self.tolerations is not None:
            by_set = [first_untolerated(taints, self.tolerations) is None for taints in table.taints.sets]
            rows &= np.array(by_set)[table.taints.set_ids]
        return rows

    def numbers(self, table: NodeTable, column: LabelColumn) -> Int32Array:
        numbers = column.ids
        empty = column.values.id_of.get("") if self.counts_missing else None
        if empty is not None:
            numbers = np.where(numbers == NO_VALUE, np.int32(empty), numbers)
        counted: Int32Array = np.where(self.rows(table), numbers, np.int32(NO_VALUE))
        return counted


class MatchingPods(msgspec.Struct, frozen=True, cache_hash=True):
    """The pods a selector counts: of the namespace, not being deleted; an empty selector counts none."""

    namespace: str
    selector: LabelSelectorMatcher

    def times(self, kind: PodKind, /) -> int:
        return int(
            kind.namespace == self.namespace
            and not kind.is_terminating
            and not self.selector.is_empty
            and self.selector.matches(kind.labels)
        )


def parse_constraints(
    listed: Iterable[TopologySpreadConstraint], labels: Mapping[str, str], action: str
) -> tuple[Constraint, ...]:
    """Parse the constraints with this action, in their order, for a pod with these labels. Raises SelectorError."""
    return tuple(_parsed(constraint, labels) for constraint in listed if constraint.when_unsatisfiable == action)


def has_all_keys(labels: Mapping[str, str], constraints: Sequence[Constraint]) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)


def count_matching(pods: Iterable[PodInfo], selector: LabelSelectorMatcher, namespace: str) -> int:
    """How many of a node's pods the selector counts."""
    if selector.is_empty:
        return 0
    return sum(
        info.pod.namespace == namespace and not info.pod.is_terminating and selector.matches(info.pod.labels)
        for info in pods
    )


def _parsed(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Constraint:
    own = {key: labels[key] for key in constraint.match_label_keys or () if key in labels}
    return Constraint(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        selector=parse_label_selector(constraint.label_selector).extended(selector_from_map(own).requirements),
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honors_affinity=constraint.node_affinity_policy in (None, HONOR),
        honors_taints=constraint.node_taints_policy == HONOR,
    )
