"""Named formats of texts.

Source: kubernetes v1.34.1, apiserver/pkg/cel/library/format.go; apimachinery, pkg/api/validation/generic.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, Final

from scheduler_core.api.syntax import (
    dns_1035_problems,
    label_problems,
    label_value_problems,
    qualified_name_problems,
    subdomain_problems,
)
from scheduler_core.cel import urls
from scheduler_core.cel.functions import function, method, size_of
from scheduler_core.cel.types import FORMAT
from scheduler_core.cel.urls import UrlError
from scheduler_core.cel.values import NONE, Format, Optional

_UUID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?<=.)|(?:[A-Za-z0-9+/]{4})*+[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=)")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:.\d++)?(?:z|([+-])(\d\d):(\d\d))", re.ASCII)

Problems = Callable[[str], Iterable[str]]


def _prefix(problems: Problems) -> Problems:
    """Of a text to which a name will be added: a dash may stand at its end."""
    return lambda text: problems(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)


def _uri(text: str) -> Iterable[str]:
    try:
        urls.checked(text)
    except UrlError as error:
        return (str(error),)
    return ()


def _uuid(text: str) -> Iterable[str]:
    return () if _UUID.fullmatch(text) else ("does not match the UUID format",)


def _byte(text: str) -> Iterable[str]:
    return () if _BASE64.fullmatch(text) else ("invalid base64",)


def _is_date(text: str) -> bool:
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date(int(text[:4]) or 2000, int(text[5:7]), int(text[8:]))
    except ValueError:
        return False
    return True


def _date(text: str) -> Iterable[str]:
    return () if _is_date(text) else ("invalid date",)


def _datetime(text: str) -> Iterable[str]:
    day, sign, rest = text.lower().partition("t")
    match = _TIME.fullmatch(rest.partition("t")[0])
    is_right = bool(sign) and _is_date(day) and match is not None
    if match is not None:
        is_right = is_right and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"
    return () if is_right else ("invalid datetime",)


# Name, what the format calls itself, what is wrong with a text, and for how long a regular expression it counts.
_FORMATS: Final[dict[str, tuple[str, Problems, int]]] = {
    "dns1123Label": ("DNS1123Label", label_problems, 30),
    "dns1123Subdomain": ("DNS1123Subdomain", subdomain_problems, 60),
    "dns1035Label": ("DNS1035Label", dns_1035_problems, 30),
    "qualifiedName": ("QualifiedName", qualified_name_problems, 60),
    "dns1123LabelPrefix": ("DNS1123LabelPrefix", _prefix(label_problems), 30),
    "dns1123SubdomainPrefix": ("DNS1123SubdomainPrefix", _prefix(subdomain_problems), 60),
    "dns1035LabelPrefix": ("DNS1035LabelPrefix", _prefix(dns_1035_problems), 30),
    "labelValue": ("LabelValue", label_value_problems, 40),
    "uri": ("URI", _uri, 1103),
    "uuid": ("uuid", _uuid, 70),
    "byte": ("byte", _byte, 84),
    "date": ("date", _date, 71),
    "datetime": ("datetime", _datetime, 71),
}


def _declare(name: str) -> None:
    @function(f"format.{name}")
    def known() -> Format:
        return Format(name)


for _name in _FORMATS:
    _declare(_name)


@function("format.named", "string")
def named(name: str) -> Optional:
    return Optional(True, Format(name)) if name in _FORMATS else NONE


def _of_validation(arguments: Sequence[Any], result: Any) -> int:
    held, text = arguments
    return math.ceil((1 + size_of(text)) * 0.1) * math.ceil(_FORMATS[held.name][2] * 0.25)


@method("validate", FORMAT, "string", cost=_of_validation)
def validate(held: Format, text: str) -> Optional:
    problems = tuple(_FORMATS[held.name][1](text))
    return Optional(True, problems) if problems else NONE
