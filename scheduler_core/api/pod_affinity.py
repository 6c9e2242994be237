"""Terms of podAffinity and podAntiAffinity, parsed once and matched often.

A term speaks of pods: those in its namespaces, or in a namespace its selector picks, whose labels match. Which labels
the namespace has is for the caller to say. A list with a term that cannot be read has no terms at all.
Source: kubernetes v1.34.1, pkg/scheduler/framework/types.go (AffinityTerm, GetAffinityTerms, PodInfo.Update).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from scheduler_core.api.affinity import PodAffinity, PodAffinityTerm
from scheduler_core.api.pod import Pod
from scheduler_core.api.selectors import LabelSelectorMatcher, SelectorError, parse_label_selector


class TermList(StrEnum):
    """Upstream's names of the four lists."""

    REQUIRED = "requiredAffinityTerms"
    REQUIRED_ANTI = "requiredAntiAffinityTerms"
    PREFERRED = "preferredAffinityTerms"
    PREFERRED_ANTI = "preferredAntiAffinityTerms"


REQUIRED, REQUIRED_ANTI = TermList.REQUIRED, TermList.REQUIRED_ANTI
PREFERRED, PREFERRED_ANTI = TermList.PREFERRED, TermList.PREFERRED_ANTI

NO_LABELS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """`namespaces` are those listed, or the owner's where the term says nothing of namespaces; required: weight 0."""

    topology_key: str
    namespaces: frozenset[str]
    selector: LabelSelectorMatcher
    namespace_selector: LabelSelectorMatcher
    weight: int = 0

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Whether the term speaks of a pod with these labels in this namespace."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)

    def matches_pod(self, pod: Pod, namespace_labels: Mapping[str, str] = NO_LABELS) -> bool:
        return self.matches(pod.namespace, pod.labels, namespace_labels)

    def in_namespaces(self, names: Iterable[str]) -> AffinityTerm:
        """The term with more namespaces. Its selector stays, an upstream quirk: one that an empty set of labels
        satisfies still picks every namespace."""
        return replace(self, namespaces=self.namespaces.union(names))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A list that has a term which cannot be read, and what is wrong."""

    terms: TermList
    error: str


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """The terms of one pod, in the order written; a list that is among `unreadable` is empty."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def error(self) -> str:
        """Everything that is wrong, as one text; empty when nothing is."""
        texts = [f"{each.terms}: {each.error}" for each in self.unreadable]
        return f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)

    def of_list(self, listed: TermList) -> tuple[AffinityTerm, ...]:
        """The terms of one of the lists."""
        match listed:
            case TermList.REQUIRED:
                return self.required
            case TermList.REQUIRED_ANTI:
                return self.required_anti
            case TermList.PREFERRED:
                return self.preferred
            case TermList.PREFERRED_ANTI:
                return self.preferred_anti

    def expanded(self, namespaces_of: Callable[[LabelSelectorMatcher], Iterable[str]]) -> AffinityTerms:
        """The terms with the names of the namespaces their selectors pick; an empty selector picks all by itself."""

        def expand(terms: tuple[AffinityTerm, ...]) -> tuple[AffinityTerm, ...]:
            return tuple(
                term
                if term.namespace_selector.is_empty or term.namespace_selector.nothing
                else term.in_namespaces(namespaces_of(term.namespace_selector))
                for term in terms
            )

        return replace(
            self,
            required=expand(self.required),
            required_anti=expand(self.required_anti),
            preferred=expand(self.preferred),
            preferred_anti=expand(self.preferred_anti),
        )


NO_TERMS: Final = AffinityTerms()


def match_all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    """Whether there are terms and every one speaks of the pod; its namespace counts as having no labels."""
    return bool(terms) and all(term.matches_pod(pod) for term in terms)


def affinity_terms(pod: Pod) -> AffinityTerms:
    """All terms of the pod."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    unreadable: list[Unreadable] = []
    near, apart = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()

    def required(name: TermList, rules: PodAffinity) -> tuple[AffinityTerm, ...]:
        listed = rules.required_during_scheduling_ignored_during_execution or ()
        return _parsed(name, ((term, 0) for term in listed), pod, unreadable)

    def preferred(name: TermList, rules: PodAffinity) -> tuple[AffinityTerm, ...]:
        listed = rules.preferred_during_scheduling_ignored_during_execution or ()
        return _parsed(name, ((each.pod_affinity_term, each.weight) for each in listed), pod, unreadable)

    return AffinityTerms(
        required=required(REQUIRED, near),
        required_anti=required(REQUIRED_ANTI, apart),
        preferred=preferred(PREFERRED, near),
        preferred_anti=preferred(PREFERRED_ANTI, apart),
        unreadable=tuple(unreadable),
    )


def _parsed(
    name: TermList, listed: Iterable[tuple[PodAffinityTerm, int]], owner: Pod, unreadable: list[Unreadable]
) -> tuple[AffinityTerm, ...]:
    try:
        return tuple(_term(term, weight, owner) for term, weight in listed)
    except SelectorError as error:
        unreadable.append(Unreadable(name, str(error)))
        return ()


def _term(term: PodAffinityTerm, weight: int, owner: Pod) -> AffinityTerm:
    namespaces = frozenset(term.namespaces or ())
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((owner.namespace,))
    return AffinityTerm(
        topology_key=term.topology_key,
        namespaces=namespaces,
        selector=parse_label_selector(term.label_selector),
        namespace_selector=parse_label_selector(term.namespace_selector),
        weight=weight,
    )
