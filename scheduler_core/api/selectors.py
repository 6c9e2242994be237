"""Label and node selectors, parsed once and matched often.

A parsed selector shows its `requirements`, each a question to a single label value (`accepts`), so that a table
can ask it once per distinct value instead of once per object. What cannot be parsed is a `SelectorError`; node
selector terms keep theirs and never match. Source: Kubernetes 1.34, apimachinery pkg/labels, component-helpers
scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from scheduler_core.api import field_errors
from scheduler_core.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from scheduler_core.api.meta import LabelSelector
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import TopologySelectorTerm
from scheduler_core.api.syntax import label_value_problem, qualified_name_problem

Labels = Mapping[str, str]

NAME_FIELD: Final = "metadata.name"
_INT64 = re.compile(r"[+-]?\d+", re.ASCII)


class SelectorError(ValueError):
    """The selector cannot be parsed; the text is upstream's."""


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_LABEL_OPERATORS: Final = {
    op.value: op for op in (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
}
_NODE_OPERATORS: Final = {op.value: op for op in Operator}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One question to one label. `values` keep the written order; `bound` is the number of Gt and Lt."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    bound: int = 0

    def accepts(self, value: str | None) -> bool:
        """Whether a label of this value passes; None stands for a label that is not there."""
        if self.operator == Operator.IN:  # nearly all there are
            return value in self.values
        match self.operator:
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        number = None if value is None else int64_of(value)
        if number is None:
            return False
        return number > self.bound if self.operator is Operator.GT else number < self.bound

    def matches(self, labels: Labels) -> bool:
        return self.accepts(labels.get(self.key))

    def __str__(self) -> str:
        """As kubectl takes it."""
        match self.operator:
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.lower()} ({', '.join(self.values)})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
        return f"{self.key} {'>' if self.operator is Operator.GT else '<'} {self.bound}"


@dataclass(frozen=True, slots=True)
class LabelSelectorMatcher:
    """A parsed label selector: all requirements must hold; `nothing` is the selector that was absent."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """Present without any requirement: matches everything, which some rules treat as not set."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Labels) -> bool:
        if self.nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110 - a loop takes half the time, and this is asked a lot
            if not requirement.accepts(labels.get(requirement.key)):
                return False
        return True

    def __str__(self) -> str:
        """As kubectl takes it; empty for what matches everything."""
        return "(nothing)" if self.nothing else ",".join(map(str, self.requirements))

    def extended(self, requirements: Iterable[Requirement]) -> LabelSelectorMatcher:
        """The selector with more requirements; nothing stays nothing."""
        return self if self.nothing else LabelSelectorMatcher((*self.requirements, *requirements))


NOTHING: Final = LabelSelectorMatcher(nothing=True)
EVERYTHING: Final = LabelSelectorMatcher()


def parse_label_selector(selector: LabelSelector | None) -> LabelSelectorMatcher:
    """The parsed selector; an absent one matches nothing. Raises SelectorError."""
    if selector is None:
        return NOTHING
    pairs = selector.match_labels or {}
    expressions = selector.match_expressions or ()
    if not pairs and not expressions:
        return EVERYTHING
    requirements = [_checked(key, Operator.IN, (value,)) for key, value in sorted(pairs.items())]
    for expression in expressions:
        operator = _LABEL_OPERATORS.get(expression.operator)
        if operator is None:
            raise SelectorError(f'"{expression.operator}" is not a valid label selector operator')
        requirements.append(_checked(expression.key, operator, expression.values or ()))
    return LabelSelectorMatcher(tuple(requirements))


def selector_from_map(pairs: Labels) -> LabelSelectorMatcher:
    """A map selector (Service, ReplicationController): equality on all pairs, nothing validated."""
    return LabelSelectorMatcher(tuple(Requirement(key, Operator.IN, (pairs[key],)) for key in sorted(pairs)))


def selects_map(pairs: Labels, labels: Labels) -> bool:
    """Whether the labels carry every pair, as `spec.nodeSelector` asks."""
    return all(labels.get(key) == value for key, value in pairs.items())


@dataclass(frozen=True, slots=True)
class NodeTermMatcher:
    """One term of a node selector. `fields` ask `metadata.name` (any other field reads as empty text).

    A term with an error, and a term without any requirement, matches nothing.
    """

    requirements: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.requirements and not self.fields and not self.errors

    def matches(self, labels: Labels, name: str) -> bool:
        """With an empty name the fields are not asked."""
        if self.errors or self.is_empty:
            return False
        if not all(requirement.accepts(labels.get(requirement.key)) for requirement in self.requirements):
            return False
        return not name or all(field.accepts(name if field.key == NAME_FIELD else "") for field in self.fields)


@dataclass(frozen=True, slots=True)
class NodeSelectorMatcher:
    """Any term may match; no terms match nothing."""

    terms: tuple[NodeTermMatcher, ...] = ()

    @property
    def errors(self) -> tuple[str, ...]:
        """What is wrong in any of the terms, with paths below `nodeSelectorTerms`."""
        return tuple(
            f"nodeSelectorTerms[{index}].{error}" for index, term in enumerate(self.terms) for error in term.errors
        )

    def matches(self, labels: Labels, name: str) -> bool:
        return any(term.matches(labels, name) for term in self.terms)

    def matches_node(self, node: Node) -> bool:
        return self.matches(node.labels, node.name)


@dataclass(frozen=True, slots=True)
class PreferredTermMatcher:
    weight: int
    term: NodeTermMatcher


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """What a pod requires of its node: all of `node_selector`, and the affinity's selector if there is one."""

    node_selector: Mapping[str, str]
    affinity: NodeSelectorMatcher | None

    def matches(self, labels: Labels, name: str) -> bool:
        if self.node_selector and not selects_map(self.node_selector, labels):
            return False
        return self.affinity is None or self.affinity.matches(labels, name)

    def matches_node(self, node: Node) -> bool:
        return self.matches(node.labels, node.name)


def parse_node_selector(selector: NodeSelector) -> NodeSelectorMatcher:
    """The parsed selector; terms that cannot be parsed carry their errors."""
    return NodeSelectorMatcher(tuple(parse_node_term(term) for term in selector.node_selector_terms))


def parse_node_term(term: NodeSelectorTerm) -> NodeTermMatcher:
    requirements: list[Requirement] = []
    fields: list[Requirement] = []
    errors: list[str] = []
    for index, expression in enumerate(term.match_expressions or ()):
        try:
            requirements.append(_node_requirement(expression))
        except SelectorError as error:
            errors.append(f"matchExpressions[{index}].{error}")
    for index, expression in enumerate(term.match_fields or ()):
        try:
            fields.append(_field_requirement(expression))
        except SelectorError as error:
            errors.append(f"matchFields[{index}].{error}")
    return NodeTermMatcher(tuple(requirements), tuple(fields), tuple(errors))


def parse_preferred_terms(terms: Iterable[PreferredSchedulingTerm]) -> tuple[PreferredTermMatcher, ...]:
    """The terms that can score: weight 0 and empty terms are left out. Raises SelectorError with every problem."""
    parsed: list[PreferredTermMatcher] = []
    errors: list[str] = []
    for index, preferred in enumerate(terms):
        term = parse_node_term(preferred.preference)
        if preferred.weight == 0 or term.is_empty:
            continue
        errors += [f"[{index}].{error}" for error in term.errors]
        parsed.append(PreferredTermMatcher(preferred.weight, term))
    if errors:
        raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return tuple(parsed)


def preferred_score(terms: Iterable[PreferredTermMatcher], labels: Labels, name: str) -> int:
    """The weights of the matching terms, added up."""
    return sum(preferred.weight for preferred in terms if preferred.term.matches(labels, name))


def required_node_affinity(pod: Pod) -> RequiredNodeAffinity:
    """`spec.nodeSelector` and the required node affinity of a pod, parsed."""
    affinity = pod.spec.affinity
    node_affinity = affinity.node_affinity if affinity is not None else None
    required = node_affinity.required_during_scheduling_ignored_during_execution if node_affinity is not None else None
    return RequiredNodeAffinity(
        pod.spec.node_selector or {}, parse_node_selector(required) if required is not None else None
    )


def topology_terms_match(terms: Iterable[TopologySelectorTerm] | None, labels: Labels) -> bool:
    """`allowedTopologies` of a storage class: no terms match all nodes, a term without expressions none."""
    listed = tuple(terms or ())
    return not listed or any(_topology_term_matches(term, labels) for term in listed)


def int64_of(text: str) -> int | None:
    """The number a label value spells in base 10, None when it is none or does not fit 64 bits."""
    if len(text) > 64 or _INT64.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _topology_term_matches(term: TopologySelectorTerm, labels: Labels) -> bool:
    expressions = term.match_label_expressions or ()
    return bool(expressions) and all(labels.get(one.key) in one.values for one in expressions)


def _node_requirement(expression: NodeSelectorRequirement) -> Requirement:
    operator = _NODE_OPERATORS.get(expression.operator)
    if operator is None:
        raise _unsupported(expression, _NODE_OPERATORS)
    return _checked(expression.key, operator, expression.values or ())


def _field_requirement(expression: NodeSelectorRequirement) -> Requirement:
    values = expression.values or ()
    operator = _NODE_OPERATORS.get(expression.operator)
    if operator not in (Operator.IN, Operator.NOT_IN):
        raise _unsupported(expression, (Operator.IN, Operator.NOT_IN))
    if len(values) != 1:
        raise _invalid("values", values, "must have one element")
    return Requirement(expression.key, operator, tuple(values))


def _unsupported(expression: NodeSelectorRequirement, supported: Iterable[str]) -> SelectorError:
    return SelectorError(f"operator: {field_errors.unsupported(expression.operator, supported)}")


def _checked(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    """A requirement that satisfies the syntax of labels. Raises SelectorError."""
    problem = qualified_name_problem(key)
    if problem is not None:
        raise _invalid("key", key, problem)
    bound = 0
    if operator in (Operator.IN, Operator.NOT_IN):
        if not values:
            raise _invalid("values", values, "for 'in', 'notin' operators, values set can't be empty")
    elif operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        if values:
            raise _invalid("values", values, "values set must be empty for exists and does not exist")
    else:
        if len(values) != 1:
            raise _invalid("values", values, "for 'Gt', 'Lt' operators, exactly one value is required")
        number = int64_of(values[0])
        if number is None:
            raise _invalid("values[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer")
        bound = number
    for index, value in enumerate(values):
        problem = label_value_problem(value)
        if problem is not None:
            raise _invalid(f"values[{index}][{key}]", value, problem)
    return Requirement(key, operator, values, bound)


def _invalid(place: str, value: Any, detail: str) -> SelectorError:
    """No values at all are null, as they are in Go."""
    return SelectorError(f"{place}: {field_errors.invalid(value if value != () else None, detail)}")
