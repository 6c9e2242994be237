"""Reads of claims and devices: what a pod's claims got, and who has the devices of a node."""

from collections.abc import Iterable, Iterator
from typing import Any

from kschedweb import views
from kschedweb.cluster.models import Pod
from kschedweb.cluster.related import Related

Manifest = dict[str, Any]


def pod_claims(pod: Pod, related: Related) -> list[views.PodClaim]:
    """The claims of a pod, in the order of its spec."""
    entries = pod.manifest["spec"].get("resourceClaims") or []
    if not entries:
        return []
    made = {each["name"]: each.get("resourceClaimName") for each in _statuses(pod.manifest)}
    names = {each["name"]: each.get("resourceClaimName") or made.get(each["name"]) or "" for each in entries}
    claims = related.named("ResourceClaim", pod.namespace, list(names.values()))
    found = []
    for entry, name in names.items():
        status = _status(claims.get(name, {}))
        reserved = any(each.get("uid") == pod.uid for each in status.get("reservedFor") or ())
        devices = [
            views.ClaimDevice(request=one["request"], driver=one["driver"], pool=one["pool"], device=one["device"])
            for one in _results(status)
        ]
        found.append(views.PodClaim(entry, name, status.get("allocation") is not None, reserved, devices))
    return found


def node_devices(node_name: str, related: Related) -> list[views.NodeDevice]:
    """The devices of the node's newest slices, by driver, pool and place in the pool."""
    slices = list(_newest(related.slices(node_name)))
    if not slices:
        return []
    holders = _holders(related)
    found = []
    for spec in slices:
        driver, pool = spec["driver"], spec["pool"]["name"]
        for device in spec.get("devices") or ():
            claim, pods = holders.get((driver, pool, device["name"]), ("", []))
            attributes = {name: _text(value) for name, value in (device.get("attributes") or {}).items()}
            capacity = {name: str(value.get("value", "")) for name, value in (device.get("capacity") or {}).items()}
            found.append(views.NodeDevice(driver, pool, device["name"], attributes, capacity, claim, pods))
    return found


def _newest(manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """The specs of the slices of each pool's newest generation."""
    specs = sorted((each["spec"] for each in manifests), key=lambda spec: (spec["driver"], spec["pool"]["name"]))
    newest: dict[tuple[str, str], int] = {}
    for spec in specs:
        key = spec["driver"], spec["pool"]["name"]
        newest[key] = max(newest.get(key, 0), spec["pool"].get("generation", 0))
    for spec in specs:
        if spec["pool"].get("generation", 0) == newest[spec["driver"], spec["pool"]["name"]]:
            yield spec


def _holders(related: Related) -> dict[tuple[str, str, str], tuple[str, list[str]]]:
    """Claim and pods by the driver, pool and name of the device; one that administrators look at is not held."""
    found: dict[tuple[str, str, str], tuple[str, list[str]]] = {}
    for namespace, name, status in related.claims():
        for one in _results(status or {}):
            if not one.get("adminAccess"):
                users = (status or {}).get("reservedFor") or ()
                pods = [f"{namespace}/{each['name']}" for each in users if each.get("resource") == "pods"]
                found[one["driver"], one["pool"], one["device"]] = f"{namespace}/{name}", pods
    return found


def _status(manifest: Manifest) -> Manifest:
    status: Manifest = manifest.get("status") or {}
    return status


def _statuses(pod: Manifest) -> list[Manifest]:
    return _status(pod).get("resourceClaimStatuses") or []


def _results(status: Manifest) -> list[Manifest]:
    """What was allocated, device by device."""
    allocation = status.get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def _text(attribute: Manifest) -> str:
    """The value of an attribute, whatever its type."""
    value = next(iter(attribute.values()), "")
    return str(value).lower() if isinstance(value, bool) else str(value)
