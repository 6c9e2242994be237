"""Kinds that scheduling does not read.

Source: kubernetes v1.34.1, pkg/printers/internalversion/printers.go and kube-aggregator, pkg/registry/apiservice/etcd.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.api.quantity import parse
from scheduler_core.apiserver.printing.texts import (
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    Manifest,
    Printed,
    age_of,
    created,
    duration,
    name_of,
    part,
)

_MOST_METRICS: Final = 2


def _binding(manifest: Manifest, now: int) -> Cells:
    by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in manifest.get("subjects") or ():
        kind, name = subject.get("kind", ""), subject.get("name", "")
        if kind == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        by_kind.setdefault(kind, []).append(name)
    users, groups, accounts = (", ".join(by_kind[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return [name_of(manifest), _target(part(manifest, "roleRef")), age_of(manifest, now), users, groups, accounts]


def _target(reference: Manifest) -> str:
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _ingress(manifest: Manifest, now: int) -> Cells:
    spec = part(manifest, "spec")
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    shown = ",".join(hosts[:3]) + (f" + {len(hosts) - 3} more..." if len(hosts) > 3 else "")
    ports = "80, 443" if spec.get("tls") else "80"
    points = part(part(manifest, "status"), "loadBalancer").get("ingress") or ()
    addresses = ",".join(filter(None, (point.get("ip") or point.get("hostname") for point in points)))
    kind = spec.get("ingressClassName") or NONE
    return [name_of(manifest), kind, shown or "*", addresses, ports, age_of(manifest, now)]


def _ingress_class(manifest: Manifest, now: int) -> Cells:
    spec = part(manifest, "spec")
    given, shown = spec.get("parameters"), NONE
    if given:
        group = f".{given['apiGroup']}" if given.get("apiGroup") else ""
        shown = f"{given.get('kind', '')}{group}/{given.get('name', '')}"
    return [name_of(manifest), spec.get("controller", ""), shown, age_of(manifest, now)]


def _network_policy(manifest: Manifest, now: int) -> Cells:
    selector = part(part(manifest, "spec"), "podSelector")
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    terms += map(_requirement, selector.get("matchExpressions") or ())
    return [name_of(manifest), ",".join(terms) or NONE, age_of(manifest, now)]


def _requirement(one: Manifest) -> str:
    key, values = one.get("key", ""), ",".join(sorted(one.get("values") or ()))
    match one.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return str(key)


def _ip_address(manifest: Manifest, now: int) -> Cells:
    parent = part(part(manifest, "spec"), "parentRef")
    places = [parent.get(name) for name in ("resource", "group", "namespace", "name")]
    resource, group, namespace, name = (place or "" for place in places)
    shown = "/".join(filter(None, (f"{resource}.{group}" if group else resource, namespace, name)))
    return [name_of(manifest), shown or NONE, age_of(manifest, now)]


def _service_cidr(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), ",".join(part(manifest, "spec").get("cidrs") or ()), age_of(manifest, now)]


def _autoscaler(manifest: Manifest, now: int) -> Cells:
    spec, status = part(manifest, "spec"), part(manifest, "status")
    minimum = UNSET if spec.get("minReplicas") is None else str(spec["minReplicas"])
    return [
        name_of(manifest), _target(part(spec, "scaleTargetRef")), _metrics(spec, status), minimum,
        spec.get("maxReplicas", 0), status.get("currentReplicas", 0), age_of(manifest, now),
    ]  # fmt: skip


def _metrics(spec: Manifest, status: Manifest) -> str:
    """What is aimed at, and what there is of it."""
    current = status.get("currentMetrics") or ()
    texts = [
        _metric(metric, current[index] if index < len(current) else {})
        for index, metric in enumerate(spec.get("metrics") or ())
    ]
    more = len(texts) - _MOST_METRICS
    return ", ".join(texts[:_MOST_METRICS]) + (f" + {more} more..." if more > 0 else "") if texts else NONE


# Which part of a metric has its target, by its type.
_SOURCES: Final = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
_OF_RESOURCE: Final = ("resource", "containerResource")


def _metric(metric: Manifest, current: Manifest) -> str:
    name = _SOURCES.get(metric.get("type", ""))
    if name is None:
        return "<unknown type>"
    source, told = part(metric, name), part(current, name)
    target, now = part(source, "target"), part(told, "current")
    is_average = target.get("averageValue") is not None
    if name in _OF_RESOURCE:
        if is_average:
            shown = f"{_amount(now, 'averageValue') if told else UNKNOWN}/{_amount(target, 'averageValue')}"
        else:
            used, wanted = now.get("averageUtilization"), target.get("averageUtilization")
            shown = f"{UNKNOWN if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"
        return f"{source.get('name', '')}: {shown}"
    if name == "pods":
        return f"{_amount(now, 'averageValue') if told else UNKNOWN}/{_amount(target, 'averageValue')}"
    if is_average:
        shown = UNKNOWN if now.get("averageValue") is None else _amount(now, "averageValue")
        return f"{shown}/{_amount(target, 'averageValue')} (avg)"
    return f"{_amount(now, 'value') if told else UNKNOWN}/{_amount(target, 'value')}"


def _amount(of: Manifest, name: str) -> str:
    return "<nil>" if of.get(name) is None else str(parse(of[name]))


def _webhooks(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), len(manifest.get("webhooks") or ()), age_of(manifest, now)]


def _policy(manifest: Manifest, now: int) -> Cells:
    spec = part(manifest, "spec")
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
    return [name_of(manifest), len(spec.get("validations") or ()), shown, age_of(manifest, now)]


def _policy_binding(manifest: Manifest, now: int) -> Cells:
    spec = part(manifest, "spec")
    given, shown = spec.get("paramRef"), UNSET
    if given:
        shown = given.get("name") or "*"
        if given.get("namespace"):
            shown = f"{given['namespace']}/{shown}"
    return [name_of(manifest), spec.get("policyName", ""), shown, age_of(manifest, now)]


def _signing_request(manifest: Manifest, now: int) -> Cells:
    spec, status = part(manifest, "spec"), part(manifest, "status")
    seconds = spec.get("expirationSeconds")
    kinds = [condition.get("type") for condition in status.get("conditions") or ()]
    told = [name for name in ("Denied", "Approved") if name in kinds][:1] or ["Pending"]
    told += ["Failed"] * ("Failed" in kinds) + ["Issued"] * bool(status.get("certificate"))
    asked = NONE if seconds is None else duration(seconds)
    username = spec.get("username", "")
    return [name_of(manifest), age_of(manifest, now), spec.get("signerName") or NONE, username, asked, ",".join(told)]


def _flow_schema(manifest: Manifest, now: int) -> Cells:
    spec = part(manifest, "spec")
    told = (part(manifest, "status").get("conditions")) or ()
    dangling = next((one.get("status", "?") for one in told if one.get("type") == "Dangling"), "?")
    return [
        name_of(manifest), part(spec, "priorityLevelConfiguration").get("name", ""), spec.get("matchingPrecedence", 0),
        part(spec, "distinguisherMethod").get("type") or NONE, age_of(manifest, now), dangling,
    ]  # fmt: skip


def _priority_level(manifest: Manifest, now: int) -> Cells:
    spec = part(manifest, "spec")
    limits = part(spec, "limited")  # an exempt level's are not shown
    queuing: dict[str, Any] = dict(part(part(limits, "limitResponse"), "queuing"))
    numbers = [limits.get("nominalConcurrencyShares", NONE)]
    numbers += [queuing.get(name, NONE) for name in ("queues", "handSize", "queueLengthLimit")]
    return [name_of(manifest), spec.get("type", ""), *numbers, age_of(manifest, now)]


def _api_service(manifest: Manifest, now: int) -> Cells:
    service = part(manifest, "spec").get("service")
    shown = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    told = next(_availability(manifest), UNKNOWN)
    return [name_of(manifest), shown, told, age_of(manifest, now)]


def _availability(manifest: Manifest) -> Iterator[str]:
    for one in part(manifest, "status").get("conditions") or ():
        if one.get("type") == "Available":
            status, reason = one.get("status", ""), one.get("reason")
            yield status if status == "True" or not reason else f"{status} ({reason})"


def _definition(manifest: Manifest, now: int) -> Cells:
    spec, status = part(manifest, "spec"), part(manifest, "status")
    served = [one for one in spec.get("versions") or () if one.get("served")]
    versions = sorted(f"{one['name']}{'(storage)' if one.get('storage') else ''}" for one in served)
    told = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    names = part(spec, "names")
    return [
        name_of(manifest), spec.get("scope", ""), ",".join(versions), manifest["metadata"].get("creationTimestamp"),
        spec.get("group", ""), names.get("kind", ""), ",".join(names.get("shortNames") or ()),
        told.get("Established") == "True",
    ]  # fmt: skip


_HOOKS: Final = ("Name|Webhooks:integer|Age", _webhooks)
_BOUND: Final = ("Name|Role|Age|!Users|!Groups|!ServiceAccounts", _binding)
_ROLE: Final = ("Name|Created At:date", created)

PRINTED: Final[dict[str, Printed]] = {
    "Role": _ROLE,
    "ClusterRole": _ROLE,
    "RoleBinding": _BOUND,
    "ClusterRoleBinding": _BOUND,
    "Ingress": ("Name|Class|Hosts|Address|Ports|Age", _ingress),
    "IngressClass": ("Name|Controller|Parameters|Age", _ingress_class),
    "NetworkPolicy": ("Name|Pod-Selector|Age", _network_policy),
    "IPAddress": ("Name|ParentRef|Age", _ip_address),
    "ServiceCIDR": ("Name|CIDRs|Age", _service_cidr),
    "HorizontalPodAutoscaler": ("Name|Reference|Targets|MinPods|MaxPods|Replicas|Age", _autoscaler),
    "MutatingWebhookConfiguration": _HOOKS,
    "ValidatingWebhookConfiguration": _HOOKS,
    "ValidatingAdmissionPolicy": ("Name|Validations:integer|ParamKind|Age", _policy),
    "ValidatingAdmissionPolicyBinding": ("Name|PolicyName|ParamRef|Age", _policy_binding),
    "CertificateSigningRequest": ("Name|Age|SignerName|Requestor|RequestedDuration|Condition", _signing_request),
    "FlowSchema": ("Name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL", _flow_schema),
    "PriorityLevelConfiguration": (
        "Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age", _priority_level
    ),
    "APIService": ("Name|Service|Available|Age", _api_service),
    "CustomResourceDefinition": (
        "Name|Scope|Versions|Created At:date|!Group|!Kind|!ShortNames|!Established:boolean", _definition
    ),
}  # fmt: skip
