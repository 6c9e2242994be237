"""The incoming pod as the rules see it: its terms, and the keys of what they count. Equivalent pods share it.

Terms of the incoming pod have the names of the namespaces they select; terms of existing pods ask the labels of its
namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from scheduler_core.api.pod import Pod
from scheduler_core.api.pod_affinity import NO_LABELS, AffinityTerm, AffinityTerms, TermList, match_all
from scheduler_core.api.selectors import LabelSelectorMatcher
from scheduler_core.model.types import PodKind
from scheduler_core.table.growth import Int32Array
from scheduler_core.table.labels import LabelColumn
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.pods import PodColumns, TermCount


class PodsSpokenOf(msgspec.Struct, frozen=True, cache_hash=True):
    """Existing pods of which each of these terms of an incoming pod speaks; their namespace counts as unlabelled."""

    terms: tuple[tuple[frozenset[str], LabelSelectorMatcher, LabelSelectorMatcher], ...]

    @staticmethod
    def by(*terms: AffinityTerm) -> PodsSpokenOf:
        """Topology keys and weights do not matter."""
        return PodsSpokenOf(tuple((term.namespaces, term.namespace_selector, term.selector) for term in terms))

    def times(self, kind: PodKind, /) -> int:
        for namespaces, namespace_selector, selector in self.terms:
            if kind.namespace not in namespaces and not namespace_selector.matches(NO_LABELS):
                return 0
            if not selector.matches(kind.labels):
                return 0
        return 1


class RowsWithKey(msgspec.Struct, frozen=True, cache_hash=True):
    """All rows that have the topology key count (`Scope`)."""

    topology_key: str

    def numbers(self, table: NodeTable, column: LabelColumn) -> Int32Array:
        return column.ids.copy()


rows_with_key = lru_cache(maxsize=512)(RowsWithKey)


class Incoming:
    """`near`: the pods all required affinity terms speak of; `apart`: by required anti-affinity term; `wishes`: by
    preferred term its topology key, and its weight, negative for anti-affinity."""

    def __init__(self, pod: Pod, terms: AffinityTerms, namespace_labels: Mapping[str, str]) -> None:
        """`terms`: with the namespaces they select."""
        self.terms = terms
        self.is_near_itself = match_all(terms.required, pod)
        self.near = PodsSpokenOf.by(*terms.required)
        self.apart = tuple(PodsSpokenOf.by(term) for term in terms.required_anti)
        self.wishes = tuple((PodsSpokenOf.by(term), term.topology_key, weight) for term, weight in self.weighted)
        self._namespace = pod.namespace
        self._labels = pod.labels
        self._namespace_labels = namespace_labels
        self._speaking: dict[TermList, tuple[PodColumns, int, dict[str, list[TermCount]]]] = {}

    @property
    def weighted(self) -> Iterator[tuple[AffinityTerm, int]]:
        """The preferred terms with their weights, negative for anti-affinity."""
        yield from ((term, term.weight) for term in self.terms.preferred)
        yield from ((term, -term.weight) for term in self.terms.preferred_anti)

    def is_spoken_of(self, term: AffinityTerm) -> bool:
        """Whether a term of an existing pod speaks of the pod."""
        return term.matches(self._namespace, self._labels, self._namespace_labels)

    def speaking(self, pods: PodColumns, listed: TermList) -> Mapping[str, Sequence[TermCount]]:
        """The terms in a list of existing pods that speak of the pod, by topology key."""
        known = self._speaking.get(listed)
        if known is None or known[0] is not pods or known[1] != pods.terms_version:
            by_key: dict[str, list[TermCount]] = {}
            for count in pods.terms_in(listed, self._labels):
                if self.is_spoken_of(count.term):
                    by_key.setdefault(count.term.topology_key, []).append(count)
            known = self._speaking[listed] = (pods, pods.terms_version, by_key)
        return known[2]
