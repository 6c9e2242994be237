"""Label selectors, node selectors and allowed topologies: matching, and what cannot be parsed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.affinity import NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm
from scheduler_core.api.manifests import convert
from scheduler_core.api.meta import LabelSelector
from scheduler_core.api.selectors import (
    EVERYTHING,
    NOTHING,
    Operator,
    Requirement,
    SelectorError,
    int64_of,
    parse_label_selector,
    parse_node_selector,
    parse_node_term,
    parse_preferred_terms,
    preferred_score,
    required_node_affinity,
    selector_from_map,
    selects_map,
    topology_terms_match,
)
from scheduler_core.api.storage import TopologySelectorTerm
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.strategies import label_maps, label_selectors, node_selector_terms

LABELS = {"app": "x", "n": "5", "empty": ""}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@cases(
    "selector, want",
    ("absent matches nothing", None, False),
    ("empty matches everything", {}, True),
    ("empty parts match everything", {"matchLabels": {}, "matchExpressions": []}, True),
    ("equal label", {"matchLabels": {"app": "x"}}, True),
    ("other value", {"matchLabels": {"app": "y"}}, False),
    ("an empty value is a value", {"matchLabels": {"empty": ""}}, True),
    ("a missing label is no empty value", {"matchLabels": {"missing": ""}}, False),
    ("in", {"matchExpressions": [expression("app", "In", "y", "x")]}, True),
    ("not in, value there", {"matchExpressions": [expression("app", "NotIn", "x")]}, False),
    ("not in passes when missing", {"matchExpressions": [expression("zone", "NotIn", "x")]}, True),
    ("exists", {"matchExpressions": [expression("app", "Exists")]}, True),
    ("does not exist", {"matchExpressions": [expression("app", "DoesNotExist")]}, False),
    ("all must hold", {"matchLabels": {"app": "x"}, "matchExpressions": [expression("n", "In", "6")]}, False),
)
def test_label_selector_matches(selector: dict[str, Any] | None, want: bool) -> None:
    typed = None if selector is None else convert(selector, LabelSelector)
    assert parse_label_selector(typed).matches(LABELS) is want


@cases(
    "requirement, message",
    ("operator", expression("a", "Near", "b"), '"Near" is not a valid label selector operator'),
    ("node operator", expression("a", "Gt", "1"), '"Gt" is not a valid label selector operator'),
    ("in without values", expression("a", "In"), "values set can't be empty"),
    ("exists with values", expression("a", "Exists", "b"), "values set must be empty for exists"),
    ("bad key", expression("-a", "Exists"), "name part must consist of"),
    ("two slashes", expression("a/b/c", "Exists"), "a qualified name must consist of"),
    ("empty prefix", expression("/b", "Exists"), "prefix part must be non-empty"),
    ("empty key", expression("", "Exists"), "name part must be non-empty"),
    ("bad value", expression("a", "In", "b c"), "a valid label must be an empty string or consist"),
    ("long value", expression("a", "In", "b" * 64), "must be no more than 63 characters"),
    ("long key", expression("a" * 64, "Exists"), "must be no more than 63 characters"),
)
def test_label_selector_refuses(requirement: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(convert({"matchExpressions": [requirement]}, LabelSelector))
    assert message in str(caught.value)


def test_nothing_stays_nothing_when_extended() -> None:
    more = (Requirement("a", Operator.IN, ("b",)),)
    assert not NOTHING.extended(more).matches({"a": "b"})
    assert not NOTHING.is_empty
    assert EVERYTHING.is_empty and not EVERYTHING.extended(more).is_empty
    assert EVERYTHING.extended(more).matches({"a": "b"}) and not EVERYTHING.extended(more).matches({})


def test_map_selector_compares_without_validation() -> None:
    assert selector_from_map({"not valid": "x y"}).matches({"not valid": "x y"})
    assert selector_from_map({}).matches({})
    assert selects_map({"a": "1"}, {"a": "1", "b": "2"}) and not selects_map({"a": "1"}, {"a": "2"})


@given(label_selectors(), label_maps)
def test_requirements_can_be_asked_value_by_value(selector: dict[str, Any], labels: dict[str, str]) -> None:
    """What a table does: each requirement asked for one value, all answers ANDed."""
    parsed = parse_label_selector(convert(selector, LabelSelector))
    answers = [requirement.accepts(labels.get(requirement.key)) for requirement in parsed.requirements]
    assert parsed.matches(labels) == all(answers) == _naive(selector, labels)


def _naive(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    for key, value in selector["matchLabels"].items():
        if labels.get(key) != value:
            return False
    for one in selector["matchExpressions"]:
        here, key = one["key"] in labels, one["key"]
        match one["operator"]:
            case "In":
                passed = here and labels[key] in one["values"]
            case "NotIn":
                passed = not (here and labels[key] in one["values"])
            case "Exists":
                passed = here
            case _:
                passed = not here
        if not passed:
            return False
    return True


@cases(
    "requirement, want",
    ("greater", expression("n", "Gt", "4"), True),
    ("greater is strict", expression("n", "Gt", "5"), False),
    ("less", expression("n", "Lt", "6"), True),
    ("less is strict", expression("n", "Lt", "5"), False),
    ("label is no number", expression("app", "Gt", "4"), False),
    ("label missing", expression("missing", "Lt", "4"), False),
    ("not in passes when missing", expression("missing", "NotIn", "4"), True),
)
def test_node_requirement_matches(requirement: dict[str, Any], want: bool) -> None:
    term = parse_node_term(convert({"matchExpressions": [requirement]}, NodeSelectorTerm))
    assert term.matches(LABELS, "n1") is want


def field(operator: str, *values: str, key: str = "metadata.name") -> dict[str, Any]:
    return {"matchFields": [expression(key, operator, *values)]}


@cases(
    "terms, want",
    ("no terms match nothing", [], False),
    ("an empty term matches nothing", [{}], False),
    ("terms are ORed", [{}, {"matchExpressions": [expression("app", "Exists")]}], True),
    ("name in", [field("In", "n1")], True),
    ("other name", [field("In", "n2")], False),
    ("name not in", [field("NotIn", "n1")], False),
    ("another field reads as empty", [field("In", "x", key="metadata.uid")], False),
    ("another field is not x", [field("NotIn", "x", key="metadata.uid")], True),
    ("ANDed", [{**field("In", "n2"), "matchExpressions": [expression("app", "Exists")]}], False),
    ("a broken term spoils no other", [{"matchExpressions": [expression("app", "Near")]}, field("In", "n1")], True),
    ("a broken term does not match", [{"matchExpressions": [expression("app", "Near")]}], False),
    ("two names are a parse error", [field("In", "n1", "n2")], False),
    ("exists is none of a field's operators", [field("Exists")], False),
)
def test_node_selector_matches(terms: list[dict[str, Any]], want: bool) -> None:
    selector = parse_node_selector(convert({"nodeSelectorTerms": terms}, NodeSelector))
    assert selector.matches(LABELS, "n1") is want


def test_fields_are_not_asked_of_an_object_without_name() -> None:
    term = parse_node_term(
        convert({**field("In", "n1"), "matchExpressions": [expression("app", "Exists")]}, NodeSelectorTerm)
    )
    assert term.matches(LABELS, "")


@cases(
    "term, message",
    ("gt needs a number", {"matchExpressions": [expression("a", "Gt", "x")]},
     "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
     "the value must be an integer"),
    ("lt takes one value", {"matchExpressions": [expression("a", "Lt", "1", "2")]},
     "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, "
     "exactly one value is required"),
    ("a field takes one value", field("In", "a", "b"),
     'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element'),
    ("fields know In and NotIn", field("Gt", "1"),
     'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Gt": supported values: "In", "NotIn"'),
)  # fmt: skip
def test_node_selector_keeps_its_errors(term: dict[str, Any], message: str) -> None:
    selector = parse_node_selector(convert({"nodeSelectorTerms": [term]}, NodeSelector))
    assert selector.errors == (message,)


def preferred(*terms: tuple[int, dict[str, Any]]) -> tuple[PreferredSchedulingTerm, ...]:
    return tuple(convert({"weight": weight, "preference": term}, PreferredSchedulingTerm) for weight, term in terms)


def test_preferred_weights_are_added_when_terms_match() -> None:
    here, away = (
        {"matchExpressions": [expression("app", "Exists")]},
        {"matchExpressions": [expression("zone", "Exists")]},
    )
    terms = parse_preferred_terms(preferred((5, here), (7, away), (11, here), (0, here), (3, {})))
    assert [one.weight for one in terms] == [5, 7, 11]
    assert preferred_score(terms, LABELS, "n1") == 16


def test_preferred_terms_fail_as_a_whole_when_one_is_broken() -> None:
    broken = {"matchExpressions": [expression("a", "Near")]}
    with pytest.raises(SelectorError, match=r"\[1\].matchExpressions\[0\].operator: Unsupported value"):
        parse_preferred_terms(preferred((5, {"matchExpressions": [expression("a", "Exists")]}), (1, broken)))
    assert parse_preferred_terms(preferred((0, broken))) == ()


@given(st.lists(node_selector_terms(), max_size=3), label_maps, st.sampled_from(("n0", "n1")))
def test_required_node_affinity_is_selector_and_terms(
    terms: list[dict[str, Any]], labels: dict[str, str], name: str
) -> None:
    node = make_node(name).label(labels).build()
    pod = make_pod().node_selector(app="a").required_node_affinity(*terms).build()
    want = labels.get("app") == "a" and any(
        parse_node_term(convert(term, NodeSelectorTerm)).matches(node.labels, name) for term in terms
    )
    assert required_node_affinity(pod).matches_node(node) == want


def test_required_node_affinity_is_unrestricted_when_absent() -> None:
    affinity = required_node_affinity(make_pod().build())
    assert affinity.matches({}, "n1")
    assert not required_node_affinity(make_pod().required_node_affinity().build()).matches({}, "n1")


@cases(
    "terms, want",
    ("no terms match all", [], True),
    ("a term without expressions matches nothing", [{}], False),
    ("value listed", [{"matchLabelExpressions": [{"key": "app", "values": ["x", "y"]}]}], True),
    ("key missing", [{"matchLabelExpressions": [{"key": "zone", "values": ["x"]}]}], False),
    ("every key must be there",
     [{"matchLabelExpressions": [{"key": "app", "values": ["x"]}, {"key": "n", "values": ["6"]}]}], False),
)  # fmt: skip
def test_allowed_topologies_match(terms: list[dict[str, Any]], want: bool) -> None:
    assert topology_terms_match([convert(term, TopologySelectorTerm) for term in terms], LABELS) is want


@pytest.mark.parametrize(
    ("text", "want"),
    [("5", 5), ("-5", -5), ("+5", 5), ("05", 5), ("", None), (" 5", None), ("5.0", None), ("0x5", None), ("1_0", None),
     (str(2**63), None), (str(-(2**63)), -(2**63))],
)  # fmt: skip
def test_label_numbers_are_int64_in_base_ten(text: str, want: int | None) -> None:
    assert int64_of(text) == want
