"""Problems of names, numbers and paths; each function gives what is wrong in the API server's words, in its order.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/{util,api}/validation.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from scheduler_core.admission.context import Problem, forbidden, invalid, required, too_long, unsupported
from scheduler_core.api.quantity import Quantity, parse
from scheduler_core.api.resources import is_extended
from scheduler_core.api.syntax import (
    dns_1035_problems,
    label_problems,
    label_value_problems,
    port_name_problems,
    qualified_name_problems,
    subdomain_problems,
)

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
IMMUTABLE: Final = "field is immutable"
MAX_INT32: Final = 2**31 - 1
_UNDERSCORES: Final = re.compile(r"[a-z0-9_]([-_a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*", re.ASCII)
_UNDERSCORES_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9_]([-_a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
)
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII)
_CONFIG_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',"
    "  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+", re.ASCII)
_HEADER_TEXT: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
    " validation is '[-A-Za-z0-9]+')"
)
_C_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_C_IDENTIFIER_TEXT: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters"
    " or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_HTTP_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", re.ASCII)
_IP_TEXT: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_CIDR_TEXT: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_WHOLE: Final = frozenset(
    {
        "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
NameProblems = Callable[[str], list[str]]


def subdomain(name: str) -> list[str]:
    return list(subdomain_problems(name))


def label(name: str) -> list[str]:
    return list(label_problems(name))


def dns_1035(name: str) -> list[str]:
    """Names of services."""
    return list(dns_1035_problems(name))


def path_segment(name: str) -> list[str]:
    """What every name must be fit for, whatever its kind."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in name]


def qualified(name: str) -> list[str]:
    return list(qualified_name_problems(name))


def label_value(value: str) -> list[str]:
    return list(label_value_problems(value))


def port_name(name: str) -> list[str]:
    return list(port_name_problems(name))


def subdomain_with_underscore(name: str) -> list[str]:
    problems = ["must be no more than 253 characters"] if len(name) > 253 else []
    return problems if _UNDERSCORES.fullmatch(name) else [*problems, _UNDERSCORES_TEXT]


def config_key(key: str) -> list[str]:
    problems = ["must be no more than 253 characters"] if len(key) > 253 else []
    if not _CONFIG_KEY.fullmatch(key):
        problems.append(_CONFIG_KEY_TEXT)
    if key == ".":
        problems.append("must not be '.'")
    elif key == "..":
        problems.append("must not be '..'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def c_identifier(name: str) -> list[str]:
    return [] if _C_IDENTIFIER.fullmatch(name) else [_C_IDENTIFIER_TEXT]


def header_name(name: str) -> list[str]:
    return [] if _HEADER.fullmatch(name) else [_HEADER_TEXT]


def env_name(name: str) -> list[str]:
    if not name:
        return ["environment variable name must be non-empty"]
    if any(letter < " " or letter > "~" or letter == "=" for letter in name):
        return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
    return []


def ip_address(text: str) -> list[str]:
    return [] if sloppy_address(text) is not None else [_IP_TEXT]


def sloppy_address(text: str) -> Address | None:
    """An address as old objects may have it, with zeros before its numbers; None when it is none."""
    if "." in text and ":" not in text:
        text = ".".join(part.lstrip("0") or part[-1:] for part in text.split("."))
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if getattr(found, "scope_id", None) is not None:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def network(text: str) -> list[str]:
    return [] if sloppy_network(text) is not None else [_CIDR_TEXT]


def sloppy_network(text: str) -> Network | None:
    """A network as old objects may have it, its address maybe one inside; None when it is none."""
    start, _, bits = text.partition("/")
    address = sloppy_address(start)
    if address is None or not (bits.isascii() and bits.isdigit()):
        return None
    try:
        return ipaddress.ip_network(f"{address}/{bits}", strict=False)
    except ValueError:
        return None


def domain_prefixed(path: str, name: str) -> Iterator[Problem]:
    """A name of somebody's, with their domain before it."""
    domain, _, rest = name.partition("/")
    if not name:
        yield required(path)
    elif not domain or not rest:
        yield invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from named(path, domain, subdomain(domain))
        if not _HTTP_PATH.fullmatch(rest):
            yield invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH.pattern}')")


def as_prefix(name: str) -> str:
    """The beginning of a name as a whole one: what follows a dash is still to come."""
    return name[:-1] + "a" if len(name) > 1 and name.endswith("-") else name


def port_number(number: int) -> list[str]:
    return [] if 1 <= number <= 65535 else ["must be between 1 and 65535, inclusive"]


def named(path: str, value: Any, problems: Collection[str]) -> Iterator[Problem]:
    for problem in problems:
        yield invalid(path, value, problem)


def not_negative(path: str, value: int | None) -> Iterator[Problem]:
    if value is not None and value < 0:
        yield invalid(path, value, NOT_NEGATIVE)


def positive(path: str, value: int | None) -> Iterator[Problem]:
    if value is not None and value <= 0:
        yield invalid(path, value, "must be greater than 0")


def one_of(path: str, value: Any, supported: Collection[str], *, is_required: bool = True) -> Iterator[Problem]:
    """An enumeration; empty values are missing ones."""
    if not value and is_required:
        yield required(path)
    elif value and value not in supported:
        yield unsupported(path, value, supported)


def port_or_name(path: str, port: int | str) -> Iterator[Problem]:
    if isinstance(port, int):
        yield from named(path, port, port_number(port))
    else:
        yield from named(path, port, port_name(port))


def descending_path(path: str, value: str) -> Iterator[Problem]:
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from no_backsteps(path, value)


def no_backsteps(path: str, value: str) -> Iterator[Problem]:
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")


def labels(path: str, values: Mapping[str, str] | None) -> Iterator[Problem]:
    for key, value in (values or {}).items():
        yield from named(path, key, qualified(key))
        yield from named(path, value, label_value(value))


def annotation_problems(path: str, values: Mapping[str, str] | None) -> Iterator[Problem]:
    for key in values or ():
        yield from named(path, key, qualified(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in (values or {}).items()) > 262144:
        yield too_long(path, 262144)


def label_selector(path: str, selector: Mapping[str, Any] | None) -> Iterator[Problem]:
    if selector is None:
        return
    yield from labels(f"{path}.matchLabels", selector.get("matchLabels"))
    for index, one in enumerate(selector.get("matchExpressions", ())):
        at = f"{path}.matchExpressions[{index}]"
        values = one.get("values", ())
        if one["operator"] in ("In", "NotIn"):
            if not values:
                yield required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif one["operator"] in ("Exists", "DoesNotExist"):
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield forbidden(f"{at}.values", detail)
        else:
            yield invalid(f"{at}.operator", one["operator"], "not a valid selector operator")
        yield from named(f"{at}.key", one["key"], qualified(one["key"]))
        for number, value in enumerate(values):
            yield from named(f"{at}.values[{number}]", value, label_value(value))


def quantity_value(path: str, name: str, text: str) -> Iterator[Problem]:
    """The amount of a resource: not negative, and whole where it counts something."""
    amount = parse(text)
    if amount.nano < 0:
        yield invalid(path, text, NOT_NEGATIVE)
    if is_integral(name) and amount.nano % 10**9:
        yield invalid(
            path, Quantity.of_milli(amount.milli_value()) if amount.nano % 10**6 else text, "must be an integer"
        )


def is_integral(name: str) -> bool:
    """Resources that are counted: pods and objects, extended resources. Parts of huge pages are not minded here."""
    return name in _WHOLE or is_extended(name)


def immutable(path: str, new: Any, old: Any, shown: Any = None) -> Iterator[Problem]:
    if new != old:
        yield invalid(path, new if shown is None else shown, IMMUTABLE)
