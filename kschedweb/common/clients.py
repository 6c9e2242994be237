"""Which address a request comes from, when there are proxies in between.

X-Forwarded-For can be written by anybody: it is read from its end, and only past the proxies that KSCHED_PROXIES names.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from django.conf import settings


def client_address(meta: Mapping[str, Any]) -> str:
    """The nearest address that is none of our proxies; empty when the server does not know it."""
    hops = [hop.strip() for hop in meta.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    address: str = meta.get("REMOTE_ADDR") or ""
    while _is_proxy(address) and hops and _is_address(hops[-1]):
        address = hops.pop()
    return address


def _is_proxy(text: str) -> bool:
    return _is_address(text) and any(ip_address(text) in network for network in settings.PROXIES)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
