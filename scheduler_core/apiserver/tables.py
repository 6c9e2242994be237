"""Objects as kubectl shows them: a Table with one row each and columns by kind; or their metadata alone.

Columns of priority 1 are those of `kubectl get -o wide`. Source: kubernetes v1.34.1,
pkg/printers/internalversion/printers.go and staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_core.admission.strategies import TEMPLATE_GENERATION
from scheduler_core.apiserver.lists import Page, list_metadata
from scheduler_core.apiserver.printing import PLAIN, PRINTED, cells
from scheduler_core.apiserver.replies import Shown

_META: Final = "meta.k8s.io/v1"


class Column(msgspec.Struct, frozen=True):
    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0


def columns(kind: str) -> list[Column]:
    """The columns of a kind: `!` before a name is priority 1, a type follows after a colon where it is not text."""
    found = []
    for number, text in enumerate(PRINTED.get(kind, PLAIN)[0].split("|")):
        name, _, rest = text.removeprefix("!").partition(":")
        form, _, shown_as = rest.partition(":")
        is_name = name == "Name" and not number
        found.append(Column(name, form or "string", shown_as or ("name" if is_name else ""), int(text[0] == "!")))
    return found


def table(kind: str, items: Sequence[Mapping[str, Any]], now: int, include: str = "Metadata") -> dict[str, Any]:
    """A Table of these objects of a kind in their stored form. `include` is None, Metadata or Object."""
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": {},
        "columnDefinitions": column_definitions(kind),
        # The empty table of a kind without columns of its own has null.
        "rows": [row(item, now, include) for item in items] or ([] if kind in PRINTED else None),
    }


def column_definitions(kind: str) -> list[dict[str, Any]]:
    return [msgspec.structs.asdict(column) | {"description": ""} for column in columns(kind)]


def table_of_page(kind: str, page: Page, now: int, include: str = "Metadata") -> dict[str, Any]:
    return {**table(kind, page.items, now, include), "metadata": list_metadata(page)}


def table_of_object(manifest: Mapping[str, Any], now: int, include: str = "Metadata") -> dict[str, Any]:
    metadata = {"resourceVersion": manifest["metadata"].get("resourceVersion", "")}
    return {**table(manifest["kind"], [manifest], now, include), "metadata": metadata}


def row(manifest: Mapping[str, Any], now: int, include: str) -> dict[str, Any]:
    built: dict[str, Any] = {"cells": cells(manifest, now)}
    conditions = _row_conditions(manifest)
    if conditions:
        built["conditions"] = conditions
    built["object"] = {"Object": manifest, "None": None}.get(include, metadata_of_object(manifest))
    return built


def _row_conditions(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Pods and jobs that have ended say so, for clients that show them otherwise."""
    if manifest["kind"] != "Pod":
        return []
    phase = (manifest.get("status") or {}).get("phase")
    if phase not in ("Succeeded", "Failed"):
        return []
    message = "The pod has completed successfully." if phase == "Succeeded" else "The pod failed."
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


def shown_table(found: Shown, items: Sequence[Mapping[str, Any]], now: int, include: str) -> dict[str, Any]:
    """A Table of objects of a kind that a cluster defines, as clients see them."""
    made = found.table(items, now)
    rows = [
        {"cells": cells, "object": {"Object": item, "None": None}.get(include, metadata_of_object(item))}
        for item, cells in zip(items, made.rows, strict=True)
    ]
    return {"kind": "Table", "apiVersion": _META, "metadata": {}, "columnDefinitions": made.columns, "rows": rows}


def metadata_of_object(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A PartialObjectMetadata; what the server keeps elsewhere and shows as an annotation is not part of it."""
    metadata = manifest["metadata"]
    annotations = metadata.get("annotations") or {}
    if manifest.get("kind") == "DaemonSet" and TEMPLATE_GENERATION in annotations:
        metadata = {**metadata, "annotations": {k: v for k, v in annotations.items() if k != TEMPLATE_GENERATION}}
        if not metadata["annotations"]:
            del metadata["annotations"]
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": metadata}


def metadata_of_page(page: Page) -> dict[str, Any]:
    """A PartialObjectMetadataList, whose empty list is null."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": _META,
        "metadata": list_metadata(page),
        "items": [metadata_of_object(item) for item in page.items] or None,
    }
