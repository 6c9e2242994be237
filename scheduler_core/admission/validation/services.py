"""What is checked of services.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.containers import PROTOCOLS
from scheduler_core.admission.validation.endpoints import special_address_problems
from scheduler_core.admission.validation.formats import named, one_of
from scheduler_core.api.schema import internal_text

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_FAMILIES: Final = ("IPv4", "IPv6")
_FAMILY_POLICIES: Final = ("SingleStack", "PreferDualStack", "RequireDualStack")
_TRAFFIC: Final = ("Cluster", "Local")
_MAX_SECONDS: Final = 86400


def service_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    kind, ports = spec.get("type", ""), spec.get("ports", [])
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and headless:
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    elif kind == "ExternalName":
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field):
                yield forbidden(f"spec.{field}", "may not be set for ExternalName services")
        name = spec.get("externalName", "").removesuffix(".")
        if name:
            yield from named("spec.externalName", name, formats.subdomain(name))
        else:
            yield required("spec.externalName")
    yield from _ports(ports)
    yield from formats.labels("spec.selector", spec.get("selector"))
    affinity = spec.get("sessionAffinity")
    yield from one_of("spec.sessionAffinity", affinity, _AFFINITIES)
    if affinity == "ClientIP":
        seconds = spec.get("sessionAffinityConfig", {}).get("clientIP", {}).get("timeoutSeconds")
        if seconds is None or not 0 < seconds <= _MAX_SECONDS:
            at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            yield invalid(at, seconds, f"must be greater than 0 and less than {_MAX_SECONDS}")
    yield from _addresses(spec)
    yield from one_of("spec.type", kind, _TYPES)
    yield from _port_numbers(kind, ports)
    yield from _load_balancer(spec, kind)
    yield from _traffic(spec, kind)


def _ports(ports: list[Manifest]) -> Iterator[Problem]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"spec.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{at}.name")
        elif name:
            yield from named(f"{at}.name", name, formats.label(name))
            if name in names:
                yield duplicate(f"{at}.name", name)
            names.add(name)
        yield from named(f"{at}.port", port["port"], formats.port_number(port["port"]))
        yield from one_of(f"{at}.protocol", port.get("protocol"), PROTOCOLS)
        yield from formats.port_or_name(f"{at}.targetPort", port["targetPort"])
        if "appProtocol" in port:
            yield from named(f"{at}.appProtocol", port["appProtocol"], formats.qualified(port["appProtocol"]))


def _port_numbers(kind: str, ports: list[Manifest]) -> Iterator[Problem]:
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    seen: set[Any] = set()
    for index, port in enumerate(ports):
        pair = (port.get("protocol"), port.get("nodePort"))
        if port.get("nodePort"):
            if pair in seen:
                yield duplicate(f"spec.ports[{index}].nodePort", port["nodePort"])
            seen.add(pair)
    seen = set()
    for index, port in enumerate(ports):
        pair = (port.get("protocol"), port["port"])
        if pair in seen:
            text = Shown(internal_text({"protocol": pair[0], "port": pair[1]}, "core.ServicePort"))
            yield duplicate(f"spec.ports[{index}]", text)
        seen.add(pair)


def _addresses(spec: Manifest) -> Iterator[Problem]:
    addresses, families = spec.get("clusterIPs", []), spec.get("ipFamilies", [])
    if spec.get("type") == "ExternalName":
        return
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            yield unsupported(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        if family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        yield unsupported("spec.ipFamilyPolicy", policy, sorted(_FAMILY_POLICIES))
    yield from _cluster_addresses(addresses, families)
    for index, address in enumerate(spec.get("externalIPs", ())):
        at, parsed = f"spec.externalIPs[{index}]", formats.sloppy_address(address)
        if parsed is None:
            yield from named(at, address, formats.ip_address(address))
        else:
            yield from special_address_problems(at, address, parsed)


def _cluster_addresses(addresses: list[str], families: list[str]) -> Iterator[Problem]:
    """Two at most, one of each family; `None` stands alone."""
    path, parsed = "spec.clusterIPs", [formats.sloppy_address(address) for address in addresses]
    is_headless = addresses[:1] == ["None"]
    if is_headless and len(addresses) > 1:
        yield invalid(path, addresses, "'None' must be the first and only value")
    for index, address in enumerate(addresses):
        if not (is_headless and index == 0):
            yield from named(f"{path}[{index}]", address, formats.ip_address(address))
    if len(addresses) > 2:
        yield invalid(path, addresses, "may only hold up to 2 values")
    if is_headless or None in parsed:
        return
    if len(addresses) > 1 and len({address.version for address in parsed if address}) < 2:
        yield invalid(path, addresses, "may specify no more than one IP for each IP family")
    for index, (text, found, family) in enumerate(zip(addresses, parsed, families, strict=False)):
        if family in _FAMILIES and found is not None and family != f"IPv{found.version}":
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"{path}[{index}]", text, detail)


def _load_balancer(spec: Manifest, kind: str) -> Iterator[Problem]:
    only = "may only be used when `type` is 'LoadBalancer'"
    ranges = spec.get("loadBalancerSourceRanges", ())
    if ranges and kind != "LoadBalancer":
        yield forbidden("spec.LoadBalancerSourceRanges", only)
    for index, text in enumerate(ranges):
        problems = formats.network(text.strip())
        yield from named(f"spec.LoadBalancerSourceRanges[{index}]", text.strip(), problems)
    if "allocateLoadBalancerNodePorts" in spec and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", only)
    if "loadBalancerClass" in spec:
        name = spec["loadBalancerClass"]
        if kind != "LoadBalancer":
            yield forbidden("spec.loadBalancerClass", only)
        yield from named("spec.loadBalancerClass", name, formats.qualified(name))


def _traffic(spec: Manifest, kind: str) -> Iterator[Problem]:
    external, internal = spec.get("externalTrafficPolicy"), spec.get("internalTrafficPolicy")
    is_open = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    if not is_open:
        if external:
            detail = "may only be set for externally-accessible services"
            yield invalid("spec.externalTrafficPolicy", external, detail)
    elif external and external not in _TRAFFIC:
        yield unsupported("spec.externalTrafficPolicy", external, _TRAFFIC)
    health = spec.get("healthCheckNodePort", 0)
    if health and not (kind == "LoadBalancer" and external == "Local"):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", health, detail)
    if internal is not None and internal not in _TRAFFIC:
        yield unsupported("spec.internalTrafficPolicy", internal, _TRAFFIC)
    distribution = spec.get("trafficDistribution")
    supported = ("PreferClose", "PreferSameNode", "PreferSameZone")
    if distribution is not None and distribution not in supported:
        yield unsupported("spec.trafficDistribution", distribution, supported)
