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
from scheduler_core.api.quantity import parse

_ENV_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip


# What a field reference may name at all; the rest is not even known.
_KNOWN_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs", "spec.host",
)  # fmt: skip
_OLD_FIELDS: Final = {"spec.host": "spec.nodeName"}


_RESOURCE_FIELDS: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage",
    "requests.memory",
)  # fmt: skip


_WORDS: Final = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}
_CPU_DIVISORS: Final = ("1m", "1")
_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
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
        yield from field_reference(f"{path}.fieldRef", source["fieldRef"], _ENV_FIELDS)
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
    name = reference.get("name", "")
    yield from named(f"{path}.name", name, formats.subdomain(name))
    if not reference["key"]:
        yield required(f"{path}.key")
    else:
        yield from named(f"{path}.key", reference["key"], formats.config_key(reference["key"]))


def field_reference(path: str, reference: Manifest, allowed: tuple[str, ...]) -> Iterator[Problem]:
    """A reference to a field of the pod, by one of these paths or one label or annotation."""
    version, field_path = reference.get("apiVersion", ""), reference["fieldPath"]
    if not version:
        yield required(f"{path}.apiVersion")
        return
    if not field_path:
        yield required(f"{path}.fieldPath")
        return
    at = f"{path}.fieldPath"
    base, sign, subscript = field_path.removesuffix("']").partition("['")
    if not (base and sign and field_path.endswith("']")):
        base, subscript = "", ""
    if version != "v1":
        yield invalid(at, field_path, f"error converting fieldPath: unsupported pod version: {version}")
    elif base == "metadata.annotations":
        yield from named(path, subscript.lower(), formats.qualified(subscript.lower()))
    elif base == "metadata.labels":
        yield from named(path, subscript, formats.qualified(subscript))
    elif base:
        detail = f"error converting fieldPath: field label does not support subscript: {field_path}"
        yield invalid(at, field_path, detail)
    elif field_path not in _KNOWN_FIELDS:
        yield invalid(at, field_path, f"error converting fieldPath: field label not supported: {field_path}")
    elif _OLD_FIELDS.get(field_path, field_path) not in allowed:
        yield unsupported(at, _OLD_FIELDS.get(field_path, field_path), sorted(allowed), is_plain=True)


def resource_reference(path: str, reference: Manifest, *, needs_container: bool) -> Iterator[Problem]:
    """A reference to a request or limit of a container."""
    name = reference["resource"]
    if needs_container and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not name:
        yield required(f"{path}.resource")
    elif name not in _RESOURCE_FIELDS and not name.startswith(_HUGE_PREFIXES):
        yield unsupported(f"{path}.resource", name, _RESOURCE_FIELDS, is_plain=True)
    divisor = parse(reference.get("divisor", "0"))
    what = _WORDS.get(name.partition(".")[2]) if name in _RESOURCE_FIELDS else None
    if name.startswith(_HUGE_PREFIXES):
        what = "hugepages"
    divisors = _CPU_DIVISORS if what == "cpu" else _DIVISORS
    if divisor.nano and what is not None and str(divisor) not in divisors:
        words = "1m and 1" if what == "cpu" else ", ".join(divisors)
        detail = f"only divisor's values {words} are supported with the {what} resource"
        yield invalid(f"{path}.divisor", name, detail)


def env_from_problems(path: str, sources: Any) -> Iterator[Problem]:
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if source.get("prefix"):
            yield from named(f"{at}.prefix", source["prefix"], formats.env_name(source["prefix"]))
        found = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in found:
            given = source[name].get("name", "")
            if not given:
                yield required(f"{at}.{name}.name")
            else:
                yield from named(f"{at}.{name}.name", given, formats.subdomain(formats.as_prefix(given)))
        if not found:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(found) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")
