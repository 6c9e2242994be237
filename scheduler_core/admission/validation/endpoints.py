"""What is checked of the addresses behind services: Endpoints and EndpointSlices.

Source: kubernetes v1.34.1, pkg/apis/{core,discovery}/validation.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final

from scheduler_core.admission.context import Manifest, Problem, duplicate, invalid, required, too_many
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import named, one_of

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS, _MOST_HINTS, _MOST_LABELS = 1000, 100, 20000, 8, 16


def endpoints_problems(manifest: Manifest) -> Iterator[Problem]:
    for index, subset in enumerate(manifest.get("subsets") or ()):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(at, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or ()):
                yield from _address(f"{at}.{field}[{number}]", address)
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            yield from _port(f"{at}.ports[{number}]", port, needs_name=len(ports) > 1)


def _address(path: str, address: Manifest) -> Iterator[Problem]:
    parsed = formats.sloppy_address(address["ip"])
    if parsed is None:
        yield from named(f"{path}.ip", address["ip"], formats.ip_address(address["ip"]))
    if address.get("hostname"):
        yield from named(f"{path}.hostname", address["hostname"], formats.label(address["hostname"]))
    if "nodeName" in address:
        yield from named(f"{path}.nodeName", address["nodeName"], formats.subdomain(address["nodeName"]))
    if parsed is None:
        yield invalid(f"{path}.ip", address["ip"], "must be a valid IP address")
    else:
        yield from special_address_problems(f"{path}.ip", address["ip"], parsed)


def special_address_problems(path: str, text: str, address: formats.Address) -> Iterator[Problem]:
    """Addresses that mean the machine itself, or its link, are nobody's endpoint."""
    if address.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        yield invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if address in _LINK_MULTICAST.get(address.version, ()):
        yield invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


_LINK_MULTICAST: Final = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


def _port(path: str, port: Manifest, *, needs_name: bool) -> Iterator[Problem]:
    name = port.get("name", "")
    if name:
        yield from named(f"{path}.name", name, formats.label(name))
    elif needs_name:
        yield required(f"{path}.name")
    yield from named(f"{path}.port", port["port"], formats.port_number(port["port"]))
    yield from one_of(f"{path}.protocol", port.get("protocol"), _PROTOCOLS)
    yield from _application(path, port)


def _application(path: str, port: Manifest) -> Iterator[Problem]:
    if "appProtocol" in port:
        yield from named(f"{path}.appProtocol", port["appProtocol"], formats.qualified(port["appProtocol"]))


def endpoint_slice_problems(manifest: Manifest) -> Iterator[Problem]:
    kind = manifest["addressType"]
    yield from one_of("addressType", kind, _ADDRESS_TYPES)
    yield from _slice_ports(manifest["ports"] or [])


def slice_endpoints_problems(manifest: Manifest) -> Iterator[Problem]:
    """Of the endpoints of a slice, which are not looked at in an update that leaves them alone."""
    kind, endpoints = manifest["addressType"], manifest["endpoints"] or []
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        at = f"endpoints[{index}]"
        addresses = endpoint["addresses"] or []
        if not addresses:
            yield required(f"{at}.addresses", "must contain at least 1 address")
        elif len(addresses) > _MOST_ADDRESSES:
            yield too_many(f"{at}.addresses", len(addresses), _MOST_ADDRESSES)
        for number, address in enumerate(addresses):
            yield from _slice_address(f"{at}.addresses", number, address, kind)
        if "nodeName" in endpoint:
            yield from named(f"{at}.nodeName", endpoint["nodeName"], formats.subdomain(endpoint["nodeName"]))
        labels = endpoint.get("deprecatedTopology") or {}
        if len(labels) > _MOST_LABELS:
            yield too_many(f"{at}.deprecatedTopology", len(labels), _MOST_LABELS)
        if "hostname" in endpoint:
            yield from named(f"{at}.hostname", endpoint["hostname"], formats.label(endpoint["hostname"]))
        yield from _hints(f"{at}.hints", endpoint.get("hints") or {})


def _slice_address(path: str, number: int, address: str, kind: str) -> Iterator[Problem]:
    at = f"{path}[{number}]"
    if kind == "FQDN":
        yield from _domain(at, address)
        return
    if kind not in ("IPv4", "IPv6"):
        return
    parsed = formats.sloppy_address(address)
    if parsed is None or (kind == "IPv6" and formats.ip_address(address)):
        yield from named(at, address, formats.ip_address(address))
        return
    if kind == "IPv6" and str(parsed) != address:
        yield invalid(at, address, f'must be in canonical form ("{parsed}")')
        return
    if f"IPv{parsed.version}" != kind:
        yield invalid(path, address, f"must be an {kind} address")
    yield from special_address_problems(at, address, parsed)


def _domain(path: str, name: str) -> Iterator[Problem]:
    if not name:
        yield required(path)
        return
    name = name.removesuffix(".")
    problems = formats.subdomain(name)
    if problems:
        yield invalid(path, name, ",".join(problems))
        return
    parts = name.split(".")
    if len(parts) < 2:
        yield invalid(path, name, "should be a domain with at least two segments separated by dots")
        return
    for part in parts:
        if found := formats.label(part):
            yield invalid(path, part, ",".join(found))
            return


def _slice_ports(ports: list[Manifest]) -> Iterator[Problem]:
    if len(ports) > _MOST_PORTS:
        yield too_many("ports", len(ports), _MOST_PORTS)
        return
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"ports[{index}]", port["name"]
        if name:
            yield from named(f"{at}.name", name, formats.label(name))
        if name in seen:
            yield duplicate(f"{at}.name", name)
        seen.add(name)
        yield from one_of(f"{at}.protocol", port.get("protocol"), _PROTOCOLS)
        yield from _application(at, port)


def _hints(path: str, hints: Manifest) -> Iterator[Problem]:
    for field, check in (("forZones", formats.label_value), ("forNodes", formats.subdomain)):
        names = [one["name"] for one in hints.get(field) or ()]
        if len(names) > _MOST_HINTS:
            yield too_many(f"{path}.{field}", len(names), _MOST_HINTS)
            return
        for index, name in enumerate(names):
            at = f"{path}.{field}[{index}].name"
            if name in names[:index]:
                yield duplicate(at, name)
            yield from named(at, name, check(name))
