"""What is checked of the status of a claim: which devices it was allocated, for whom, and how they are.

Source: kubernetes v1.34.1, pkg/apis/resource/validation.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    admin_access_problem,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.conditions import condition_problems
from scheduler_core.admission.validation.devices import (
    configuration_problems,
    pool_name_problems,
    raw_problems,
    reference_problems,
    request_names,
)
from scheduler_core.admission.validation.formats import named
from scheduler_core.admission.validation.pods import node_selector_problems
from scheduler_core.admission.validation.volume_sources import driver_name_problems
from scheduler_core.api.schema import internal_text

_MOST_USERS: Final = 256
_MOST_RESULTS: Final = 32
_MOST_CONFIGURATIONS: Final = 64
_MOST_CONDITIONS: Final = 8
_MOST_ADDRESSES: Final = 16
_NO_ADDRESS: Final = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"


def claim_status_problems(status: Manifest, old: Manifest, *, allows_admin: bool) -> Iterator[Problem]:
    """`allows_admin`: the namespace lets claims use devices of others."""
    before, allocation = old["status"], status.get("allocation")
    if not allows_admin:
        yield from _admin_access(allocation or {}, before.get("allocation") or {})
    yield from _users(status)
    yield from _devices(status.get("devices", ()), allocation or {})
    yield from _consumers(status, old)
    if allocation is None:
        return
    if before.get("allocation") is None:
        yield from _allocation("status.allocation", allocation, request_names(old["spec"]["devices"]))
    elif allocation != before["allocation"]:
        shown = Shown(internal_text(allocation, "resource.AllocationResult"))
        yield invalid("status.allocation", shown, formats.IMMUTABLE)


def _results(allocation: Manifest) -> Sequence[Manifest]:
    found: Sequence[Manifest] = (allocation.get("devices") or {}).get("results") or ()
    return found


def _admin_access(allocation: Manifest, before: Manifest) -> Iterator[Problem]:
    if any(result.get("adminAccess") for result in _results(before)):
        return
    for index, result in enumerate(_results(allocation)):
        if result.get("adminAccess"):
            yield admin_access_problem(f"status.allocation.devices.results[{index}].adminAccess")
            return


def _users(status: Manifest) -> Iterator[Problem]:
    users = status.get("reservedFor", ())
    if len(users) > _MOST_USERS:
        yield too_many("status.reservedFor", len(users), _MOST_USERS)
    for index, user in enumerate(users):
        for field in ("resource", "name", "uid"):
            if not user.get(field):
                yield required(f"status.reservedFor[{index}].{field}")
    uids = [user.get("uid", "") for user in users]
    for index, uid in enumerate(uids):
        if uid in uids[:index]:
            yield duplicate(f"status.reservedFor[{index}].uid", uid)


def _consumers(status: Manifest, old: Manifest) -> Iterator[Problem]:
    users = status.get("reservedFor", ())
    if not users:
        return
    if status.get("allocation") is None:
        yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    elif "deletionTimestamp" in old["metadata"]:
        known = old["status"].get("reservedFor", ())
        if any(user not in known for user in users):
            detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            yield forbidden("status.reservedFor", detail)


def _devices(devices: Sequence[Manifest], allocation: Manifest) -> Iterator[Problem]:
    allocated = {_identity(result) for result in _results(allocation)}
    for index, device in enumerate(devices):
        yield from _device(f"status.devices[{index}]", device, allocated)
    names = [_identity(device) for device in devices]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield duplicate(f"status.devices[{index}].deviceID", Shown(name))


def _identity(device: Manifest) -> str:
    return "/".join(device.get(field, "") for field in ("driver", "pool", "device"))


def _device(path: str, device: Manifest, allocated: set[str]) -> Iterator[Problem]:
    yield from _parts(path, device)
    if _identity(device) not in allocated:
        yield invalid(path, Shown(_identity(device)), "must be an allocated device in the claim")
    conditions = device.get("conditions", ())
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(f"{path}.conditions", len(conditions), _MOST_CONDITIONS)
    yield from condition_problems(f"{path}.conditions", conditions)
    if device.get("data") is not None:
        yield from raw_problems(f"{path}.data", device["data"])
    yield from _network(f"{path}.networkData", device.get("networkData") or {})


def _parts(path: str, device: Manifest) -> Iterator[Problem]:
    """Where a device is: its driver, the pool and its name in there."""
    yield from driver_name_problems(f"{path}.driver", device.get("driver", ""))
    yield from pool_name_problems(f"{path}.pool", device.get("pool", ""))
    yield from named(f"{path}.device", device.get("device", ""), formats.label(device.get("device", "")))


def _network(path: str, data: Manifest) -> Iterator[Problem]:
    for field, most in (("interfaceName", 256), ("hardwareAddress", 128)):
        if len(data.get(field, "")) > most:
            yield too_long(f"{path}.{field}", most)
    addresses = data.get("ips", ())
    if len(addresses) > _MOST_ADDRESSES:
        yield too_many(f"{path}.ips", len(addresses), _MOST_ADDRESSES)
    for index, text in enumerate(addresses):
        try:
            canonical = str(ipaddress.ip_interface(text)) if "/" in text else ""
        except ValueError:
            canonical = ""
        if not canonical:
            yield invalid(f"{path}.ips[{index}]", text, _NO_ADDRESS)
        elif canonical != text:
            yield invalid(f"{path}.ips[{index}]", text, f'must be in canonical form ("{canonical}")')
    for index, text in enumerate(addresses):
        if text in addresses[:index]:
            yield duplicate(f"{path}.ips[{index}]", text)


def _allocation(path: str, allocation: Manifest, known: set[str]) -> Iterator[Problem]:
    results = _results(allocation)
    if len(results) > _MOST_RESULTS:
        yield too_many(f"{path}.devices.results", len(results), _MOST_RESULTS)
    for index, result in enumerate(results):
        at = f"{path}.devices.results[{index}]"
        yield from reference_problems(f"{at}.request", result.get("request", ""), known)
        yield from _parts(at, result)
    configurations = (allocation.get("devices") or {}).get("config") or ()
    if len(configurations) > _MOST_CONFIGURATIONS:
        yield too_many(f"{path}.devices.config", len(configurations), _MOST_CONFIGURATIONS)
    for index, configuration in enumerate(configurations):
        yield from _configuration(f"{path}.devices.config[{index}]", configuration, known)
    if "nodeSelector" in allocation:
        yield from node_selector_problems(f"{path}.nodeSelector", allocation["nodeSelector"])


def _configuration(path: str, configuration: Manifest, known: set[str]) -> Iterator[Problem]:
    source, names = configuration.get("source", ""), configuration.get("requests", ())
    if not source:
        yield required(f"{path}.source")
    elif source not in ("FromClaim", "FromClass"):
        yield unsupported(f"{path}.source", source, ("FromClaim", "FromClass"))
    for index, name in enumerate(names):
        yield from reference_problems(f"{path}.requests[{index}]", name, known)
    for index, name in enumerate(names):
        if name in names[:index]:
            yield duplicate(f"{path}.requests[{index}]", name)
    yield from configuration_problems(path, configuration)
