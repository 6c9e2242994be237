"""Services and their endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.apiserver.printing.texts import (
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    Manifest,
    Printed,
    age_of,
    name_of,
    pairs,
    part,
)

_SHOWN: Final = 3  # addresses in a cell


def _service(service: Manifest, now: int) -> Cells:
    spec = service["spec"]
    addresses = spec.get("clusterIPs") or [NONE]
    ports = ",".join(map(_port, spec.get("ports") or ()))
    return [
        name_of(service), spec.get("type", ""), addresses[0], _external(service), ports or NONE, age_of(service, now),
        pairs(spec.get("selector")),
    ]  # fmt: skip


def _port(port: Manifest) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol', '')}"


def _external(service: Manifest) -> str:
    spec, kind = service["spec"], service["spec"].get("type")
    external = list(spec.get("externalIPs") or ())
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(external) or NONE
    if kind == "LoadBalancer":
        ingress = part(part(service, "status"), "loadBalancer").get("ingress") or ()
        found = {one.get("ip") or one.get("hostname") or "" for one in ingress} - {""}
        return ",".join([*sorted(found), *external]) or "<pending>"
    return str(spec.get("externalName", "")) if kind == "ExternalName" else UNKNOWN


def _endpoints(manifest: Manifest, now: int) -> Cells:
    shown: list[str] = []
    for subset in manifest.get("subsets") or ():
        addresses = [f"[{one['ip']}]" if ":" in one["ip"] else one["ip"] for one in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            shown += [one["ip"] for one in subset.get("addresses") or ()]
        for port in ports or ():
            shown += [f"{address}:{port['port']}" for address in addresses]
    if not manifest.get("subsets"):
        return [name_of(manifest), NONE, age_of(manifest, now)]
    return [name_of(manifest), _first_of(shown), age_of(manifest, now)]


def _endpoint_slice(manifest: Manifest, now: int) -> Cells:
    ports = [str(one.get("port", one.get("name", "*"))) for one in manifest.get("ports") or ()]
    addresses = [text for one in manifest.get("endpoints") or () for text in one.get("addresses") or ()]
    return [
        name_of(manifest), manifest["addressType"], _first_of(ports) or UNSET, _first_of(addresses) or UNSET,
        age_of(manifest, now),
    ]  # fmt: skip


def _first_of(texts: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    shown = ",".join(texts[:_SHOWN])
    return f"{shown} + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else shown


PRINTED: Final[dict[str, Printed]] = {
    "Service": ("Name|Type|Cluster-IP|External-IP|Port(s)|Age|!Selector", _service),
    "Endpoints": ("Name|Endpoints|Age", _endpoints),
    "EndpointSlice": ("Name|AddressType|Ports|Endpoints|Age", _endpoint_slice),
}
