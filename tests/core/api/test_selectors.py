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
from tests.strategies import label_maps, label_selectors, node_selector_terms

LABELS = {"app": "x", "n": "5", "empty": ""}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param(None, False, id="absent matches nothing"),
        pytest.param({}, True, id="empty matches everything"),
        pytest.param({"matchLabels": {}, "matchExpressions": []}, True, id="empty parts match everything"),
        pytest.param({"matchLabels": {"app": "x"}}, True, id="equal label"),
        pytest.param({"matchLabels": {"app": "y"}}, False, id="other value"),
        pytest.param({"matchLabels": {"empty": ""}}, True, id="an empty value is a value"),
        pytest.param({"matchLabels": {"missing": ""}}, False, id="a missing label is no empty value"),
        pytest.param({"matchExpressions": [expression("app", "In", "y", "x")]}, True, id="in"),
        pytest.param({"matchExpressions": [expression("app", "NotIn", "x")]}, False, id="not in, value there"),
        pytest.param({"matchExpressions": [expression("zone", "NotIn", "x")]}, True, id="not in passes when missing"),
        pytest.param({"matchExpressions": [expression("app", "Exists")]}, True, id="exists"),
        pytest.param({"matchExpressions": [expression("app", "DoesNotExist")]}, False, id="does not exist"),
        pytest.param(
            {"matchLabels": {"app": "x"}, "matchExpressions": [expression("n", "In", "6")]}, False, id="all must hold"
        ),
    ],
)
def test_label_selector_matches(selector: dict[str, Any] | None, want: bool) -> None:
    typed = None if selector is None else convert(selector, LabelSelector)
    assert parse_label_selector(typed).matches(LABELS) is want


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        pytest.param(expression("a", "Near", "b"), '"Near" is not a valid label selector operator', id="operator"),
        pytest.param(expression("a", "Gt", "1"), '"Gt" is not a valid label selector operator', id="node operator"),
        pytest.param(expression("a", "In"), "values set can't be empty", id="in without values"),
        pytest.param(expression("a", "Exists", "b"), "values set must be empty for exists", id="exists with values"),
        pytest.param(expression("-a", "Exists"), "name part must consist of", id="bad key"),
        pytest.param(expression("a/b/c", "Exists"), "a qualified name must consist of", id="two slashes"),
        pytest.param(expression("/b", "Exists"), "prefix part must be non-empty", id="empty prefix"),
        pytest.param(expression("", "Exists"), "name part must be non-empty", id="empty key"),
        pytest.param(expression("a", "In", "b c"), "a valid label must be an empty string or consist", id="bad value"),
        pytest.param(expression("a", "In", "b" * 64), "must be no more than 63 characters", id="long value"),
        pytest.param(expression("a" * 64, "Exists"), "must be no more than 63 characters", id="long key"),
    ],
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


@pytest.mark.parametrize(
    ("requirement", "want"),
    [
        pytest.param(expression("n", "Gt", "4"), True, id="greater"),
        pytest.param(expression("n", "Gt", "5"), False, id="greater is strict"),
        pytest.param(expression("n", "Lt", "6"), True, id="less"),
        pytest.param(expression("n", "Lt", "5"), False, id="less is strict"),
        pytest.param(expression("app", "Gt", "4"), False, id="label is no number"),
        pytest.param(expression("missing", "Lt", "4"), False, id="label missing"),
        pytest.param(expression("missing", "NotIn", "4"), True, id="not in passes when missing"),
    ],
)
def test_node_requirement_matches(requirement: dict[str, Any], want: bool) -> None:
    term = parse_node_term(convert({"matchExpressions": [requirement]}, NodeSelectorTerm))
    assert term.matches(LABELS, "n1") is want


def field(operator: str, *values: str, key: str = "metadata.name") -> dict[str, Any]:
    return {"matchFields": [expression(key, operator, *values)]}


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param([], False, id="no terms match nothing"),
        pytest.param([{}], False, id="an empty term matches nothing"),
        pytest.param([{}, {"matchExpressions": [expression("app", "Exists")]}], True, id="terms are ORed"),
        pytest.param([field("In", "n1")], True, id="name in"),
        pytest.param([field("In", "n2")], False, id="other name"),
        pytest.param([field("NotIn", "n1")], False, id="name not in"),
        pytest.param([field("In", "x", key="metadata.uid")], False, id="another field reads as empty"),
        pytest.param([field("NotIn", "x", key="metadata.uid")], True, id="another field is not x"),
        pytest.param([{**field("In", "n2"), "matchExpressions": [expression("app", "Exists")]}], False, id="ANDed"),
        pytest.param(
            [{"matchExpressions": [expression("app", "Near")]}, field("In", "n1")],
            True,
            id="a broken term spoils no other",
        ),
        pytest.param([{"matchExpressions": [expression("app", "Near")]}], False, id="a broken term does not match"),
        pytest.param([field("In", "n1", "n2")], False, id="two names are a parse error"),
        pytest.param([field("Exists")], False, id="exists is none of a field's operators"),
    ],
)
def test_node_selector_matches(terms: list[dict[str, Any]], want: bool) -> None:
    selector = parse_node_selector(convert({"nodeSelectorTerms": terms}, NodeSelector))
    assert selector.matches(LABELS, "n1") is want


def test_fields_are_not_asked_of_an_object_without_name() -> None:
    term = parse_node_term(
        convert({**field("In", "n1"), "matchExpressions": [expression("app", "Exists")]}, NodeSelectorTerm)
    )
    assert term.matches(LABELS, "")


@pytest.mark.parametrize(
    ("term", "message"),
    [
        pytest.param(
            {"matchExpressions": [expression("a", "Gt", "x")]},
            "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
            "the value must be an integer",
            id="gt needs a number",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Lt", "1", "2")]},
            "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, "
            "exactly one value is required",
            id="lt takes one value",
        ),
        pytest.param(
            field("In", "a", "b"),
            'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element',
            id="a field takes one value",
        ),
        pytest.param(
            field("Gt", "1"),
            'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Gt": supported values: "In", "NotIn"',
            id="fields know In and NotIn",
        ),
    ],
)
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


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param([], True, id="no terms match all"),
        pytest.param([{}], False, id="a term without expressions matches nothing"),
        pytest.param([{"matchLabelExpressions": [{"key": "app", "values": ["x", "y"]}]}], True, id="value listed"),
        pytest.param([{"matchLabelExpressions": [{"key": "zone", "values": ["x"]}]}], False, id="key missing"),
        pytest.param(
            [{"matchLabelExpressions": [{"key": "app", "values": ["x"]}, {"key": "n", "values": ["6"]}]}],
            False,
            id="every key must be there",
        ),
    ],
)
def test_allowed_topologies_match(terms: list[dict[str, Any]], want: bool) -> None:
    assert topology_terms_match([convert(term, TopologySelectorTerm) for term in terms], LABELS) is want


@pytest.mark.parametrize(
    ("text", "want"),
    [("5", 5), ("-5", -5), ("+5", 5), ("05", 5), ("", None), (" 5", None), ("5.0", None), ("0x5", None), ("1_0", None),
     (str(2**63), None), (str(-(2**63)), -(2**63))],
)  # fmt: skip
def test_label_numbers_are_int64_in_base_ten(text: str, want: int | None) -> None:
    assert int64_of(text) == want
