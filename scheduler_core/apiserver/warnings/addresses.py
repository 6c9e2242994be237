"""Addresses and networks that are taken although they are not written the usual way.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.admission.validation.formats import sloppy_address, sloppy_network


def address_warnings(path: str, text: str) -> Iterator[str]:
    address = sloppy_address(text)
    if address is None or str(address) == text:
        return
    if address.version == 4:
        yield (
            f'{path}: non-standard IP address "{text}" will be considered invalid in a future Kubernetes release: use'
            f' "{address}"'
        )
    else:
        yield f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")'


def network_warnings(path: str, text: str) -> Iterator[str]:
    start, _, bits = text.partition("/")
    address, network = sloppy_address(start), sloppy_network(text)
    if network is None:
        return
    is_told = False
    if address != network.network_address:
        whole = f"{address}/{network.max_prefixlen}"
        yield f'{path}: CIDR value "{text}" is ambiguous in this context (should be "{network}" or "{whole}"?)'
        is_told = True
    if network.version == 4 and (str(address) != start or str(int(bits)) != bits):
        yield (
            f'{path}: non-standard CIDR value "{text}" will be considered invalid in a future Kubernetes release: use'
            f' "{network}"'
        )
    elif network.version == 6 and not is_told and str(network) != text:
        yield f'{path}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{network}")'
