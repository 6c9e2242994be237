"""IP addresses and networks as texts, and why a text is none, in the words of Go.

Source: Go 1.24, net/netip (ParseAddr, ParsePrefix); kubernetes v1.34.1, apiserver/pkg/cel/library (ip.go, cidr.go).
"""

from __future__ import annotations

import ipaddress
import re
import string
from typing import Final

from scheduler_core.cel.semver import quoted

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_HEX: Final = re.compile(r"[0-9a-fA-F]*+", re.ASCII)


class AddressError(ValueError):
    """Why a text is no address or no network."""


def address(text: str) -> Address:
    """An address without a zone; no IPv4 address within an IPv6 one."""
    try:
        found, zone = _parsed(text)
    except AddressError as error:
        told = f"IP Address {quoted(text)} parse error during conversion from string: {error}"
        raise AddressError(told) from error
    if zone:
        raise AddressError(f"IP address {quoted(text)} with zone value is not allowed")
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise AddressError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return found


def network(text: str) -> Interface:
    """An address with the length of a prefix; bits after that may be set."""
    try:
        found = _prefix(text)
    except AddressError as error:
        told = f"netip.ParsePrefix({quoted(text)}): {error}"
        raise AddressError(f"network address parse error during conversion from string: {told}") from error
    if isinstance(found, ipaddress.IPv6Interface) and found.ip.ipv4_mapped is not None:
        raise AddressError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return found


def _prefix(text: str) -> Interface:
    before, slash, bits = text.rpartition("/")
    if not slash:
        raise AddressError("no '/'")
    found, zone = _parsed(before)
    if zone:
        raise AddressError("IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits[0] == "0"):
        raise AddressError(f"bad bits after slash: {quoted(bits)}")
    if len(bits) > 3 or int(bits) > found.max_prefixlen:
        raise AddressError("prefix length out of range")
    return ipaddress.ip_interface(f"{found}/{bits}")


def _parsed(text: str) -> tuple[Address, str]:
    """(the address, its zone)."""
    first = next((sign for sign in text if sign in ".:%"), "")
    if first == ".":
        return ipaddress.IPv4Address(_bytes_of_fields(text, text)), ""
    if first == ":":
        return _parsed_v6(text)
    raise _wrong(text, "missing IPv6 address" if first == "%" else "unable to parse IP")


def _wrong(text: str, message: str, at: str = "") -> AddressError:
    return AddressError(f"ParseAddr({quoted(text)}): {message}{f' (at {quoted(at)})' if at else ''}")


def _bytes_of_fields(whole: str, text: str) -> bytes:
    """The four numbers of an IPv4 address, which may be the end of an IPv6 one."""
    made: list[int] = []
    value, digits = 0, 0
    for place, sign in enumerate(text):
        if sign in string.digits:
            if digits == 1 and value == 0:
                raise _wrong(whole, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(sign), digits + 1
            if value > 255:
                raise _wrong(whole, "IPv4 field has value >255")
        elif sign != ".":
            raise _wrong(whole, "unexpected character", text[place:])
        else:
            if digits == 0 or place == len(text) - 1:
                raise _wrong(whole, "IPv4 field must have at least one digit", text[place:])
            if len(made) == 3:
                raise _wrong(whole, "IPv4 address too long")
            made.append(value)
            value, digits = 0, 0
    if len(made) < 3:
        raise _wrong(whole, "IPv4 address too short")
    return bytes((*made, value))


def _parsed_v6(whole: str) -> tuple[Address, str]:
    text, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _wrong(whole, "zone must be a non-empty string")
    made, gap = b"", -1
    if text.startswith("::"):
        gap, text = 0, text[2:]
    while text and len(made) < 16:
        match = _HEX.match(text)
        digits = match[0] if match is not None else ""
        if len(digits) > 4:
            raise _wrong(whole, "each group must have 4 or less digits", text)
        if not digits:
            raise _wrong(whole, "each colon-separated field must have at least one digit", text)
        if text[len(digits) : len(digits) + 1] == ".":
            if gap < 0 and len(made) != 12:
                told = "embedded IPv4 address must replace the final 2 fields of the address"
                raise _wrong(whole, told, text)
            if len(made) > 12:
                told = "too many hex fields to fit an embedded IPv4 at the end of the address"
                raise _wrong(whole, told, text)
            made, text = made + _bytes_of_fields(whole, text), ""
            break
        made, text = made + int(digits, 16).to_bytes(2, "big"), text[len(digits) :]
        if not text:
            break
        if text[0] != ":":
            raise _wrong(whole, "unexpected character, want colon", text)
        if len(text) == 1:
            raise _wrong(whole, "colon must be followed by more characters", text)
        text = text[1:]
        if text[0] == ":":
            if gap >= 0:
                raise _wrong(whole, "multiple :: in address", text)
            gap, text = len(made), text[1:]
    if text:
        raise _wrong(whole, "trailing garbage after address", text)
    if len(made) < 16:
        if gap < 0:
            raise _wrong(whole, "address string too short")
        made = made[:gap] + bytes(16 - len(made)) + made[gap:]
    elif gap >= 0:
        raise _wrong(whole, "the :: must expand to at least one field of zeros")
    return ipaddress.IPv6Address(made), zone
