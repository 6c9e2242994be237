"""Replies in the form that a client wants: as they are, as tables, or as metadata alone.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from unicodedata import category

from kschedweb.kubeapi.exchange import JSON, Answer, RefusedError
from kschedweb.kubeapi.media import Form
from scheduler_core.apiserver import lists, tables
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.replies import Reply, Shown


def shown(reply: Reply, form: Form, include: str, now: int) -> Answer:
    """The reply in the form that the client wants."""
    headers = [
        ("warning", f"299 - {json.dumps(told, ensure_ascii=False)}") for told in reply.warnings if _may_be_header(told)
    ]
    if reply.retry_after_seconds:
        headers.append(("retry-after", str(reply.retry_after_seconds)))
    body: Any = reply.body
    if form.shape and reply.code < 300 and (body.get("kind") != "Status" or form.shape != "Table"):
        body = _reshaped(reply, form, include, now)
    shown = Answer(reply.code, body, form.media_type, tuple(headers))
    if form.media_type == JSON:  # while the objects are at hand; others take their time elsewhere
        shown.body = shown.content()
    return shown


def _may_be_header(text: str) -> bool:
    """Whether it has no control character, which ends an answer; such warnings are not given, as in upstream."""
    return all(category(character) != "Cc" for character in text)


def _reshaped(reply: Reply, form: Form, include: str, now: int) -> Any:
    kind = str(reply.body.get("kind"))
    go_kind = f"*core.{kind}"
    if reply.page is None:
        if form.shape == "PartialObjectMetadataList":
            raise RefusedError(
                Status(
                    406,
                    "NotAcceptable",
                    f"you requested PartialObjectMetadataList, but the requested object is not a list ({go_kind})",
                )
            )
        if reply.stored is None:
            return reply.body
        return object_in(reply.stored, reply.body, form, (include, now), reply.shown)
    if form.shape == "PartialObjectMetadata":
        raise RefusedError(
            Status(
                406,
                "NotAcceptable",
                f"you requested PartialObjectMetadata, but the requested object is a list ({go_kind})",
            )
        )
    if form.shape == "Table" and reply.shown is not None:
        made = tables.shown_table(reply.shown, reply.page.items, now, included(include))
        made["metadata"] = lists.list_metadata(reply.page)
    elif form.shape == "Table":
        made = tables.table_of_page(reply.kind, reply.page, now, included(include))
    else:
        made = tables.metadata_of_page(reply.page)
    return _versioned(made, form)


def object_in(
    stored: Mapping[str, Any],
    manifest: Mapping[str, Any],
    form: Form,
    at: tuple[str, int],
    custom: Shown | None = None,
) -> Mapping[str, Any]:
    """One object in the form that a client wants, with what it includes and at a time.

    `custom`: how it is shown, of a kind that the cluster defines.
    """
    include, now = at
    if not form.shape:
        return manifest
    if form.shape == "Table" and custom is not None:
        made = tables.shown_table(custom, [manifest], now, included(include))
        made["metadata"] = {"resourceVersion": manifest["metadata"].get("resourceVersion", "")}
        return _versioned(made, form)
    if form.shape == "Table":
        if stored["kind"] not in KINDS:
            return manifest
        return _versioned(tables.table_of_object(stored, now, included(include)), form)
    return _versioned(tables.metadata_of_object(manifest), form)


def included(include: str) -> str:
    """What a client wants to have included in a row of a table; RefusedError."""
    if include not in ("Metadata", "Object", "None"):
        message = (
            f"Unable to convert to Table as requested: includeObject: Invalid value: \"{include}\": must be 'Metadata',"
            " 'Object', 'None', or empty"
        )
        raise RefusedError(Status(400, "BadRequest", message))
    return include


def _versioned(made: dict[str, Any], form: Form) -> dict[str, Any]:
    """Old clients ask for the version before, which differs in name only."""
    if form.version == "meta.k8s.io/v1":
        return made
    changed = {**made, "apiVersion": form.version}
    for name in ("items", "rows"):
        if changed.get(name):
            changed[name] = [_versioned_item(item, form.version) for item in changed[name]]
    return changed


def _versioned_item(item: dict[str, Any], version: str) -> dict[str, Any]:
    if item.get("kind") == "PartialObjectMetadata":
        return {**item, "apiVersion": version}
    inner = item.get("object")
    if isinstance(inner, dict) and inner.get("kind") == "PartialObjectMetadata":
        return {**item, "object": {**inner, "apiVersion": version}}
    return item
