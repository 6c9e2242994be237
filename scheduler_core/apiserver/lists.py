"""Lists: which objects, of which moment, how many at a time.

A page's `continue` names the last object and the moment; the next page is of the same moment as far as the store still
knows it. Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/{storage,registry/generic}.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from scheduler_core.apiserver.answers import Cause, Refused, Status, bad_request
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.selection import Selection
from scheduler_core.apiserver.store import History, Stored, key_of

RETRY_SECONDS: Final = 1
_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without"
    " the continue parameter."
)


class ListQuery(msgspec.Struct, frozen=True):
    """A list as it is asked for. `version_match` is empty, Exact or NotOlderThan."""

    selection: Selection
    resource_version: str = ""
    version_match: str = ""
    limit: int = 0
    continued: str = ""


class Page(msgspec.Struct, frozen=True):
    """Objects in order, the position they are of, and what a client needs for the next page."""

    items: Sequence[Stored]
    resource_version: int
    continued: str = ""
    remaining: int = 0


def page(store: History, query: ListQuery) -> Page | Refused:
    """The objects asked for, or why not."""
    problem = _problem(query)
    if problem is not None:
        return problem
    position, start, exact = store.position(), "", None
    if query.continued:
        found = _continued(query.continued)
        if found is None:
            return bad_request("continue key is not valid")
        exact, start = found
    elif query.resource_version not in ("", "0"):
        wanted = int(query.resource_version)
        if wanted > position:
            return too_large(wanted, position)
        if query.version_match == "Exact" or (query.limit and not query.version_match):
            exact = wanted
    if exact is not None:
        if exact < store.oldest_position():
            return _too_old(exact, store.oldest_position(), bool(query.continued))
        objects, position = store.list_at(query.selection.kind, query.selection.namespace, exact), exact
    else:
        objects = store.list(query.selection.kind, namespace=query.selection.namespace)
    chosen = [manifest for manifest in objects if query.selection.matches(manifest)]
    return _cut(chosen, query, position, start)


def _cut(chosen: list[Stored], query: ListQuery, position: int, start: str) -> Page:
    """What comes after `start`, and no more than the limit; from the cache the limit does not count."""
    rest = [manifest for manifest in chosen if _place(manifest) > start] if start else chosen
    limit = 0 if query.resource_version == "0" and not query.version_match else query.limit
    if limit <= 0 or len(rest) <= limit:
        return Page(rest, position)
    items = rest[:limit]
    token = json.dumps({"v": "meta.k8s.io/v1", "rv": position, "start": _place(items[-1])}, separators=(",", ":"))
    remaining = 0 if query.selection.has_terms else len(rest) - limit
    return Page(items, position, base64.urlsafe_b64encode(token.encode()).decode().rstrip("="), remaining)


def _place(manifest: Stored) -> str:
    key: ObjectKey = key_of(manifest)
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def _continued(token: str) -> tuple[int, str] | None:
    try:
        found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(found["rv"]), str(found["start"])
    except (ValueError, KeyError, TypeError):
        return None


def _problem(query: ListQuery) -> Refused | None:
    """What does not go together in the options of a list."""
    version, match = query.resource_version, query.version_match
    causes: list[Cause] = []
    if match:
        if not version:
            detail = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
            causes.append(Cause("FieldValueForbidden", detail, "resourceVersionMatch"))
        if query.continued:
            detail = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
            causes.append(Cause("FieldValueForbidden", detail, "resourceVersionMatch"))
        if match not in ("Exact", "NotOlderThan"):
            detail = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
            causes.append(Cause("FieldValueNotSupported", detail, "resourceVersionMatch"))
        if match == "Exact" and version == "0":
            detail = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.append(Cause("FieldValueForbidden", detail, "resourceVersionMatch"))
    if causes:
        return options_refused("ListOptions", causes)
    if query.continued and version not in ("", "0"):
        return bad_request("specifying resource version is not allowed when using continue")
    if version and not version.isdigit():
        detail = f'Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
        return bad_request(f"invalid resource version: resourceVersion: {detail}")
    return None


def options_refused(kind: str, causes: Sequence[Cause]) -> Refused:
    """The options of a request are not valid, whatever it asks for."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    shown = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f'{kind}.meta.k8s.io "" is invalid: {shown}'
    return Refused(Status(422, "Invalid", message, "", "meta.k8s.io", kind, causes=tuple(causes)))


def too_large(wanted: int, position: int) -> Refused:
    """The store has not come to this position yet."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    message = f"Timeout: Too large resource version: {wanted}, current: {position}"
    return Refused(Status(504, "Timeout", message, causes=(cause,), retry_after_seconds=RETRY_SECONDS))


def _too_old(wanted: int, oldest: int, is_continued: bool) -> Refused:
    message = _EXPIRED if is_continued else f"The resourceVersion for the provided list is too old: {wanted} ({oldest})"
    return Refused(Status(410, "Expired", message))


def list_manifest(kind: str, page: Page) -> dict[str, Any]:
    """The page as a list object: items carry neither kind nor apiVersion."""
    return {
        "kind": f"{kind}List",
        "apiVersion": KINDS[kind].cls.api_version,
        "metadata": list_metadata(page),
        "items": [
            {name: value for name, value in item.items() if name not in ("kind", "apiVersion")} for item in page.items
        ],
    }


def list_metadata(page: Page) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(page.resource_version)}
    if page.continued:
        metadata["continue"] = page.continued
    if page.remaining:
        metadata["remainingItemCount"] = page.remaining
    return metadata
