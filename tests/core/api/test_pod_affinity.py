"""Affinity terms: whom a term speaks of, and what cannot be read."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.pod_affinity import (
    NO_TERMS,
    PREFERRED,
    REQUIRED,
    AffinityTerm,
    Unreadable,
    affinity_terms,
    match_all,
)
from tests.builders import PodBuilder, make_pod
from tests.cases import cases

WRONG = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
WRONG_TEXT = '"Near" is not a valid label selector operator'


def _required(*terms: dict[str, Any]) -> PodBuilder:
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", **term} for term in terms]}
    return make_pod("owner", namespace="home").spec(affinity={"podAffinity": rules})


def _term(**fields: Any) -> AffinityTerm:
    (term,) = affinity_terms(_required(fields).build()).required
    return term


def test_lists_keep_their_order_and_weights() -> None:
    pod = make_pod().pod_affinity("a", {}).pod_affinity("b", {}).pod_affinity("c", {}, weight=7)
    terms = affinity_terms(pod.pod_affinity("d", {}, anti=True).pod_affinity("e", {}, anti=True, weight=9).build())
    assert [term.topology_key for term in terms.required] == ["a", "b"]
    assert [(term.topology_key, term.weight) for term in terms.preferred] == [("c", 7)]
    assert [term.topology_key for term in terms.required_anti] == ["d"]
    assert [(term.topology_key, term.weight) for term in terms.preferred_anti] == [("e", 9)]


@cases(
    "pod",
    ("no affinity", make_pod()),
    ("node affinity only", make_pod().required_node_affinity({})),
)
def test_pods_without_terms_share_one_value(pod: PodBuilder) -> None:
    assert affinity_terms(pod.build()) is NO_TERMS


@cases(
    "fields, namespace, want",
    ("saying nothing means the owner's namespace", {}, "home", True),
    ("and no other", {}, "away", False),
    ("a listed one", {"namespaces": ["away"]}, "away", True),
    ("a list leaves the owner's out", {"namespaces": ["away"]}, "home", False),
    ("an empty selector is every namespace", {"namespaceSelector": {}}, "away", True),
    ("one whose labels match", {"namespaceSelector": {"matchLabels": {"team": "a"}}}, "away", True),
    ("a selector replaces it", {"namespaceSelector": {"matchLabels": {"team": "b"}}}, "home", False),
)
def test_a_term_speaks_of_pods_in_its_namespaces(fields: dict[str, Any], namespace: str, want: bool) -> None:
    assert _term(labelSelector={}, **fields).matches(namespace, {}, {"team": "a"}) is want


def test_an_absent_label_selector_speaks_of_nobody() -> None:
    assert not _term().matches("home", {"a": "b"}, {})


def test_expanding_names_the_selected_namespaces_and_keeps_the_selector() -> None:
    selecting = _required({"labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "a"}}}).build()
    (term,) = affinity_terms(selecting).expanded(lambda selector: ["x", "y"]).required
    assert term.namespaces == {"x", "y"}
    assert term.matches("z", {}, {"team": "a"}), "the selector is still asked"
    everywhere = _required({"labelSelector": {}, "namespaceSelector": {}}).build()
    (term,) = affinity_terms(everywhere).expanded(lambda selector: ["x"]).required
    assert term.namespaces == frozenset(), "an empty selector needs no names"


def test_match_all_wants_at_least_one_term() -> None:
    pod = make_pod(namespace="home").label(a="b").build()
    both = affinity_terms(_required({"labelSelector": {}}, {"labelSelector": {"matchLabels": {"a": "c"}}}).build())
    assert match_all(both.required[:1], pod)
    assert not match_all(both.required, pod)
    assert not match_all((), pod)


def test_a_list_with_a_term_that_cannot_be_read_is_empty() -> None:
    pod = _required({"labelSelector": {}}, {"labelSelector": WRONG}).pod_affinity("zone", {}, anti=True)
    terms = affinity_terms(pod.build())
    assert terms.required == ()
    assert len(terms.required_anti) == 1
    assert terms.unreadable == (Unreadable(REQUIRED, WRONG_TEXT),)
    assert terms.error == f"requiredAffinityTerms: {WRONG_TEXT}"


def test_several_unreadable_lists_make_one_text() -> None:
    manifest = {"topologyKey": "zone", "labelSelector": WRONG}
    rules = {
        "requiredDuringSchedulingIgnoredDuringExecution": [manifest],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": manifest}],
    }
    terms = affinity_terms(make_pod().spec(affinity={"podAffinity": rules}).build())
    assert [each.terms for each in terms.unreadable] == [REQUIRED, PREFERRED]
    assert terms.error == f"[requiredAffinityTerms: {WRONG_TEXT}, preferredAffinityTerms: {WRONG_TEXT}]"
