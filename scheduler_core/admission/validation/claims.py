"""What is checked of claims of volumes, wherever they stand: claims, templates in StatefulSets, ephemeral volumes.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, forbidden, invalid, required, unsupported
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import named
from scheduler_core.api.quantity import parse
from scheduler_core.api.schema import type_named

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")


def claim_template_problems(path: str, template: Manifest) -> Iterator[Problem]:
    """A claim of which only labels, annotations and spec are read."""
    yield from template_metadata_problems(f"{path}.metadata", template.get("metadata", {}))
    yield from claim_spec_problems(f"{path}.spec", template["spec"])


def template_metadata_problems(path: str, metadata: Manifest) -> Iterator[Problem]:
    """Of the metadata that claims will have which are made by a template."""
    yield from formats.annotation_problems(f"{path}.annotations", metadata.get("annotations"))
    yield from formats.labels(f"{path}.labels", metadata.get("labels"))
    for field in type_named("meta.ObjectMeta").fields:
        if field not in ("annotations", "labels") and metadata.get(field):
            yield forbidden(f"{path}.{'uID' if field == 'uid' else field}", "cannot be set")


def claim_spec_problems(path: str, spec: Manifest) -> Iterator[Problem]:
    modes = spec.get("accessModes", [])
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from formats.label_selector(f"{path}.selector", spec.get("selector"))
    yield from access_mode_problems(f"{path}.accessModes", modes)
    storage = spec["resources"].get("requests", {}).get("storage")
    if storage is None:
        yield required(f"{path}.resources[storage]")
    else:
        at = f"{path}.resources[storage]"
        yield from positive_quantity(at, storage)
    yield from _class(path, spec, "storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield unsupported(f"{path}.volumeMode", mode, VOLUME_MODES)
    yield from _data_sources(path, spec)
    yield from _class(path, spec, "volumeAttributesClassName")


def _class(path: str, spec: Manifest, field: str) -> Iterator[Problem]:
    if spec.get(field):
        yield from named(f"{path}.{field}", spec[field], formats.subdomain(spec[field]))


def access_mode_problems(path: str, modes: list[str]) -> Iterator[Problem]:
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield unsupported(path, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES and mode != "ReadWriteOncePod" for mode in modes):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def positive_quantity(path: str, text: str) -> Iterator[Problem]:
    if parse(text).nano <= 0:
        yield invalid(path, text, "must be greater than zero")


def _data_sources(path: str, spec: Manifest) -> Iterator[Problem]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for field, one in (("dataSource", source), ("dataSourceRef", reference)):
        if one is not None:
            yield from _data_source(f"{path}.{field}", one)
    if source is not None and reference is not None:
        pairs = ((one.get("apiGroup"), one["kind"], one["name"]) for one in (source, reference))
        if len(set(pairs)) > 1 and "namespace" not in reference:
            # The server prints a path of its own there, which comes out empty.
            yield invalid(path, {}, "must match dataSourceRef")


def _data_source(path: str, source: Any) -> Iterator[Problem]:
    for field in ("name", "kind"):
        if not source[field]:
            yield required(f"{path}.{field}")
    group = source.get("apiGroup") or ""
    if not group and source["kind"] != "PersistentVolumeClaim":
        yield invalid(path, source["kind"], "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    if group:
        yield from named(f"{path}.apiGroup", group, formats.subdomain(group))
