"""Functions of IP addresses and networks.

Source: kubernetes v1.34.1, apiserver/pkg/cel/library (ip.go, cidr.go, cost.go).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from scheduler_core.cel import addresses
from scheduler_core.cel.addresses import Address, AddressError, Interface
from scheduler_core.cel.functions import function, method, traversal
from scheduler_core.cel.types import CIDR, IP
from scheduler_core.cel.values import EvaluationError


def _read(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except AddressError as error:
        raise EvaluationError(str(error)) from error


def _is_read(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except AddressError:
        return False
    return True


@function("ip", "string", cost=traversal())
def ip(text: str) -> Address:
    found: Address = _read(addresses.address, text)
    return found


@function("isIP", "string", cost=traversal())
def is_ip(text: str) -> bool:
    return _is_read(addresses.address, text)


@function("ip.isCanonical", "string", cost=traversal(2))
def is_canonical(text: str) -> bool:
    return str(ip(text)) == text


@method("family", IP)
def family(value: Address) -> int:
    return value.version


@method("isUnspecified", IP)
def is_unspecified(value: Address) -> bool:
    return value.is_unspecified


@method("isLoopback", IP)
def is_loopback(value: Address) -> bool:
    return value.is_loopback


@method("isLinkLocalMulticast", IP)
def is_link_local_multicast(value: Address) -> bool:
    """224.0.0.0/24, ff02::/16 whatever its flags."""
    packed = value.packed
    return packed[:3] == b"\xe0\x00\x00" if value.version == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 0x02


@method("isLinkLocalUnicast", IP)
def is_link_local_unicast(value: Address) -> bool:
    return value.is_link_local


@method("isGlobalUnicast", IP)
def is_global_unicast(value: Address) -> bool:
    """Private addresses count as global."""
    if value.version == 4 and value.packed == b"\xff\xff\xff\xff":
        return False
    return not (value.is_unspecified or value.is_loopback or value.is_multicast or value.is_link_local)


@function("cidr", "string", cost=traversal())
def cidr(text: str) -> Interface:
    try:
        return addresses.network(text)
    except AddressError as error:
        raise EvaluationError(f"network address parse error during conversion from string: {error}") from error


@function("isCIDR", "string", cost=traversal())
def is_cidr(text: str) -> bool:
    return _is_read(addresses.network, text)


def _tenths(number: int) -> int:
    return math.ceil(number * 0.1)


def _of_address(arguments: Sequence[Any], result: Any) -> int:
    held, other = arguments
    return _tenths(2 * len(held.packed)) + (_tenths(len(other)) if isinstance(other, str) else 0)


def _of_network(arguments: Sequence[Any], result: Any) -> int:
    return _of_address(arguments, result) + _tenths(len(arguments[0].packed)) + 1


@method("containsIP", CIDR, "string", cost=_of_address)
def contains_text(value: Interface, text: str) -> bool:
    return contains(value, ip(text))


@method("containsIP", CIDR, IP, cost=_of_address)
def contains(value: Interface, other: Address) -> bool:
    return other in value.network


@method("containsCIDR", CIDR, "string", cost=_of_network)
def contains_network_text(value: Interface, text: str) -> bool:
    return contains_network(value, cidr(text))


@method("containsCIDR", CIDR, CIDR, cost=_of_network)
def contains_network(value: Interface, other: Interface) -> bool:
    if value.version != other.version or value.network.prefixlen > other.network.prefixlen:
        return False
    return other.network.network_address in value.network


@method("ip", CIDR)
def address_of(value: Interface) -> Address:
    return value.ip


@method("prefixLength", CIDR)
def prefix_length(value: Interface) -> int:
    return value.network.prefixlen


@method("masked", CIDR)
def masked(value: Interface) -> Interface:
    return addresses.network(str(value.network))
