"""Definitions of kinds: names, versions, columns and parts; what is asked of their schemas is in `schemas`.

What all versions have alike, the API server keeps beside them, and its messages name that place.
Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, forbidden, invalid, required, unsupported
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.schemas import schema_problems
from scheduler_core.api.schema import json_text

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_APPROVED: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_MOST_SELECTABLE: Final = 8
_LONGEST_WARNING: Final = 256
_SELECTABLE: Final = ("string", "boolean", "integer")
_BAD_PATH: Final = "must be a simple json path starting with ."


def definition_problems(manifest: Manifest) -> Iterator[Problem]:
    """Of a definition, but for its metadata."""
    spec, wanted = manifest["spec"], f"{manifest['spec']['names']['plural']}.{manifest['spec']['group']}"
    name = manifest["metadata"].get("name", "")
    if name != wanted:
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _spec(spec)
    names = (manifest.get("status") or {}).get("acceptedNames") or {}
    yield from _names(names, "status.acceptedNames")
    yield from _stored_versions(manifest)
    yield from _approval(manifest)
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", True, detail)


def definition_change_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    """Of a change: the names under which objects are stored stay."""
    spec, before = new["spec"], old["spec"]
    if is_established(old):
        yield from formats.immutable("spec.scope", spec["scope"], before["scope"])
        yield from formats.immutable("spec.names.kind", spec["names"]["kind"], before["names"]["kind"])
    yield from formats.immutable("spec.group", spec["group"], before["group"])
    yield from formats.immutable("spec.names.plural", spec["names"]["plural"], before["names"]["plural"])


def definition_status_problems(manifest: Manifest) -> Iterator[Problem]:
    yield from _names((manifest.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def is_established(definition: Mapping[str, Any]) -> bool:
    """Whether objects of the kind are served."""
    return has_condition(definition, "Established")


def has_condition(definition: Mapping[str, Any], kind: str) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions)


def _spec(spec: Manifest) -> Iterator[Problem]:
    yield from _group(spec["group"])
    if not spec["scope"]:
        yield required("spec.scope")
    elif spec["scope"] not in ("Cluster", "Namespaced"):
        yield unsupported("spec.scope", spec["scope"], ["Cluster", "Namespaced"])
    versions: list[Manifest] = spec["versions"] or []
    yield from _versions(versions)
    names = spec["names"]
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    yield from _names(names, "spec.names")
    yield from _conversion(spec.get("conversion"))


def _group(group: str) -> Iterator[Problem]:
    if not group:
        yield required("spec.group")
    elif problems := formats.subdomain(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _versions(versions: Sequence[Manifest]) -> Iterator[Problem]:
    alike = {field: _alike([one.get(field) for one in versions]) for field in _SHARED}
    for index, one in enumerate(versions):
        path = f"spec.versions[{index}]"
        if (one.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(f"{path}.schema.openAPIV3Schema")
    for index, one in enumerate(versions):
        path = f"spec.versions[{index}]"
        if problems := formats.dns_1035(one["name"]):
            yield invalid(f"{path}.name", one["name"], ",".join(problems))
        yield from _deprecation(one, f"{path}.deprecationWarning")
        has_status = _has_status(one)
        if not alike["schema"]:
            yield from schema_problems(one.get("schema"), f"{path}.schema", has_status=has_status)
        if not alike["subresources"]:
            yield from _parts(one.get("subresources"), f"{path}.subresources")
        if not alike["additionalPrinterColumns"]:
            yield from _columns(one, f"{path}.additionalPrinterColumns")
        yield from _selectable_fields(one, f"{path}.selectableFields")
    shown = json_text(list(versions), "[]apiextensions.CustomResourceDefinitionVersion")
    if len({one["name"] for one in versions}) < len(versions):
        yield Problem("spec.versions", f"Invalid value: {shown}: must contain unique version names")
    if sum(bool(one["storage"]) for one in versions) != 1:
        yield Problem(
            "spec.versions", f"Invalid value: {shown}: must have exactly one version marked as storage version"
        )
    if alike["schema"]:
        has_any = any(map(_has_status, versions))
        yield from schema_problems(versions[0]["schema"], "spec.validation", has_status=has_any)
    if alike["subresources"]:
        yield from _parts(versions[0]["subresources"], "spec.subresources")
    if alike["additionalPrinterColumns"]:
        yield from _columns(versions[0], "spec.additionalPrinterColumns")


_SHARED: Final = ("schema", "subresources", "additionalPrinterColumns")


def _alike(values: Sequence[Any]) -> bool:
    return bool(values) and values[0] is not None and all(value == values[0] for value in values)


def _has_status(version: Manifest) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _deprecation(version: Manifest, path: str) -> Iterator[Problem]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(path, warning, "can only be set for deprecated versions")
    if len(warning.encode()) > _LONGEST_WARNING:
        yield invalid(path, warning, f"must be <= {_LONGEST_WARNING} characters long")
    if not warning:
        yield invalid(path, warning, "must not be an empty string")
    place = next((at for at, char in enumerate(warning) if not char.isprintable()), None)
    if place is not None:
        detail = f"must only contain printable UTF-8 characters; non-printable character found at index {place}"
        yield invalid(path, warning, detail)


def _parts(parts: Manifest | None, path: str) -> Iterator[Problem]:
    scale = (parts or {}).get("scale")
    if scale is None:
        return
    for field, roots, is_needed in (
        ("specReplicasPath", (".spec.",), True),
        ("statusReplicasPath", (".status.",), True),
        ("labelSelectorPath", (".spec.", ".status."), False),
    ):
        found, place = scale.get(field) or "", f"{path}.scale.{field}"
        if not found:
            if is_needed:
                yield required(place)
        elif found[0] != ".":
            yield invalid(place, found, _BAD_PATH)
        elif not found.startswith(roots):
            under = "either .spec or .status" if len(roots) > 1 else roots[0].rstrip(".")
            yield invalid(place, found, f"should be a json path under {under}")


def _columns(version: Manifest, path: str) -> Iterator[Problem]:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        place, types = f"{path}[{index}]", f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column["name"]:
            yield required(f"{place}.name")
        if not column["type"]:
            yield required(f"{place}.type", types)
        elif column["type"] not in _COLUMN_TYPES:
            yield invalid(f"{place}.type", column["type"], types)
        if column.get("format") and column["format"] not in _COLUMN_FORMATS:
            yield invalid(f"{place}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not column["jsonPath"]:
            yield required(f"{place}.JSONPath")
        elif column["jsonPath"][0] != ".":
            yield invalid(f"{place}.JSONPath", column["jsonPath"], _BAD_PATH)


def _selectable_fields(version: Manifest, path: str) -> Iterator[Problem]:
    fields, seen = version.get("selectableFields") or (), set[str]()
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    for index, one in enumerate(fields):
        place, found = f"{path}[{index}].jsonPath", one["jsonPath"]
        if not found:
            yield required(place)
            continue
        steps = found.removeprefix(".").split(".")
        below = schema
        for step in steps:
            below = ((below or {}).get("properties") or {}).get(step)
        if below is None or found[0] != ".":
            yield invalid(place, found, "is an invalid path: does not refer to a valid field")
            continue
        if steps[0] == "metadata":
            yield invalid(place, found, "must not point to fields in metadata")
        if below.get("type") not in _SELECTABLE:
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats"
                " are allowed."
            )
            yield invalid(place, found, detail)
        if found in seen:
            yield Problem(place, f'Duplicate value: "{found}"')
        seen.add(found)
    if len(seen) > _MOST_SELECTABLE:
        yield Problem(path, f"Too many: {len(seen)}: must have at most {_MOST_SELECTABLE} items")


def _names(names: Manifest, path: str) -> Iterator[Problem]:
    for field in ("plural", "singular"):
        if names.get(field) and (problems := formats.dns_1035(names[field])):
            yield invalid(f"{path}.{field}", names[field], ",".join(problems))
    for field in ("kind", "listKind"):
        if names.get(field) and (problems := formats.dns_1035(names[field].lower())):
            detail = "may have mixed case, but should otherwise match: " + ",".join(problems)
            yield invalid(f"{path}.{field}", names[field], detail)
    for index, name in enumerate(names.get("shortNames") or ()):
        if problems := formats.dns_1035(name):
            yield invalid(f"{path}.shortNames[{index}]", name, ",".join(problems))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    for index, name in enumerate(names.get("categories") or ()):
        if problems := formats.dns_1035(name):
            yield invalid(f"{path}.categories[{index}]", name, ",".join(problems))


def _conversion(conversion: Manifest | None) -> Iterator[Problem]:
    if conversion is None:
        return
    strategy, hook = conversion["strategy"], conversion.get("webhook") or {}
    config, reviews = hook.get("clientConfig"), hook.get("conversionReviewVersions")
    if not strategy:
        yield required("spec.conversion.strategy")
    elif strategy not in ("None", "Webhook"):
        yield unsupported("spec.conversion.strategy", strategy, ["None", "Webhook"])
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if config is not None:
            yield forbidden("spec.conversion.webhookClientConfig", detail)
        if reviews:
            yield forbidden("spec.conversion.conversionReviewVersions", detail)
        return
    if config is None:
        yield required("spec.conversion.webhookClientConfig", "required when strategy is set to Webhook")
    elif (config.get("url") is None) == (config.get("service") is None):
        yield required("spec.conversion.webhookClientConfig", "exactly one of url or service is required")
    path = "spec.conversion.conversionReviewVersions"
    if not reviews:
        yield required(path)
    elif not {"v1", "v1beta1"} & set(reviews):
        yield invalid(path, reviews, "must include at least one of v1, v1beta1")


def _stored_versions(manifest: Manifest) -> Iterator[Problem]:
    path, stored = "status.storedVersions", (manifest.get("status") or {}).get("storedVersions") or []
    if not stored:
        yield invalid(path, stored, "must have at least one stored version")
        return
    versions = manifest["spec"]["versions"] or ()
    names = {one["name"] for one in versions}
    for one in versions:
        if one["storage"] and one["name"] not in stored:
            yield invalid(path, stored, f"must have the storage version {one['name']}")
    for index, name in enumerate(stored):
        if name not in names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions"
                f" until a storage migration ensures no data remains persisted in {name} and removes {name} from"
                " status.storedVersions"
            )
            yield invalid(f"{path}[{index}]", name, detail)


def _approval(manifest: Manifest) -> Iterator[Problem]:
    """Groups of the project itself need to have been approved."""
    group: str = manifest["spec"]["group"]
    if not any(group == one or group.endswith(f".{one}") for one in _PROTECTED):
        return
    path, said = f"metadata.annotations[{_APPROVED}]", (manifest["metadata"].get("annotations") or {}).get(_APPROVED)
    wanted = (
        f'protected groups must have approval annotation "{_APPROVED}", see'
        " https://github.com/kubernetes/enhancements/pull/1111"
    )
    if said is None or said == "":
        yield required(path, wanted)
    elif not said.startswith("unapproved") and "://" not in said:
        detail = (
            f'protected groups must have approval annotation "{_APPROVED}" with either a URL or a reason starting with'
            ' "unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
        )
        yield invalid(path, said, detail)
