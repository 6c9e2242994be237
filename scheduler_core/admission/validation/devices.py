"""What is checked of claims of devices, their classes and what drivers offer.

Source: kubernetes v1.34.1, pkg/apis/resource/validation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    admin_access_problem,
    duplicate,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.claims import template_metadata_problems
from scheduler_core.admission.validation.formats import named
from scheduler_core.admission.validation.pods import node_selector_problems
from scheduler_core.admission.validation.volume_sources import driver_name_problems
from scheduler_core.api.go_values import quoted
from scheduler_core.api.schema import internal_text
from scheduler_core.cel import INVALID, selector_problem

_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_ONE_REQUEST: Final = "exactly one of `exactly` or `firstAvailable` is required"
_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_PLACES: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_MOST: Final = 32
_LONGEST_JSON: Final = 10240  # of an expression, and of parameters of drivers


def resource_claim_problems(manifest: Manifest, *, allows_admin: bool = True) -> Iterator[Problem]:
    if not allows_admin:
        yield from _admin_access(manifest["spec"])
    yield from _device_claim("spec.devices", manifest["spec"]["devices"])


def resource_claim_template_problems(manifest: Manifest, *, allows_admin: bool = True) -> Iterator[Problem]:
    spec = manifest["spec"]
    if not allows_admin:
        yield from _admin_access(spec["spec"])
    yield from template_metadata_problems("spec.metadata", spec.get("metadata", {}))
    yield from _device_claim("spec.spec.devices", spec["spec"]["devices"])


def _admin_access(spec: Manifest) -> Iterator[Problem]:
    """The first request that asks for it; the path is that of a claim in templates too."""
    for index, request in enumerate(spec["devices"].get("requests") or ()):
        if request.get("exactly", {}).get("adminAccess"):
            yield admin_access_problem(f"spec.devices.requests[{index}].adminAccess")
            return


def request_names(devices: Manifest) -> set[str]:
    """What a claim calls its requests and their alternatives."""
    requests = devices.get("requests") or []
    alternatives = {
        f"{request['name']}/{one['name']}" for request in requests for one in request.get("firstAvailable", ())
    }
    return alternatives | {request["name"] for request in requests}


def _device_claim(path: str, devices: Manifest) -> Iterator[Problem]:
    requests = devices.get("requests") or []
    known = request_names(devices)
    for index, request in enumerate(requests):
        yield from _request(f"{path}.requests[{index}]", request)
    yield from _unique(f"{path}.requests", requests, _MOST)
    constraints, configs = devices.get("constraints", ()), devices.get("config", ())
    for index, constraint in enumerate(constraints):
        at = f"{path}.constraints[{index}]"
        yield from _references(f"{at}.requests", constraint.get("requests", []), known)
        if "matchAttribute" in constraint:
            yield from _qualified(f"{at}.matchAttribute", constraint["matchAttribute"], full=True)
        else:
            yield required(f"{at}.matchAttribute")
    if len(constraints) > _MOST:
        yield too_many(f"{path}.constraints", len(constraints), _MOST)
    for index, config in enumerate(configs):
        at = f"{path}.config[{index}]"
        yield from _references(f"{at}.requests", config.get("requests", []), known)
        yield from configuration_problems(at, config)
    if len(configs) > _MOST:
        yield too_many(f"{path}.config", len(configs), _MOST)


def _unique(path: str, items: list[Manifest], most: int) -> Iterator[Problem]:
    if len(items) > most:
        yield too_many(path, len(items), most)
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item["name"] in seen:
            yield duplicate(f"{path}[{index}].name", item["name"])
        seen.add(item["name"])


def _references(path: str, names: list[str], known: set[str]) -> Iterator[Problem]:
    for index, name in enumerate(names):
        yield from reference_problems(f"{path}[{index}]", name, known)
    if len(names) > _MOST:
        yield too_many(path, len(names), _MOST)
    for index, name in enumerate(names):
        if name in names[:index]:
            yield duplicate(f"{path}[{index}]", name)


def reference_problems(path: str, name: str, known: set[str]) -> Iterator[Problem]:
    """Of the name of a request, or of one of its alternatives."""
    segments = name.split("/")
    if len(segments) > 2:
        yield invalid(path, name, _NO_REQUEST)
        return
    for segment in segments:
        yield from named(path, segment, formats.label(segment))
    if name not in known:
        yield invalid(path, name, _NO_REQUEST)


def configuration_problems(path: str, config: Manifest) -> Iterator[Problem]:
    opaque = config.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from driver_name_problems(f"{path}.opaque.driver", opaque["driver"])
    yield from raw_problems(f"{path}.opaque.parameters", opaque.get("parameters"))


def raw_problems(path: str, value: Any) -> Iterator[Problem]:
    """Of what only a driver understands: an object of a limited size, none of which is shown."""
    if value is None:
        yield required(path)
    elif len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()) > _LONGEST_JSON:
        yield too_long(path, _LONGEST_JSON)
    elif not isinstance(value, dict):
        yield invalid(path, "<value omitted>", "parameters must be a valid JSON object")


def _request(path: str, request: Manifest) -> Iterator[Problem]:
    yield from named(f"{path}.name", request["name"], formats.label(request["name"]))
    alternatives = request.get("firstAvailable", [])
    for index, one in enumerate(alternatives):
        at = f"{path}.firstAvailable[{index}]"
        yield from named(f"{at}.name", one["name"], formats.label(one["name"]))
        yield from _exact(at, one)
    yield from _unique(f"{path}.firstAvailable", alternatives, 8)
    if "exactly" in request:
        yield from _exact(f"{path}.exactly", request["exactly"])
    if not alternatives and "exactly" not in request:
        yield required(path, _ONE_REQUEST)
    elif alternatives and "exactly" in request:
        yield invalid(path, None, f"{_ONE_REQUEST}, but multiple fields are set")


def _exact(path: str, request: Manifest) -> Iterator[Problem]:
    name = request["deviceClassName"]
    if not name:
        yield required(f"{path}.deviceClassName")
    else:
        yield from named(f"{path}.deviceClassName", name, formats.subdomain(name))
    yield from selector_problems(f"{path}.selectors", request.get("selectors", ()))
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == "All":
        if count:
            yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount":
        if count <= 0:
            yield invalid(f"{path}.count", count, "must be greater than zero")
    else:
        yield unsupported(f"{path}.allocationMode", mode, ("All", "ExactCount"))
    for index, toleration in enumerate(request.get("tolerations", ())):
        yield from _toleration(f"{path}.tolerations[{index}]", toleration)


def selector_problems(path: str, selectors: Any) -> Iterator[Problem]:
    for index, selector in enumerate(selectors):
        cel = selector.get("cel")
        if cel is None:
            yield required(f"{path}[{index}].cel")
        elif len(cel["expression"]) > _LONGEST_JSON:
            yield too_long(f"{path}[{index}].cel.expression", _LONGEST_JSON)
        else:
            refusal = selector_problem(cel["expression"])
            if refusal is not None:
                shown = f" {quoted(cel['expression'])}:" if refusal.kind == INVALID else ""
                yield Problem(f"{path}[{index}].cel.expression", f"{refusal.kind}:{shown} {refusal.problem}")
    if len(selectors) > _MOST:
        yield too_many(path, len(selectors), _MOST)


def _toleration(path: str, toleration: Manifest) -> Iterator[Problem]:
    key, value, operator = toleration.get("key"), toleration.get("value", ""), toleration.get("operator", "")
    if key:
        yield from named(f"{path}.key", key, formats.qualified(key))
    if operator == "Exists":
        if value:
            yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from named(f"{path}.value", value, formats.label_value(value))
    elif not operator:
        yield required(f"{path}.operator")
    else:
        yield unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    effect = toleration.get("effect")
    if effect and effect not in ("NoExecute", "NoSchedule"):
        yield unsupported(f"{path}.effect", effect, ("NoExecute", "NoSchedule"))


def device_class_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    yield from selector_problems("spec.selectors", spec.get("selectors", ()))
    configs = spec.get("config", ())
    for index, config in enumerate(configs):
        yield from configuration_problems(f"spec.config[{index}]", config)
    if len(configs) > _MOST:
        yield too_many("spec.config", len(configs), _MOST)


def resource_slice_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    yield from driver_name_problems("spec.driver", spec["driver"])
    pool = spec["pool"]
    yield from pool_name_problems("spec.pool.name", pool["name"])
    if pool["resourceSliceCount"] <= 0:
        yield invalid("spec.pool.resourceSliceCount", pool["resourceSliceCount"], "must be greater than zero")
    if pool["generation"] < 0:
        yield invalid("spec.pool.generation", pool["generation"], "must be greater than or equal to zero")
    yield from _placement(spec)
    devices = spec.get("devices") or []
    for index, device in enumerate(devices):
        yield from _device(f"spec.devices[{index}]", device)
    yield from _unique("spec.devices", devices, 128)


def pool_name_problems(path: str, name: str) -> Iterator[Problem]:
    if not name:
        yield required(path)
        return
    if len(name) > 253:
        yield too_long(path, 253)
    for part in name.split("/"):
        yield from named(path, part, formats.subdomain(part))


def _placement(spec: Manifest) -> Iterator[Problem]:
    given = []
    if "nodeName" in spec:
        if spec["nodeName"]:
            given.append("`nodeName`")
            yield from named("spec.nodeName", spec["nodeName"], formats.subdomain(spec["nodeName"]))
        else:
            yield invalid("spec.nodeName", "", "must be either unset or set to a non-empty string")
    if "nodeSelector" in spec:
        given.append("`nodeSelector`")
        yield from node_selector_problems("spec.nodeSelector", spec["nodeSelector"])
        terms = spec["nodeSelector"]["nodeSelectorTerms"] or []
        if len(terms) != 1:
            shown = Shown(internal_text(spec["nodeSelector"]["nodeSelectorTerms"], "[]core.NodeSelectorTerm"))
            yield invalid("spec.nodeSelector.nodeSelectorTerms", shown, "must have exactly one node selector term")
    for field in ("allNodes", "perDeviceNodeSelection"):
        if field in spec:
            if spec[field]:
                given.append(f"`{field}`")
            else:
                yield invalid(f"spec.{field}", False, "must be either unset or set to true")
    if not given:
        yield required("spec", _PLACES)
    elif len(given) > 1:
        yield invalid("spec", f"{{{', '.join(given)}}}", f"{_PLACES}, but multiple fields are set")


def _device(path: str, device: Manifest) -> Iterator[Problem]:
    yield from named(f"{path}.name", device["name"], formats.label(device["name"]))
    attributes, capacity = device.get("attributes", {}), device.get("capacity", {})
    for name, attribute in attributes.items():
        yield from _qualified(f"{path}.attributes[{name}]", name)
        yield from _attribute(f"{path}.attributes[{name}]", attribute)
    for name in capacity:
        yield from _qualified(f"{path}.capacity[{name}]", name)
    if len(attributes) + len(capacity) > 32:
        detail = "the total number of attributes and capacities must not exceed 32"
        yield invalid(path, len(attributes) + len(capacity), detail)


def _attribute(path: str, attribute: Manifest) -> Iterator[Problem]:
    if "string" in attribute and len(attribute["string"]) > 64:
        yield too_long(f"{path}.string", 64)
    version = attribute.get("version")
    if version is not None:
        if not _SEMVER.fullmatch(version):
            detail = "must be a string compatible with semver.org spec 2.0.0"
            yield invalid(f"{path}.version", version, detail)
        if len(version) > 64:
            yield too_long(f"{path}.version", 64)
    if not attribute:
        yield required(path, "exactly one value must be specified")
    elif len(attribute) > 1:
        shown = Shown(internal_text(attribute, "resource.DeviceAttribute"))
        yield invalid(path, shown, "exactly one value must be specified")


def _qualified(path: str, name: str, *, full: bool = False) -> Iterator[Problem]:
    if not name:
        yield required(path, "name required")
        return
    domain, _, last = name.rpartition("/")
    if "/" in name:
        if not domain:
            yield required(path, "the domain must not be empty")
        else:
            yield from driver_name_problems(path, domain)
        if not last:
            yield required(path, "the name must not be empty")
    if last:
        if len(last) > 32:
            yield too_long(path, 32)
        yield from named(path, last, formats.c_identifier(last))
    if full and "/" not in name:
        yield invalid(path, name, "must include a domain")
