"""What is checked of a container's environment, and of references to fields and resources of its pod.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    invalid,
    required,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import named

_ENV_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip


# What a field reference may name at all; the rest is not even known.
_KNOWN_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip


_RESOURCE_FIELDS: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage",
    "requests.memory",
)  # fmt: skip


_HUGE_PREFIXES: Final = ("limits.hugepages-", "requests.hugepages-")


def env_problems(path: str, variables: Any) -> Iterator[Problem]:
    for index, variable in enumerate(variables):
        at, name = f"{path}[{index}]", variable["name"]
        if not name:
            yield required(f"{at}.name")
        else:
            yield from named(f"{at}.name", name, formats.env_name(name))
        if "valueFrom" in variable:
            yield from _value_from(f"{at}.valueFrom", variable)


def _value_from(path: str, variable: Manifest) -> Iterator[Problem]:
    source = variable["valueFrom"]
    if "fieldRef" in source:
        yield from field_reference(f"{path}.fieldRef", source["fieldRef"], _ENV_FIELDS, subscripts=True)
    if "resourceFieldRef" in source:
        yield from resource_reference(f"{path}.resourceFieldRef", source["resourceFieldRef"], needs_container=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            yield from _key_reference(f"{path}.{name}", source[name])
    if not source:
        detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield invalid(path, "", detail)
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _key_reference(path: str, reference: Manifest) -> Iterator[Problem]:
    if not reference.get("name"):
        yield required(f"{path}.name")
    if not reference["key"]:
        yield required(f"{path}.key")
    else:
        yield from named(f"{path}.key", reference["key"], formats.config_key(reference["key"]))


def field_reference(path: str, reference: Manifest, allowed: tuple[str, ...], *, subscripts: bool) -> Iterator[Problem]:
    """A reference to a field of the pod, by one of these paths or one label or annotation."""
    version, field_path = reference.get("apiVersion", ""), reference["fieldPath"]
    if not version:
        yield required(f"{path}.apiVersion")
        return
    if not field_path:
        yield required(f"{path}.fieldPath")
        return
    at = f"{path}.fieldPath"
    if field_path.endswith("']") and "['" in field_path:
        base, subscript = field_path[:-2].split("['", 1)
        if base == "metadata.annotations":
            yield from named(at, subscript, formats.qualified(subscript.lower()))
        elif base == "metadata.labels":
            yield from named(at, subscript, formats.qualified(subscript))
        else:
            yield invalid(at, base, "does not support subscript")
        return
    if version != "v1":
        detail = f"error converting fieldPath: unsupported pod version: {version}"
        yield invalid(at, field_path, detail)
    elif field_path not in _KNOWN_FIELDS:
        yield invalid(at, field_path, f"error converting fieldPath: field label not supported: {field_path}")
    elif field_path not in allowed:
        yield unsupported(at, field_path, sorted(allowed))


def resource_reference(path: str, reference: Manifest, *, needs_container: bool) -> Iterator[Problem]:
    """A reference to a request or limit of a container."""
    name = reference["resource"]
    if needs_container and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not name:
        yield required(f"{path}.resource")
    elif name not in _RESOURCE_FIELDS and not name.startswith(_HUGE_PREFIXES):
        yield unsupported(f"{path}.resource", name, _RESOURCE_FIELDS)
    divisors = {
        "cpu": ("1m", "1"),
        "memory": ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"),
    }
    divisor = reference.get("divisor", "0")
    kind = "cpu" if name.endswith(".cpu") else "memory"
    if divisor != "0" and name and divisor not in divisors[kind]:
        words = "1m and 1" if kind == "cpu" else ", ".join(divisors[kind])
        what = {"cpu": "cpu", "memory": "memory"}[kind]
        yield invalid(f"{path}.divisor", name, f"only divisor's values {words} are supported with the {what} resource")


def env_from_problems(path: str, sources: Any) -> Iterator[Problem]:
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if source.get("prefix"):
            yield from named(f"{at}.prefix", source["prefix"], formats.env_name(source["prefix"]))
        found = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in found:
            if not source[name].get("name"):
                yield required(f"{at}.{name}.name")
        if not found:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(found) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")
