"""What is checked of nodes, policies and the smaller kinds.

Source: kubernetes v1.34.1, pkg/apis/{core,policy,scheduling,node,coordination}/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    duplicate,
    forbidden,
    internal_error,
    invalid,
    required,
    unsupported,
)
from scheduler_core.admission.priority import HIGHEST_USER_PRIORITY, SYSTEM_CLASSES, SYSTEM_PREFIX
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.amounts import (
    HUGE_PREFIXES,
    QUOTA_NAMES,
    container_resource_name,
    is_overcommit_allowed,
    resource_name,
    resource_problems,
)
from scheduler_core.admission.validation.formats import named, not_negative
from scheduler_core.admission.validation.pods import TAINT_EFFECTS, toleration_problems
from scheduler_core.admission.validation.workloads import at_most_all, count_or_percent
from scheduler_core.api.quantity import Quantity, parse
from scheduler_core.api.schema import internal_text

_QUOTA_COMPUTE: Final = frozenset(
    {
        "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
        "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods",
    }
)  # fmt: skip
_POD_SCOPES: Final = (
    "Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
)  # fmt: skip
_SCOPES: Final = ("BestEffort", *_POD_SCOPES, "VolumeAttributesClass")
_SCOPES_THAT_EXIST: Final = (
    "BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity",
)  # fmt: skip
_ONLY_EXISTS: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating,"
    " ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_CONFLICTS: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_UNHEALTHY: Final = ("AlwaysAllow", "IfHealthyBudget")


def node_problems(node: Manifest) -> Iterator[Problem]:
    spec, status = node["spec"], node["status"]
    yield from taint_problems(spec)
    for field in ("capacity", "allocatable"):
        for name, text in status.get(field, {}).items():
            yield from formats.quantity_value(f"status.{field}.{name}", name, text)
    yield from _pod_ranges(spec.get("podCIDRs", []))


def taint_problems(spec: Manifest) -> Iterator[Problem]:
    """Of the taints of a node."""
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.get("taints", ())):
        at, value, effect = f"metadata.taints[{index}]", taint.get("value", ""), taint["effect"]
        yield from named(f"{at}.key", taint["key"], formats.qualified(taint["key"]))
        problems = formats.label_value(value)
        if problems:
            yield invalid(f"{at}.value", value, ";".join(problems))
        if not effect:
            yield required(f"{at}.effect")
        elif effect not in TAINT_EFFECTS:
            yield unsupported(f"{at}.effect", effect, TAINT_EFFECTS)
        if (taint["key"], effect) in seen:
            text = Shown(internal_text(taint, "core.Taint"))
            yield duplicate(at, text, "taints must be unique by key and effect pair")
        seen.add((taint["key"], effect))


def _pod_ranges(ranges: list[str]) -> Iterator[Problem]:
    networks = [formats.sloppy_network(text) for text in ranges]
    for index, text in enumerate(ranges):
        yield from named(f"spec.podCIDRs[{index}]", text, formats.network(text))
    if len(ranges) < 2:
        return
    wrong = next((index for index, found in enumerate(networks) if found is None), None)
    if wrong is not None:
        detail = f"invalid CIDR[{wrong}]: <nil> (invalid CIDR address: {ranges[wrong]})"
        told = f"invalid PodCIDRs. failed to check with dual stack with error:{detail}"
        yield internal_error("spec.podCIDRs", told)
    if wrong is not None or len({found.version for found in networks if found}) < 2 or len(ranges) > 2:
        yield invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")
    for index, text in enumerate(ranges):
        if text in ranges[:index]:
            yield duplicate(f"spec.podCIDRs[{index}]", text)


def node_address_problems(addresses: list[Manifest]) -> Iterator[Problem]:
    """No address of a node stands twice."""
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            text = Shown(internal_text(address, "core.NodeAddress"))
            yield duplicate(f"status.addresses[{index}]", text)


def priority_class_problems(manifest: Manifest) -> Iterator[Problem]:
    name, value = manifest["metadata"].get("name", ""), manifest["value"]
    if name.startswith(SYSTEM_PREFIX):
        known = SYSTEM_CLASSES.get(name)
        error = ""
        if known is None:
            error = f"{name} is not a known system priority class"
        elif known.value != value:
            error = f"value of {name} PriorityClass must be {known.value}"
        elif manifest.get("globalDefault"):
            error = f"globalDefault of {name} PriorityClass must be false"
        if error:
            detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
            yield forbidden("metadata.name", detail + error)
    elif value > HIGHEST_USER_PRIORITY:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}")
    policies = ("PreemptLowerPriority", "Never")
    yield from formats.one_of("preemptionPolicy", manifest.get("preemptionPolicy"), policies)


def runtime_class_problems(manifest: Manifest) -> Iterator[Problem]:
    yield from named("handler", manifest["handler"], formats.label(manifest["handler"]))
    limits = manifest.get("overhead", {}).get("podFixed", {})
    yield from resource_problems("overhead", {"limits": limits}, container_resource_name, frozenset())
    scheduling = manifest.get("scheduling", {})
    yield from formats.labels("scheduling.nodeSelector", scheduling.get("nodeSelector"))
    tolerations = scheduling.get("tolerations", [])
    yield from toleration_problems("scheduling.tolerations.tolerations", tolerations)
    for index, toleration in enumerate(tolerations):
        if toleration in tolerations[:index]:
            text = Shown(internal_text(toleration, "core.Toleration"))
            yield duplicate(f"scheduling.tolerations[{index}]", text)


def limit_range_problems(manifest: Manifest) -> Iterator[Problem]:
    types: set[str] = set()
    for index, item in enumerate(manifest["spec"]["limits"] or ()):
        at, kind = f"spec.limits[{index}]", item["type"]
        yield from named(f"{at}.type", kind, formats.qualified(kind))
        if "/" not in kind and kind not in ("Container", "Pod", "PersistentVolumeClaim"):
            yield invalid(f"{at}.type", kind, "must be a standard limit type or fully qualified")
        if kind in types:
            yield duplicate(f"{at}.type", kind)
        types.add(kind)
        yield from _limits(at, kind, item)


def _limits(path: str, kind: str, item: Manifest) -> Iterator[Problem]:
    check = container_resource_name if kind in ("Container", "Pod") else resource_name
    fields = ["max", "min", "maxLimitRequestRatio"]
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if field in item:
                yield forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
    else:
        fields[2:2] = ["default", "defaultRequest"]
    for field in fields:
        for name in item.get(field, ()):
            yield from check(f"{path}.{field}[{name}]", name)
    if kind == "PersistentVolumeClaim" and not any("storage" in item.get(field, ()) for field in ("min", "max")):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", detail)
    for name in dict.fromkeys(name for field in fields for name in item.get(field, ())):
        bounds = {field: parse(item[field][name]) for field in fields if name in item.get(field, ())}
        yield from _bounds(path, name, bounds)


def _bounds(path: str, name: str, bounds: Mapping[str, Quantity]) -> Iterator[Problem]:
    least, most = bounds.get("min"), bounds.get("max")
    default, request, ratio = bounds.get("default"), bounds.get("defaultRequest"), bounds.get("maxLimitRequestRatio")

    def wrong(field: str, value: Quantity, detail: str) -> Problem:
        return invalid(f"{path}.{field}[{name}]", str(value), detail)

    if least is not None and most is not None and least > most:
        yield wrong("min", least, f"min value {least} is greater than max value {most}")
    if request is not None and least is not None and least > request:
        yield wrong("defaultRequest", request, f"min value {least} is greater than default request value {request}")
    if request is not None and most is not None and request > most:
        yield wrong("defaultRequest", request, f"default request value {request} is greater than max value {most}")
    if request is not None and default is not None and request > default:
        detail = f"default request value {request} is greater than default limit value {default}"
        yield wrong("defaultRequest", request, detail)
    if default is not None and least is not None and least > default:
        yield wrong("default", least, f"min value {least} is greater than default value {default}")
    if default is not None and most is not None and default > most:
        yield wrong("default", most, f"default value {default} is greater than max value {most}")
    if ratio is not None and ratio.nano < 10**9:
        yield wrong("maxLimitRequestRatio", ratio, f"ratio {ratio} is less than 1")
    if ratio is not None and least is not None and most is not None and least.nano:
        bound = most.nano / least.nano
        if ratio.nano / 10**9 > bound:
            yield wrong("maxLimitRequestRatio", ratio, f"ratio {ratio} is greater than max/min = {bound:f}")
    if not is_overcommit_allowed(name) and default is not None and request is not None and default != request:
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield wrong("defaultRequest", request, detail)


def resource_quota_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    hard = spec.get("hard", {})
    for name, text in hard.items():
        yield from quota_amount_problems(f"spec.hard[{name}]", name, text)
    scopes = spec.get("scopes", [])
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        for name in sorted(hard):
            if name in QUOTA_NAMES and not _scope_fits(scope, name):
                yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    if any(pair <= set(scopes) for pair in _CONFLICTS):
        yield invalid("spec.scopes", scopes, "conflicting scopes")
    if "scopeSelector" in spec:
        yield from _scope_selector(spec["scopeSelector"], hard, scopes)


def quota_amount_problems(path: str, name: str, text: str) -> Iterator[Problem]:
    """Of a name that a quota limits or counts, and how much of it."""
    yield from resource_name(path, name)
    if "/" not in name and name not in QUOTA_NAMES and not name.startswith(HUGE_PREFIXES):
        yield invalid(path, name, "must be a standard resource for quota")
    yield from formats.quantity_value(path, name, text)


def _scope_selector(selector: Manifest, hard: Any, scopes: list[str]) -> Iterator[Problem]:
    path = "spec.scopeSelector.matchExpressions"
    expressions = selector.get("matchExpressions", [])
    for one in expressions:
        scope, operator, values = one["scopeName"], one["operator"], one.get("values", ())
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        for name in sorted(hard):
            if name in QUOTA_NAMES and not _scope_fits(scope, name):
                text = Shown(internal_text(selector, "core.ScopeSelector"))
                yield invalid(path, text, "unsupported scope applied to resource")
        if scope in _SCOPES_THAT_EXIST and operator != "Exists":
            yield invalid(f"{path}.operator", operator, _ONLY_EXISTS)
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required(f"{path}.values", detail)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid(f"{path}.values", values, detail)
        else:
            yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    if any(pair <= {one["scopeName"] for one in expressions} for pair in _CONFLICTS):
        yield invalid(path, scopes or None, "conflicting scopes")  # as the server has it: the plain scopes are shown


def _scope_fits(scope: str, name: str) -> bool:
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return name in _QUOTA_COMPUTE and name != "requests.storage"


def disruption_budget_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = Shown(internal_text(spec, "policy.PodDisruptionBudgetSpec"))
        yield invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            yield from count_or_percent(f"spec.{field}", spec[field])
            yield from at_most_all(f"spec.{field}", spec[field])
    yield from formats.label_selector("spec.selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _UNHEALTHY:
        yield unsupported("spec.unhealthyPodEvictionPolicy", policy, _UNHEALTHY)


def lease_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    yield from formats.positive("spec.leaseDurationSeconds", spec.get("leaseDurationSeconds"))
    yield from not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))


def namespace_problems(manifest: Manifest) -> Iterator[Problem]:
    for name in manifest["spec"].get("finalizers", ()):
        yield from namespace_finalizer_problems("spec.finalizers", name)


def namespace_finalizer_problems(path: str, name: str) -> Iterator[Problem]:
    yield from named(path, name, formats.qualified(name))
    if "/" not in name and name not in ("kubernetes", "orphan", "foregroundDeletion"):
        yield invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")
