"""Which names, label keys and label values Kubernetes accepts.

Each function returns what is wrong in the API server's words: `…_problems` everything, `…_problem` the first or None.
Source: apimachinery of Kubernetes 1.34, pkg/util/validation.
"""

from __future__ import annotations

import re
from typing import Final

from scheduler_core.api.text_cache import cached_by_text

_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_PORT_NAME = re.compile(r"[-a-z0-9]+", re.ASCII)
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)

_NAME_PART_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_QUALIFIED_TEXT: Final = (
    "a qualified name " + _NAME_PART_TEXT + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_DNS_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@cached_by_text(16_384, longest=128)
def qualified_name_problems(name: str) -> tuple[str, ...]:
    """Label keys, resource names, scheduling gates: `name` or `prefix/name`."""
    parts = name.split("/")
    if len(parts) > 2:
        return (_QUALIFIED_TEXT,)
    problems: list[str] = []
    if len(parts) == 2:
        of_prefix = subdomain_problems(parts[0]) if parts[0] else ("must be non-empty",)
        problems += [f"prefix part {problem}" for problem in of_prefix]
    last = parts[-1]
    if not last:
        problems.append("name part must be non-empty")
    elif len(last.encode()) > 63:
        problems.append("name part must be no more than 63 characters")
    if _NAME_PART.fullmatch(last) is None:
        problems.append(f"name part {_NAME_PART_TEXT}")
    return tuple(problems)


def qualified_name_problem(name: str) -> str | None:
    return next(iter(qualified_name_problems(name)), None)


@cached_by_text(16_384)
def label_value_problems(value: str) -> tuple[str, ...]:
    """Values of labels; an empty one is valid."""
    is_formed = not value or _NAME_PART.fullmatch(value) is not None
    return (*_too_long(value, 63), *(() if is_formed else (_VALUE_TEXT,)))


def label_value_problem(value: str) -> str | None:
    return next(iter(label_value_problems(value)), None)


def label_problems(name: str) -> tuple[str, ...]:
    """Names of namespaces, containers, volumes: one DNS label."""
    problems = _too_long(name, 63)
    if _LABEL.fullmatch(name) is not None:
        return problems
    # A subdomain that is no label has more than one part.
    return (*problems, "must not contain dots" if _SUBDOMAIN.fullmatch(name) is not None else _LABEL_TEXT)


def label_problem(name: str) -> str | None:
    return next(iter(label_problems(name)), None)


def subdomain_problems(name: str) -> tuple[str, ...]:
    """Names of most objects."""
    return (*_too_long(name, 253), *(() if _SUBDOMAIN.fullmatch(name) is not None else (_SUBDOMAIN_TEXT,)))


def subdomain_problem(name: str) -> str | None:
    return next(iter(subdomain_problems(name)), None)


def dns_1035_problems(name: str) -> tuple[str, ...]:
    """Names of services."""
    return (*_too_long(name, 63), *(() if _DNS_1035.fullmatch(name) is not None else (_DNS_1035_TEXT,)))


def port_name_problems(name: str) -> tuple[str, ...]:
    """Names of container ports."""
    problems = list(_too_long(name, 15))
    if _PORT_NAME.fullmatch(name) is None:
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= letter <= "z" for letter in name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return tuple(problems)


def _too_long(text: str, most: int) -> tuple[str, ...]:
    return (f"must be no more than {most} characters",) if len(text.encode()) > most else ()
