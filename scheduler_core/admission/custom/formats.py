"""Formats of texts that are checked; others are not looked at.

Source: kube-openapi, pkg/validation/strfmt.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from scheduler_core.api.schema.moments import in_utc
from scheduler_core.cel.times import TimeError, parse_duration

_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_HEX_COLOR: Final = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")


def _is_time(text: str) -> bool:
    with suppress(ValueError):
        in_utc(text, digits=0)
        return True
    return False


def _is_date(text: str) -> bool:
    with suppress(ValueError):
        return bool(date.fromisoformat(text)) and len(text) == len("2006-01-02")
    return False


def _is_duration(text: str) -> bool:
    with suppress(TimeError):
        parse_duration(text)
        return True
    return False


def _is_bytes(text: str) -> bool:
    with suppress(binascii.Error, ValueError):
        base64.b64decode(text, validate=True)
        return True
    return False


def _is_address(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        with suppress(ValueError):
            return ipaddress.ip_address(text).version == version
        return False

    return check


def _is_network(text: str) -> bool:
    with suppress(ValueError):
        return "/" in text and bool(ipaddress.ip_network(text, strict=False))
    return False


def _is_uri(text: str) -> bool:
    with suppress(ValueError):
        return bool(urlsplit(text).scheme) or text.startswith("/")
    return False


def _whole(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


# By name, without its strokes.
FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "datetime": _is_time,
    "date": _is_date,
    "duration": _is_duration,
    "byte": _is_bytes,
    "ipv4": _is_address(4),
    "ipv6": _is_address(6),
    "cidr": _is_network,
    "uri": _is_uri,
    "email": _whole(_EMAIL),
    "hexcolor": _whole(_HEX_COLOR),
    **dict.fromkeys(("uuid", "uuid3", "uuid4", "uuid5"), _whole(_UUID)),
}
