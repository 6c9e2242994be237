"""What is checked of the status of a pod.

Source: kubernetes v1.34.1, pkg/apis/core/validation (ValidatePodStatusUpdate).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, duplicate, forbidden, internal_error, invalid
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import named
from scheduler_core.admission.validation.security import id_problems
from scheduler_core.api.schema import internal_text

_OF_THE_SYSTEM: Final = ("PodScheduled", "Ready", "Initialized")
_ONE_EACH: Final = "may specify no more than one IP for each IP family"


def pod_status_problems(status: Manifest, old: Manifest) -> Iterator[Problem]:
    """Of a status that replaces the one of the old pod."""
    before, spec = old["status"], old["spec"]
    for index, condition in enumerate(status.get("conditions", ())):
        if condition["type"] not in _OF_THE_SYSTEM:
            problems = formats.qualified(condition["type"])
            yield from named(f"metadata.conditions[{index}].Type", condition["type"], problems)
    for index, condition in enumerate(status.get("conditions", ())):
        at = f"status.conditions[{index}]"
        if condition.get("observedGeneration", 0) < 0:
            yield invalid(f"{at}.observedGeneration", condition["observedGeneration"], "must be a non-negative integer")
    name = status.get("nominatedNodeName", "")
    if name and name != before.get("nominatedNodeName", ""):
        yield from named("status.nominatedNodeName", name, formats.subdomain(name))
    if status.get("observedGeneration", 0) < 0:
        yield invalid("status.observedGeneration", status["observedGeneration"], "must be a non-negative integer")
    yield from formats.immutable("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    sidecars = {one["name"] for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    policy = spec.get("restartPolicy", "")
    yield from _container_states("containerStatuses", status, before, policy)
    yield from _container_states("initContainerStatuses", status, before, policy, sidecars)
    yield from _container_states("ephemeralContainerStatuses", status, before, "Never")
    yield from _claims(status.get("resourceClaimStatuses", ()), spec)
    yield from _addresses("podIPs", status, "core.PodIP")
    hosts = status.get("hostIPs", ())
    if hosts and hosts[0]["ip"] != status.get("hostIP", ""):
        yield invalid("status.hostIPs[0].ip", hosts[0]["ip"], "must be equal to `hostIP`")
    yield from _addresses("hostIPs", status, "core.HostIP")
    system = (spec.get("os") or {}).get("name", "linux")
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        yield from _users(f"status.{field}", status.get(field, ()), system)


def _container_states(
    field: str, status: Manifest, before: Manifest, policy: str, restarted: Any = ()
) -> Iterator[Problem]:
    """What has ended stays so, unless it is started again by the policy, or always (`restarted`)."""
    if policy == "Always":
        return
    states = [(one["name"], one.get("state") or {}) for one in status.get(field, ())]
    for index, old in enumerate(before.get(field, ())):
        ended = (old.get("state") or {}).get("terminated")
        is_retried = ended is not None and ended.get("exitCode") and policy == "OnFailure"
        if ended is None or is_retried or old["name"] in restarted:
            continue
        for name, state in states:
            if name == old["name"] and "terminated" not in state:
                yield forbidden(f"status.{field}[{index}].state", "may not be transitioned to non-terminated state")


def _claims(statuses: Any, spec: Manifest) -> Iterator[Problem]:
    known = {claim["name"] for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, one in enumerate(statuses):
        at, name = f"status.resourceClaimStatuses[{index}].name", one["name"]
        if name not in known:
            yield invalid(at, name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)
        if "resourceClaimName" in one:
            yield from named(at, one["resourceClaimName"], formats.subdomain(one["resourceClaimName"]))


def _addresses(field: str, status: Manifest, shape: str) -> Iterator[Problem]:
    """Every one an address, two of them at most, of two families."""
    path, given = f"status.{field}", status.get(field, [])
    for index, one in enumerate(given):
        yield from named(f"{path}[{index}]", one["ip"], formats.ip_address(one["ip"]))
    if len(given) < 2:
        return
    parsed = [formats.sloppy_address(one["ip"]) for one in given]
    wrong = next((index for index, address in enumerate(parsed) if address is None), None)
    if wrong is not None:
        reason = f"failed to check for dual stack with error:invalid IP[{wrong}]: {given[wrong]['ip']}"
        yield internal_error(path, reason)
    families = {address.version for address in parsed if address is not None}
    if wrong is not None or len(families) < 2 or len(given) > 2:
        yield invalid(path, Shown(internal_text(given, f"[]{shape}")), _ONE_EACH)
    texts = [one["ip"] for one in given]
    for index, one in enumerate(given):
        if one["ip"] in texts[:index]:
            yield duplicate(f"{path}[{index}]", Shown(internal_text(one, shape)))


def _users(path: str, statuses: Any, system: str) -> Iterator[Problem]:
    """Whom containers run as; upstream leaves `user` out of the paths."""
    for index, one in enumerate(statuses):
        at, user = f"{path}[{index}].linux", (one.get("user") or {}).get("linux")
        if user is None:
            continue
        if system == "windows":
            yield forbidden(at, "cannot be set for a windows pod")
        else:
            yield from id_problems(f"{at}.uid", user.get("uid", 0))
            yield from id_problems(f"{at}.gid", user.get("gid", 0))
            for number, group in enumerate(user.get("supplementalGroups", ())):
                yield from id_problems(f"{at}.supplementalGroups[{number}]", group)
