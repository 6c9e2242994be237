"""Affinity, tolerations, taints and topology spreading, as written in a pod or a node.

Shapes only: matching lives in `selectors.py` and in the plugins. Source: core/v1 of Kubernetes 1.34.
"""

from __future__ import annotations

from scheduler_core.api.meta import Int32, Int64, LabelSelector, Value


class NodeSelectorRequirement(Value, frozen=True):
    """`key operator values`; operator is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class NodeSelectorTerm(Value, frozen=True):
    """All requirements must hold; a term with neither list matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] | None = None
    match_fields: tuple[NodeSelectorRequirement, ...] | None = None


class NodeSelector(Value, frozen=True):
    """Any term may hold; no terms match nothing."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Value, frozen=True):
    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Value, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] | None = None


class PodAffinityTerm(Value, frozen=True):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class WeightedPodAffinityTerm(Value, frozen=True):
    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Value, frozen=True):
    """Also the shape of podAntiAffinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] | None = None


class Affinity(Value, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Taint(Value, frozen=True):
    """Effects are NoSchedule, PreferNoSchedule and NoExecute."""

    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class Toleration(Value, frozen=True):
    """Empty key with Exists tolerates every key; empty effect means every effect; empty operator is Equal."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration lets a pod past the taint. Source: api-machinery of Kubernetes 1.34."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


class TopologySpreadConstraint(Value, frozen=True):
    max_skew: Int32
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None
