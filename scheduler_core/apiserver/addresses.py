"""Addresses and ports of services: what a new or changed service gets, and what it may not have.

The cluster has one range of IPv4 addresses. A draw follows from the service's uid; a taken address gives the next one.
Source: kubernetes v1.34.1, pkg/registry/core/service/{ipallocator,portallocator,storage}.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Set
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, invalid, refuse
from scheduler_core.apiserver.store import Stored

RANGE: Final = ipaddress.IPv4Network("10.96.0.0/16")
NODE_PORTS: Final = range(30000, 32768)
_OPEN: Final = ("NodePort", "LoadBalancer")
_FAMILY_FIELDS: Final = ("ipFamilies", "ipFamilyPolicy")


class Addresses:
    """What the services of a cluster hold.

    A dry run takes nothing, so nothing free is looked for: what it shows is the same each time, and no address or port
    that a service can have. `takes_all`: services come from clusters with ranges of their own, and keep what they have.
    """

    def __init__(self, services: Iterable[Stored], *, is_dry_run: bool = False, takes_all: bool = False) -> None:
        self._is_dry_run = is_dry_run
        self._takes_all = takes_all
        self._addresses: set[str] = set()
        self._ports: set[int] = set()
        for service in services:
            self._hold(service["spec"])

    def allocate(self, service: Manifest, old: Manifest | None) -> None:
        """Give the service what it lacks, in place; raises AdmissionError for what is taken or out of range."""
        spec, before = service["spec"], (old or {}).get("spec", {})
        if spec["type"] == "ExternalName":
            self._release(before)
            return
        self._release(before)
        try:
            self._take_addresses(service, before)
            self._take_ports(service, before)
            self._take_check_port(service, before)
        except BaseException:
            self._hold(before)
            raise
        self._hold(spec)

    def _take_addresses(self, service: Manifest, before: Manifest) -> None:
        spec = service["spec"]
        _agree(spec)
        if before and before.get("type") != "ExternalName":
            for field in ("clusterIP", "clusterIPs", *_FAMILY_FIELDS):
                if field not in spec and field in before:
                    spec[field] = before[field]
        addresses: list[str] = spec.get("clusterIPs", [])
        if addresses and addresses[0] == "None":
            single = bool(spec.get("selector"))
            spec.setdefault("ipFamilyPolicy", "SingleStack" if single else "RequireDualStack")
            spec.setdefault("ipFamilies", ["IPv4"] if single else ["IPv4", "IPv6"])
            return
        if spec.get("ipFamilyPolicy") == "RequireDualStack" and not self._takes_all:
            detail = "this cluster is not configured for dual-stack services"
            refuse([invalid("spec.ipFamilyPolicy", "RequireDualStack", detail)])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        spec.setdefault("ipFamilies", ["IPv4"])
        if not addresses:
            address = self._free_address(_number(service))
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
        elif addresses != before.get("clusterIPs"):
            refuse(self._address_problems(addresses))

    def _address_problems(self, addresses: list[str]) -> list[Problem]:
        try:
            address = ipaddress.ip_address(addresses[0])
        except ValueError:
            return []  # validation says so
        problem = ""
        if address not in RANGE and not self._takes_all:
            problem = "the provided network does not match the current range"
        elif addresses[0] in self._addresses and not self._is_dry_run:
            problem = "provided IP is already allocated"
        if not problem:
            return []
        return [invalid("spec.clusterIPs", addresses, f"failed to allocate IP {addresses[0]}: {problem}")]

    def _take_ports(self, service: Manifest, before: Manifest) -> None:
        """Ports of one number, which differ by protocol, share a node port when their service is new."""
        spec = service["spec"]
        if spec["type"] not in _OPEN:
            return
        ports: list[Manifest] = spec.get("ports", [])
        if before.get("type") in _OPEN:
            _keep_ports(ports, before.get("ports", ()))
        wanted = {port["nodePort"] for port in ports if port.get("nodePort")}
        wanted |= {spec["healthCheckNodePort"]} if spec.get("healthCheckNodePort") else set()
        shared: dict[int, int] = {}  # node ports by port
        for port in ports if not before else ():
            if port.get("nodePort"):
                shared.setdefault(port["port"], port["nodePort"])
        own: dict[int, int] = {}  # ports by node port
        for index, port in enumerate(ports):
            if not port.get("nodePort") and spec.get("allocateLoadBalancerNodePorts") is False:
                continue
            number = port.get("nodePort") or (None if before else shared.get(port["port"]))
            if number is None:
                number = self._free_port(service, self._ports | own.keys() | wanted)
            elif number not in own or not (before or own[number] == port["port"]):
                is_taken = number in self._ports or number in own
                refuse(self._port_problems(f"spec.ports[{index}].nodePort", number, is_taken))
            port["nodePort"] = number
            shared.setdefault(port["port"], number)
            own[number] = port["port"]

    def _take_check_port(self, service: Manifest, before: Manifest) -> None:
        """The port at which a load balancer asks whether a node has pods of the service."""
        spec = service["spec"]
        if spec["type"] != "LoadBalancer" or spec.get("externalTrafficPolicy") != "Local":
            return
        taken = self._ports | _ports({"ports": spec.get("ports", ())})
        number = spec.get("healthCheckNodePort") or before.get("healthCheckNodePort")
        if number:
            refuse(self._port_problems("spec.healthCheckNodePort", number, number in taken))
        spec["healthCheckNodePort"] = number or self._free_port(service, taken)

    def _free_port(self, service: Manifest, used: Set[Any]) -> int:
        if self._is_dry_run:
            shown = [port.get("nodePort") or 0 for port in service["spec"].get("ports", ())]
            return (max(shown, default=0) or NODE_PORTS.stop) + 1
        return draw(_number(service), NODE_PORTS, used.__contains__)

    def _port_problems(self, path: str, number: int, is_taken: bool) -> list[Problem]:
        if number not in NODE_PORTS and not (self._is_dry_run or self._takes_all):
            bounds = f"{NODE_PORTS[0]}-{NODE_PORTS[-1]}"
            detail = f"provided port is not in the valid range. The range of valid ports is {bounds}"
            return [invalid(path, number, detail)]
        return [invalid(path, number, "provided port is already allocated")] if is_taken else []

    def _free_address(self, start: int) -> str:
        if self._is_dry_run:
            return str(RANGE.network_address)
        hosts = range(10, RANGE.num_addresses - 1)
        return str(RANGE[draw(start, hosts, lambda one: str(RANGE[one]) in self._addresses)])

    def _hold(self, spec: Manifest) -> None:
        self._addresses.update(spec.get("clusterIPs", ()))
        self._ports.update(_ports(spec))

    def _release(self, spec: Manifest) -> None:
        self._addresses.difference_update(spec.get("clusterIPs", ()))
        self._ports.difference_update(_ports(spec))


def _ports(spec: Manifest) -> set[int]:
    """The node ports of a service: a number is one port, whatever the protocol."""
    found = {port["nodePort"] for port in spec.get("ports", ()) if port.get("nodePort")}
    return found | {spec["healthCheckNodePort"]} if spec.get("healthCheckNodePort") else found


def _keep_ports(ports: Iterable[Manifest], before: Iterable[Manifest]) -> None:
    """Give ports, in place, the node ports that ports of their names had, unless others ask for these."""
    known = {port.get("name", ""): port.get("nodePort") for port in before}
    wanted = {port.get("nodePort") for port in ports}
    for port in ports:
        number = known.get(port.get("name", ""))
        if not port.get("nodePort") and number and number not in wanted:
            port["nodePort"] = number


def _agree(spec: Manifest) -> None:
    """`clusterIP` is the first of `clusterIPs`; old clients know only the one."""
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif spec.get("clusterIPs") and not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0]


def _number(service: Manifest) -> int:
    return int(service["metadata"]["uid"].replace("-", "")[-12:] or "0", 16)


def draw(start: int, numbers: range, is_taken: Callable[[int], bool]) -> int:
    """Return the first free number, beginning at place `start` of all; when all are taken, the one there."""
    for step in range(len(numbers)):
        number = numbers[(start + step) % len(numbers)]
        if not is_taken(number):
            return number
    return numbers[start % len(numbers)]
