"""Limit ranges: what containers get that name no requests and limits, and what is too small, too large or too uneven.

Every range of a namespace holds; bounds are of each container, of a pod as a whole, or of the storage of a claim.
Source: kubernetes v1.34.1, plugin/pkg/admission/limitranger; core/v1 defaults of LimitRange.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scheduler_core.admission.context import AdmissionContext, Manifest, refused
from scheduler_core.admission.defaults.pods import containers_of
from scheduler_core.api.manifests import convert
from scheduler_core.api.meta import ResourceList
from scheduler_core.api.pod import PodSpec
from scheduler_core.api.policy import LimitRange, LimitRangeItem
from scheduler_core.api.quantity import Quantity
from scheduler_core.api.resources import CPU, MEMORY, container_limits, container_requests

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_NOTHING: Final[ResourceList] = {}
_CONTAINER, _POD, _CLAIM = "Container", "Pod", "PersistentVolumeClaim"


def apply_limit_ranges(pod: Manifest, context: AdmissionContext) -> None:
    """Give containers the requests and limits they lack; an annotation says what was given."""
    for limit_range in _ranges(pod, context):
        limits: ResourceList = {}
        requests: ResourceList = {}
        for item in limit_range.spec.limits or ():
            if item.type == _CONTAINER:
                given = container_defaults(item)
                limits, requests = {**limits, **given[0]}, {**requests, **given[1]}
        told = [
            text
            for field, what in (("containers", "container"), ("initContainers", "init container"))
            for container in pod["spec"].get(field) or ()
            for text in _filled(container, requests, limits, what)
        ]
        if told:
            annotations = pod["metadata"].get("annotations") or {}
            pod["metadata"]["annotations"] = {**annotations, ANNOTATION: f"LimitRanger plugin set: {'; '.join(told)}"}


def container_defaults(item: LimitRangeItem) -> tuple[ResourceList, ResourceList]:
    """Default limits (else the maximum), and default requests (else the default limit, else the minimum)."""
    limits = {**(item.max or {}), **(item.default or {})}
    requests = {**(item.min or {}), **limits, **(item.default_request or {})}
    return limits, requests


def _filled(container: Manifest, requests: ResourceList, limits: ResourceList, what: str) -> Iterator[str]:
    for field, defaults in (("requests", requests), ("limits", limits)):
        given = container.get("resources", {}).get(field, {})
        missing = {name: str(quantity) for name, quantity in defaults.items() if name not in given}
        if missing:
            container.setdefault("resources", {})[field] = {**given, **missing}
            yield f"{', '.join(sorted(missing))} {field[:-1]} for {what} {container['name']}"


def admit_within_limits(manifest: Manifest, kind: str, context: AdmissionContext) -> None:
    """Refuse a pod or a claim that is outside a range."""
    check = {"Pod": _pod_problems, "PersistentVolumeClaim": _claim_problems}.get(kind)
    if check is None:
        return
    for limit_range in _ranges(manifest, context):
        problems = list(dict.fromkeys(check(manifest, limit_range.spec.limits or ())))
        if problems:
            raise refused("", problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


def _ranges(manifest: Manifest, context: AdmissionContext) -> list[LimitRange]:
    namespace = manifest["metadata"].get("namespace", "")
    return sorted(context.limit_ranges.get(namespace, ()), key=lambda one: one.name)


def _pod_problems(pod: Manifest, items: Iterable[LimitRangeItem]) -> Iterator[str]:
    spec = convert(pod["spec"], PodSpec, path="spec")
    for item in items:
        if item.type == _CONTAINER:
            for container in containers_of(pod["spec"]):
                resources = container.get("resources") or {}
                yield from _outside(item, _parsed(resources.get("requests")), _parsed(resources.get("limits")))
        elif item.type == _POD:
            own = spec.resources
            requests = _at_pod_level(container_requests(spec), own.requests if own is not None else None)
            limits = _at_pod_level(container_limits(spec), own.limits if own is not None else None)
            yield from _outside(item, requests, limits)


def _at_pod_level(total: ResourceList, own: ResourceList | None) -> ResourceList:
    """Sums of the containers, unless the pod says what it needs as a whole."""
    return {**total, **{name: quantity for name, quantity in (own or {}).items() if name in (CPU, MEMORY)}}


def _parsed(resources: Mapping[str, str] | None) -> ResourceList:
    return convert(dict(resources or {}), ResourceList, path="resources")


def _outside(item: LimitRangeItem, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    """How the amounts of a container or a pod break a range."""
    for name, least in (item.min or {}).items():
        yield from _below(item.type, name, least, requests, limits)
    for name, most in (item.max or {}).items():
        limit, request = limits.get(name), requests.get(name)
        text = f"maximum {name} usage per {item.type} is {most}"
        if limit is None:
            yield f"{text}.  No limit is specified"
        elif limit > most:
            yield f"{text}, but limit is {limit}"
        elif request is not None and request > most:
            yield f"{text}, but request is {request}"
    for name, ratio in (item.max_limit_request_ratio or {}).items():
        limit, request = limits.get(name), requests.get(name)
        text = f"{name} max limit to request ratio per {item.type} is {ratio}"
        if request is None or request.is_zero:
            yield f"{text}, but no request is specified or request is 0"
        elif limit is None or limit.is_zero:
            yield f"{text}, but no limit is specified or limit is 0"
        elif limit.nano * 10**9 > ratio.nano * request.nano:
            yield f"{text}, but provided ratio is {limit.nano / request.nano:f}"


def _below(kind: str, name: str, least: Quantity, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    limit, request = limits.get(name), requests.get(name)
    text = f"minimum {name} usage per {kind} is {least}"
    if request is None:
        yield f"{text}.  No request is specified"
    elif request < least:
        yield f"{text}, but request is {request}"
    elif limit is not None and limit < least:
        yield f"{text}, but limit is {limit}"


def _claim_problems(claim: Manifest, items: Iterable[LimitRangeItem]) -> Iterator[str]:
    requests = _parsed(((claim["spec"].get("resources")) or {}).get("requests"))
    for item in items:
        if item.type != _CLAIM:
            continue
        for name, least in (item.min or {}).items():
            yield from _below(item.type, name, least, requests, _NOTHING)
        for name, most in (item.max or {}).items():
            request = requests.get(name)
            text = f"maximum {name} usage per {item.type} is {most}"
            if request is None:
                yield f"{text}.  No request is specified"
            elif request > most:
                yield f"{text}, but request is {request}"
