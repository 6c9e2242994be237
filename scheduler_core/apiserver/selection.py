"""Which objects a list or a watch asks for: selectors of labels and of fields, as queries write them.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/{labels,fields}; pkg/registry/*/strategy.go and
pkg/apis/*/v1/conversion.go for the fields of each kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.api import field_errors
from scheduler_core.api.selectors import int64_of
from scheduler_core.api.syntax import label_value_problem, qualified_name_problem
from scheduler_core.apiserver.kinds import KINDS, Kind
from scheduler_core.apiserver.store import Stored

_TERM: Final = re.compile(r"(?:[^\\,]|\\.|\\$)+", re.DOTALL)  # of a field selector, between commas
_OPERATOR: Final = re.compile("!=|==|=")
_ESCAPED: Final = re.compile(r"\\.?|[,=]", re.DOTALL)
_TOKEN: Final = re.compile(r"!=|==|[!=<>(),]|[^\s!=<>(),]+")
_OPERATORS: Final = ("=", "==", "in", "!=", "notin", ">", "<", "gt", "lt")
_EXPECTED: Final = "in, notin, =, ==, !=, gt, lt"


class SelectionError(Exception):
    """The selector cannot be read; the message is the API server's (400)."""


@dataclass(frozen=True, slots=True)
class LabelTerm:
    """One requirement; `operator` is =, !=, in, notin, exists, !, > or <."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "=" | "==" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
        number, bound = int64_of(value or ""), int64_of(self.values[0])
        if value is None or number is None or bound is None:
            return False
        return number > bound if self.operator == ">" else number < bound


@dataclass(frozen=True, slots=True)
class FieldTerm:
    field: str
    is_equal: bool
    value: str

    @property
    def is_name(self) -> bool:
        """Whether it asks for one name."""
        return self.field == "metadata.name" and self.is_equal


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for; everything of the kind when there are no terms."""

    kind: str
    namespace: str = ""
    labels: tuple[LabelTerm, ...] = ()
    fields: tuple[FieldTerm, ...] = ()
    is_of_cluster: bool = False  # objects of the kind have no namespace
    said_as: tuple[str, str] | None = None  # version and kind of objects of a kind that a cluster defines

    @property
    def has_terms(self) -> bool:
        return bool(self.labels or self.fields)

    @property
    def is_of_one_name(self) -> bool:
        """Whether it is asked for one object by its name, in a namespace unless the kind has none."""
        names = any(term.is_name for term in self.fields)
        return names and (bool(self.namespace) or self.is_of_cluster)

    def matches(self, manifest: Stored) -> bool:
        metadata = manifest["metadata"]
        if self.namespace and metadata.get("namespace") != self.namespace:
            return False
        labels = metadata.get("labels") or {}
        if not all(term.matches(labels) for term in self.labels):
            return False
        return all(
            (field_value(manifest, self.kind, term.field) == term.value) == term.is_equal for term in self.fields
        )


def selection(
    kind: str, namespace: str, label_selector: str, field_selector: str, *, is_new_form: bool = False
) -> Selection:
    """The selection of a query; raises SelectionError. `is_new_form`: of events with the names of events.k8s.io."""
    labels = label_terms(label_selector)
    fields = field_terms(kind, field_selector, is_new_form=is_new_form)
    return Selection(kind, namespace, labels, fields, not KINDS[kind].namespaced)


def custom_selection(
    kind: Kind, namespace: str, label_selector: str, field_selector: str, selectable: Sequence[str]
) -> Selection:
    """The same of a kind that a cluster defines, which says what else can be selected by; raises SelectionError."""
    names = (*(_COMMON if kind.namespaced else _COMMON[:1]), *selectable)
    found = _terms(field_selector)
    for field, _, _ in found:
        if field not in names:
            raise SelectionError(f"field label not supported: {field}")
    fields = tuple(FieldTerm(*term) for term in found)
    said = kind.cls.api_version, kind.said_kind
    return Selection(kind.name, namespace, label_terms(label_selector), fields, not kind.namespaced, said)


def label_terms(text: str) -> tuple[LabelTerm, ...]:
    """The requirements of `app=web,tier notin (a,b),!old`; raises SelectionError."""
    reader = _Tokens(text)
    terms: list[LabelTerm] = []
    if not reader.peek():
        return ()
    while True:
        token = reader.peek()
        if token in ("=", "==", "!=", "(", ")", ",", "<", ">") or not token:
            raise SelectionError(f"found '{token}', expected: !, identifier, or 'end of string'")
        terms.append(_term(reader))
        token = reader.take()
        if not token:
            return tuple(sorted(terms, key=lambda term: term.key))
        if token != ",":
            raise SelectionError(f"found '{token}', expected: ',' or 'end of string'")
        token = reader.peek()
        if token != "!" and (not token or token in "=(),<>" or token in ("==", "!=")):
            raise SelectionError(f"found '{token}', expected: identifier after ','")


def _term(reader: _Tokens) -> LabelTerm:
    if reader.peek() == "!":
        reader.take()
        return _checked(reader.take(), "!", ())
    key = reader.take()
    problem = qualified_name_problem(key)
    if problem is not None:
        raise _unparsed("<nil>", key, problem)
    token = reader.peek()
    if not token or token == ",":
        return _checked(key, "exists", ())
    if token not in _OPERATORS:
        raise SelectionError(f"unable to parse requirement: found '{token}', expected: {_EXPECTED}")
    operator = {"gt": ">", "lt": "<"}.get(reader.take(), token)
    if operator in ("in", "notin"):
        return _checked(key, operator, _values(reader))
    token = reader.peek()
    if not token or token == ",":
        return _checked(key, operator, ("",))
    if token in ("=", "==", "!=", "(", ")", "<", ">", "!"):
        raise SelectionError(f"unable to parse requirement: found '{token}', expected: identifier")
    return _checked(key, operator, (reader.take(),))


def _values(reader: _Tokens) -> tuple[str, ...]:
    token = reader.take()
    if token != "(":
        raise SelectionError(f"unable to parse requirement: found '{token}' expected: '('")
    values: list[str] = []
    expects_value = True
    while True:
        token = reader.take()
        if token == ")":
            if expects_value:
                values.append("")
            return tuple(values)
        if token == ",":
            if expects_value:
                values.append("")
            expects_value = True
        elif not token or not expects_value or token in "=(<>!" or token in ("==", "!="):
            wanted = "',', ')' or identifier" if expects_value else "',' or ')'"
            raise SelectionError(f"unable to parse requirement: found '{token}', expected: {wanted}")
        else:
            values.append(token)
            expects_value = False


def _checked(key: str, operator: str, values: tuple[str, ...]) -> LabelTerm:
    problem = qualified_name_problem(key)
    if problem is not None:
        raise _unparsed("<nil>", key, problem)
    if operator in (">", "<") and int64_of(values[0]) is None:
        raise _unparsed("values[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer")
    for index, value in enumerate(values):
        problem = label_value_problem(value)
        if problem is not None:
            raise _unparsed(f"values[{index}][{key}]", value, problem)
    return LabelTerm(key, operator, values)


def _unparsed(place: str, value: str, detail: str) -> SelectionError:
    return SelectionError(f"unable to parse requirement: {place}: {field_errors.invalid(value, detail)}")


class _Tokens:
    """The words and signs of a selector, one after the other; empty at its end."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._next = 0

    def peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self._next += 1
        return token


def field_terms(kind: str, text: str, *, is_new_form: bool = False) -> tuple[FieldTerm, ...]:
    """The requirements of `metadata.name=a,status.phase!=Running`; raises SelectionError.

    `is_new_form`: events have other names for their fields in events.k8s.io.
    """
    terms = _terms(text)
    names = _NEW_EVENT_FIELDS if is_new_form else {name: name for name in fields_of(kind)} | _OLD_NAMES.get(kind, {})
    for field, _, _ in terms:
        if field not in names:
            raise SelectionError(_unknown_field(kind, field))
    return tuple(FieldTerm(names[field], is_equal, value) for field, is_equal, value in terms)


def _terms(text: str) -> list[tuple[str, bool, str]]:
    """The parts of a selector of fields: (field, whether it has to be equal, value); raises SelectionError."""
    terms = []
    for part in sorted(_TERM.findall(text)):
        match = _OPERATOR.search(part)
        if match is None:
            raise SelectionError(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append((part[: match.start()], match[0] != "!=", _unescaped(part[match.end() :])))
    return terms


def _unescaped(value: str) -> str:
    """The value without the backslashes that mark commas, equals signs and backslashes; raises SelectionError."""
    for match in _ESCAPED.finditer(value):
        found = match[0]
        if found in ",=":
            raise SelectionError(f"invalid field selector: unescaped character in value: {ord(found)}")
        if found[1:] not in ("\\", ",", "="):
            raise SelectionError(f"invalid field selector: invalid escape sequence: {found}")
    return _ESCAPED.sub(lambda match: match[0][1:], value)


def _unknown_field(kind: str, field: str) -> str:
    if kind not in _FIELDS:  # the server's own words, where a group has none
        return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    if kind in _NAMED_WORDS:
        return f'field label "{field}" not supported for {_NAMED_WORDS[kind]}'
    if kind == "ResourceSlice":
        return f"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}"
    return f"field label not supported: {field}"


def fields_of(kind: str) -> tuple[str, ...]:
    """The fields by which objects of the kind can be selected."""
    return (*(_COMMON[:1] if kind in _WITHOUT_NAMESPACE else _COMMON), *_FIELDS.get(kind, ()))


def field_value(manifest: Stored, kind: str, field: str) -> str:
    """A field as text, as selectors compare it; empty when there is none."""
    read = _READERS.get((kind, field))
    if read is not None:
        return read(manifest)
    value: Any = manifest
    for step in field.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _flag(*path: str) -> Callable[[Stored], str]:
    def read(manifest: Stored) -> str:
        value: Any = manifest
        for step in path:
            value = (value or {}).get(step)
        return "true" if value else "false"

    return read


def _number(*path: str) -> Callable[[Stored], str]:
    def read(manifest: Stored) -> str:
        value: Any = manifest
        for step in path:
            value = (value or {}).get(step)
        return str(value or 0)

    return read


_COMMON: Final = ("metadata.name", "metadata.namespace")
# Other kinds without namespaces have the field.
_WITHOUT_NAMESPACE: Final = ("Namespace", "Node", "ResourceSlice", "CertificateSigningRequest")
_OBJECT: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "Pod": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    "Node": ("spec.unschedulable",),
    "Namespace": ("status.phase",),
    "ReplicationController": ("status.replicas",),
    "Job": ("status.successful",),
    "Service": ("spec.clusterIP", "spec.type"),
    "Secret": ("type",),
    "ResourceSlice": ("spec.nodeName", "spec.driver"),
    "CertificateSigningRequest": ("spec.signerName",),
    "Event": (
        *(f"involvedObject.{part}" for part in _OBJECT),
        "reason", "reportingComponent", "source", "type",
    ),
}  # fmt: skip
_READERS: Final[dict[tuple[str, str], Callable[[Stored], str]]] = {
    ("Pod", "spec.hostNetwork"): _flag("spec", "hostNetwork"),
    ("Node", "spec.unschedulable"): _flag("spec", "unschedulable"),
    ("ReplicationController", "status.replicas"): _number("status", "replicas"),
    ("Job", "status.successful"): _number("status", "succeeded"),
    ("Pod", "status.podIPs"): lambda manifest: "",  # selectable, but nobody fills it in
    ("Event", "source"): lambda manifest: str(
        (manifest.get("source") or {}).get("component") or manifest.get("reportingComponent") or ""
    ),
}
_OLD_NAMES: Final = {"Pod": {"spec.host": "spec.nodeName"}}
_NEW_EVENT_FIELDS: Final = {
    **{f"regarding.{part}": f"involvedObject.{part}" for part in _OBJECT},
    "reportingController": "reportingComponent",
    **{name: name for name in ("reason", "source", "type", *_COMMON)},
}
# How the group words it.
_NAMED_WORDS: Final[dict[str, str]] = {"Job": "Job"}
