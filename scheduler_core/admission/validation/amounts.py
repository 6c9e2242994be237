"""What is checked of requests and limits of containers and pods.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import named
from scheduler_core.api.manifests import convert
from scheduler_core.api.pod import PodSpec
from scheduler_core.api.quantity import ZERO, parse
from scheduler_core.api.resources import (
    container_limits,
    container_requests,
    is_extended,
    is_hugepages,
    is_native,
    is_pod_level,
)

# What a quota may limit or count, and what else has a name without a domain.
QUOTA_NAMES: Final = frozenset(
    {
        "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
        "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods",
        "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
        "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
STANDARD_NAMES: Final = QUOTA_NAMES | {"storage"}
HUGE_PREFIXES: Final = ("hugepages-", "requests.hugepages-")
_STANDARD_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})


def resource_problems(
    path: str, resources: Manifest, check_name: Callable[[str, str], Iterator[Problem]], claims: frozenset[str]
) -> Iterator[Problem]:
    """Requests and limits of a container or a pod: names, amounts, and how the two fit."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name, text in limits.items():
        at = f"{path}.limits[{name}]"
        yield from check_name(at, name)
        yield from formats.quantity_value(at, name, text)
        yield from _huge_page(at, name, text)
    for name, text in requests.items():
        at = f"{path}.requests[{name}]"
        yield from check_name(at, name)
        yield from formats.quantity_value(at, name, text)
        limit, fixed = limits.get(name), not is_overcommit_allowed(name)
        if limit is not None:
            if fixed and parse(text) != parse(limit):
                yield invalid(f"{path}.requests", text, f"must be equal to {name} limit of {limit}")
            elif parse(text) > parse(limit):
                yield invalid(f"{path}.requests", text, f"must be less than or equal to {name} limit of {limit}")
        elif fixed:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        yield from _huge_page(at, name, text)
    named_resources = limits.keys() | requests.keys()
    if any(map(is_hugepages, named_resources)) and not {"cpu", "memory"} & named_resources:
        yield forbidden(path, "HugePages require cpu or memory")
    yield from _claims(f"{path}.claims", resources.get("claims", ()), claims)


def _claims(path: str, references: Sequence[Manifest], claims: frozenset[str]) -> Iterator[Problem]:
    """Claims of the pod that a container uses: each once, as a whole or by its requests."""
    seen: set[str] = set()
    for index, claim in enumerate(references):
        at, name, request = f"{path}[{index}]", claim["name"], claim.get("request", "")
        if not name:
            yield required(at)
            continue
        if name in seen:
            yield duplicate(at, name)
        else:
            key = f"{name}/{request}" if request else name
            if request:
                yield from named(f"{at}.request", request, formats.label(request))
            if key in seen:
                yield duplicate(at, key)
            elif not request:
                yield from [duplicate(at, name)] * sum(one.startswith(f"{name}/") for one in seen)
            seen.add(key)
        if name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            yield not_found(at, name, f"must be one of the names in pod.spec.resourceClaims{known}")


def is_overcommit_allowed(name: str) -> bool:
    """Requests of native resources may exceed their limits' sum, but for huge pages."""
    return is_native(name) and not is_hugepages(name)


def _huge_page(path: str, name: str, text: str) -> Iterator[Problem]:
    """Amounts are counted as int64, so one that is too large for that may pass."""
    if not is_hugepages(name):
        return
    try:
        size = parse(name.removeprefix("hugepages-"))
    except ValueError:
        size = ZERO
    if size.nano <= 0 or size.milli_value() % 1000 or parse(text).value() % size.value():
        yield invalid(path, text, f"{text} is not positive integer multiple of {name}")


def container_resource_name(path: str, name: str) -> Iterator[Problem]:
    yield from resource_name(path, name)
    if "/" not in name:
        if name not in _STANDARD_RESOURCES and not is_hugepages(name):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def pod_resource_name(path: str, name: str) -> Iterator[Problem]:
    problems = list(resource_name(path, name))
    yield from problems
    if not problems and not is_pod_level(name):
        yield unsupported(path, name, ("cpu", "hugepages-", "memory"))


def resource_name(path: str, name: str) -> Iterator[Problem]:
    problems = formats.qualified(name)
    yield from named(path, name, problems)
    if not problems and "/" not in name and name not in STANDARD_NAMES and not name.startswith(HUGE_PREFIXES):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def pod_level_problems(path: str, spec: Manifest, claims: frozenset[str]) -> Iterator[Problem]:
    """Resources of the whole pod, which bound those of its containers."""
    resources = spec.get("resources")
    if resources is None:
        return
    if "claims" in resources:
        yield forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from resource_problems(path, resources, pod_resource_name, claims)
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    typed = convert(spec, PodSpec, path="spec")
    for name, total in container_requests(typed).items():
        if name in requests and total > parse(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            yield invalid(f"{path}.requests[{name}]", requests[name], detail)
    for name, total in container_limits(typed).items():
        if is_hugepages(name) and name in limits and total > parse(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            yield invalid(f"{path}.limits[{name}]", limits[name], detail)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in container["resources"].get("limits", {}).items():
            if name in limits and parse(limit) > parse(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{path}.containers[{index}][{name}].limits", limit, detail)
