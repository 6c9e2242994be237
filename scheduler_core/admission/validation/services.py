"""What is checked of services.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"
_KEPT: Final = "may not change once set"
_MAX_SECONDS: Final = 86400


def service_problems(manifest: Manifest) -> Iterator[Problem]:
    spec, annotations = manifest["spec"], manifest["metadata"].get("annotations") or {}
    kind, ports = spec.get("type", ""), spec.get("ports", [])
    if annotations.get(_HINTS, annotations.get(_MODE)) != annotations.get(_MODE, annotations.get(_HINTS)):
        detail = f"must match annotations[{_HINTS}] when both are specified"
        yield invalid(f"metadata.annotations[{_MODE}]", annotations[_MODE], detail)
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
    yield from _external_addresses(spec.get("externalIPs", ()))
    yield from one_of("spec.type", kind, _TYPES)
    yield from _port_numbers(kind, ports)
    yield from _source_ranges(spec, annotations)
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


def _external_addresses(addresses: Sequence[str]) -> Iterator[Problem]:
    for index, address in enumerate(addresses):
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


def _source_ranges(spec: Manifest, annotations: Mapping[str, str]) -> Iterator[Problem]:
    """Whom a load balancer lets in: the field counts, or else the annotation of before it."""
    ranges, noted = spec.get("loadBalancerSourceRanges", ()), annotations.get(_RANGES)
    path = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{_RANGES}]"
    if (ranges or noted is not None) and spec.get("type") != "LoadBalancer":
        yield forbidden(path, _ONLY_BALANCED)
    for index, text in enumerate(ranges):
        yield from named(f"{path}[{index}]", text.strip(), formats.network(text.strip()))
    if not ranges and noted is not None and noted.strip():
        for text in noted.strip().split(","):
            yield from named(path, text.strip(), formats.network(text.strip()))


def _load_balancer(spec: Manifest, kind: str) -> Iterator[Problem]:
    if "allocateLoadBalancerNodePorts" in spec and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED)
    if "loadBalancerClass" in spec:
        name = spec["loadBalancerClass"]
        if kind != "LoadBalancer":
            yield forbidden("spec.loadBalancerClass", _ONLY_BALANCED)
        else:
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
    elif health:
        yield from named("spec.healthCheckNodePort", health, formats.port_number(health))
    if internal is not None and internal not in _TRAFFIC:
        yield unsupported("spec.internalTrafficPolicy", internal, _TRAFFIC)
    distribution = spec.get("trafficDistribution")
    supported = ("PreferClose", "PreferSameNode", "PreferSameZone")
    if distribution is not None and distribution not in supported:
        yield unsupported("spec.trafficDistribution", distribution, supported, is_plain=True)


def service_change_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    """Of a service that replaces another."""
    spec, before = new["spec"], old["spec"]
    if "ExternalName" not in (spec["type"], before["type"]):
        yield from _kept_addresses(spec, before)
        yield from _kept_families(spec, before)
    classes = [each.get("loadBalancerClass") for each in (spec, before)]
    if spec["type"] == before["type"] == "LoadBalancer" and classes[0] != classes[1]:
        yield invalid("spec.loadBalancerClass", classes[0], _KEPT)
    checked = [
        each["type"] == "LoadBalancer" and each.get("externalTrafficPolicy") == "Local" for each in (spec, before)
    ]
    if all(checked) and spec.get("healthCheckNodePort", 0) != before.get("healthCheckNodePort", 0):
        yield forbidden("spec.healthCheckNodePort", formats.IMMUTABLE)


def _kept_addresses(spec: Manifest, before: Manifest) -> Iterator[Problem]:
    ours, theirs = spec.get("clusterIPs", []), before.get("clusterIPs", [])
    if ours == theirs == ["None"]:
        return
    if len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if one != other:
                yield invalid(f"spec.clusterIPs[{index}]", ours, _KEPT)
        return
    if theirs and not ours:
        yield invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset")
    elif theirs and ours[0] != theirs[0]:
        yield invalid("spec.clusterIPs[0]", ours, _KEPT)
    if len(theirs) > len(ours) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), detail)


def _kept_families(spec: Manifest, before: Manifest) -> Iterator[Problem]:
    """Headless services may change them."""
    ours, theirs = spec.get("ipFamilies", []), before.get("ipFamilies", [])
    addresses = spec.get("clusterIPs")
    if ["None"] in (addresses, before.get("clusterIPs")):
        return
    path, shown = "spec.ipFamilies[0]", ours or None
    if len(ours) == len(theirs):
        yield from [invalid(path, shown, _KEPT)] * sum(one != other for one, other in zip(ours, theirs, strict=True))
        return
    if len(theirs) > len(ours) and not addresses:
        yield invalid(path, shown, "primary ipFamily can not be unset")
    if ours and theirs and ours[0] != theirs[0]:
        yield invalid(path, addresses, _KEPT)  # as the server has it: the addresses are shown
    if len(theirs) > len(ours) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), detail)
