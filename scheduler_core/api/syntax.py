"""Which names, label keys and label values Kubernetes accepts.

Each function returns what is wrong, in the API server's words, or None.
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


@cached_by_text(16_384, longest=128)
def qualified_name_problem(name: str) -> str | None:
    """Label keys, resource names, scheduling gates: `name` or `prefix/name`."""
    parts = name.split("/")
    if len(parts) > 2:
        return _QUALIFIED_TEXT
    if len(parts) == 2:
        if not parts[0]:
            return "prefix part must be non-empty"
        problem = subdomain_problem(parts[0])
        if problem is not None:
            return f"prefix part {problem}"
    last = parts[-1]
    if not last:
        return "name part must be non-empty"
    if len(last) > 63:
        return "name part must be no more than 63 characters"
    if _NAME_PART.fullmatch(last) is None:
        return f"name part {_NAME_PART_TEXT}"
    return None


@cached_by_text(16_384)
def label_value_problem(value: str) -> str | None:
    """Values of labels; an empty one is valid."""
    if len(value) > 63:
        return "must be no more than 63 characters"
    return _VALUE_TEXT if value and _NAME_PART.fullmatch(value) is None else None


def label_problem(name: str) -> str | None:
    """Names of namespaces, containers, volumes: one DNS label."""
    if len(name) > 63:
        return "must be no more than 63 characters"
    return _LABEL_TEXT if _LABEL.fullmatch(name) is None else None


def subdomain_problem(name: str) -> str | None:
    """Names of most objects."""
    if len(name) > 253:
        return "must be no more than 253 characters"
    return _SUBDOMAIN_TEXT if _SUBDOMAIN.fullmatch(name) is None else None


def port_name_problem(name: str) -> str | None:
    """Names of container ports."""
    if len(name) > 15:
        return "must be no more than 15 characters"
    if _PORT_NAME.fullmatch(name) is None:
        return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not any("a" <= letter <= "z" for letter in name):
        return "must contain at least one letter (a-z)"
    if "--" in name:
        return "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        return "must not begin or end with a hyphen"
    return None
