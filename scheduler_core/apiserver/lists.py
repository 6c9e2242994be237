"""Lists: which objects, of which moment, how many at a time.

A page's `continue` names the last object and the moment; the next page is of the same moment as far as the store still
knows it. Where it does not, the refusal has a `continue` that goes on after the same object, of the present.
Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/{storage,registry/generic}.
"""

from __future__ import annotations

import base64
import json
import posixpath
import string
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from scheduler_core.api import field_errors
from scheduler_core.api.field_errors import forbidden
from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Cause, Refused, Status, bad_request
from scheduler_core.apiserver.go_json import problem_of
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.numbers import NumberError, parse_uint
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.selection import Selection
from scheduler_core.apiserver.store import History, Stored, key_of

RETRY_SECONDS: Final = 1
_MATCHES: Final = ("Exact", "NotOlderThan")
_TOKEN_VERSION: Final = "meta.k8s.io/v1"
_INVALID: Final = "continue key is not valid"
_BASE64: Final = frozenset(string.ascii_letters + string.digits + "-_")
_PRESENT: Final = -1  # the moment of a token that goes on with what there is then
_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without"
    " the continue parameter, or use the continue token in this response to retrieve the remainder of the results."
    " Continuing with the provided token results in an inconsistent list - objects that were created, modified, or"
    " deleted between the time the first chunk was returned and now may show up in the list."
)


class ListQuery(msgspec.Struct, frozen=True):
    """A list, or a watch, as it is asked for. `version_match` is empty, Exact or NotOlderThan.

    `wants_initial` is sendInitialEvents, None where nothing is said of it; `timeout_seconds` is of a watch.
    """

    selection: Selection
    resource_version: str = ""
    version_match: str = ""
    limit: int = 0
    continued: str = ""
    wants_initial: bool | None = None
    wants_bookmarks: bool = False
    timeout_seconds: int = 0


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
        try:
            told, start = _continued(query.continued)
            exact = None if told < 0 else told
        except ValueError as error:
            return bad_request(f"invalid continue token: {error}")
    elif query.resource_version not in ("", "0"):
        wanted = int(query.resource_version)
        if wanted > position:
            return too_large(wanted, position)
        if query.version_match == "Exact" or (query.limit and not query.version_match):
            exact = wanted
    if exact is not None:
        if exact < store.oldest_position():
            return too_old(query.continued)
        position = exact
    kind, namespace = query.selection.kind, query.selection.namespace
    if _is_plain(query):
        part = store.part_at(kind, namespace, position, start, query.limit)
        if part is not None:
            items, left = part
            return Page(items, position, _token(position, _place(items[-1])) if left else "", left)
    found = store.list(kind, namespace=namespace) if exact is None else store.list_at(kind, namespace, exact)
    objects = found if namespace else sorted(found, key=_place)  # the storage below sorts by place
    return _cut(objects, query, position, start)


def _is_plain(query: ListQuery) -> bool:
    """Whether a page is so many objects, whatever they are."""
    is_cached = query.resource_version == "0" and not query.version_match
    return query.limit > 0 and not is_cached and not query.selection.has_terms and not query.selection.is_of_one_name


def _cut(objects: Sequence[Stored], query: ListQuery, position: int, start: str) -> Page:
    """What is selected after `start`, and no more than the limit; from the cache the limit does not count.

    There is a next page when objects are left that were not looked at, whether they are selected or not; of an object
    that is asked for by its name there is none.
    """
    rest = [manifest for manifest in objects if _place(manifest) > start] if start else objects
    matches = query.selection.matches
    limit = 0 if query.resource_version == "0" and not query.version_match else query.limit
    if limit <= 0 or query.selection.is_of_one_name:
        return Page([manifest for manifest in rest if matches(manifest)], position)
    items: list[Stored] = []
    for number, manifest in enumerate(rest):
        if len(items) == limit:
            remaining = 0 if query.selection.has_terms else len(rest) - number
            return Page(items, position, _token(position, _place(rest[number - 1])), remaining)
        if matches(manifest):
            items.append(manifest)
    return Page(items, position)


def _token(position: int, last: str) -> str:
    """What a client sends to go on after an object, which is named by its place."""
    token = {"v": _TOKEN_VERSION, "rv": position, "start": last}
    text = json.dumps(token, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _place(manifest: Stored) -> str:
    key: ObjectKey = key_of(manifest)
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def _continued(text: str) -> tuple[int, str]:
    """(position, place after which to go on) of a continue token; ValueError says what is wrong with it."""
    place = next((n for n, char in enumerate(text) if char not in _BASE64), -1)
    if place >= 0 or len(text) % 4 == 1:
        raise ValueError(f"{_INVALID}: illegal base64 data at input byte {place if place >= 0 else len(text) - 1}")
    decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode(errors="surrogateescape")
    problem = problem_of(decoded)
    if problem:
        raise ValueError(f"{_INVALID}: {problem}")
    token = json.loads(decoded)
    if not isinstance(token, dict):
        raise ValueError(
            f"{_INVALID}: json: cannot unmarshal {_go_kind(token)} into Go value of type storage.continueToken"
        )
    version, rv, start = token.get("v", ""), token.get("rv", 0), token.get("start", "")
    if version != _TOKEN_VERSION:
        raise ValueError(f"{_INVALID}: server does not recognize this encoded version {version}")
    if not isinstance(rv, int) or not rv:
        raise ValueError(f"{_INVALID}: incorrect encoded start resourceVersion (version {_TOKEN_VERSION})")
    if not isinstance(start, str) or not start:
        raise ValueError(f"{_INVALID}: encoded start key empty (version {_TOKEN_VERSION})")
    rooted = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(rooted) != rooted:
        raise ValueError(f"{_INVALID}: {start}")
    return rv, start


def _go_kind(value: Any) -> str:
    kinds = {list: "array", str: "string", bool: "bool"}
    return kinds.get(type(value), "number")


def _problem(query: ListQuery) -> Refused | None:
    """What does not go together in the options of a list."""
    version, match = query.resource_version, query.version_match
    details: list[str] = []
    if match:
        if not version:
            details.append(forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if query.continued:
            details.append(forbidden("resourceVersionMatch is forbidden when continue is provided"))
        if match not in _MATCHES:
            details.append(field_errors.unsupported(match, (*_MATCHES, "")))
        if match == "Exact" and version == "0":
            details.append(forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    causes = [Cause.of("resourceVersionMatch", detail) for detail in details]
    if query.wants_initial is not None:
        causes.append(Cause.of("sendInitialEvents", forbidden("sendInitialEvents is forbidden for list")))
    if causes:
        return options_refused("ListOptions", causes)
    if query.continued and version not in ("", "0"):
        return bad_request("specifying resource version is not allowed when using continue")
    try:
        parse_uint(version or "0")
    except NumberError as error:
        told = field_errors.invalid(version, str(error))
        return bad_request(f"invalid resource version: resourceVersion: {told}")
    return None


def options_refused(kind: str, causes: Sequence[Cause]) -> Refused:
    """The options of a request are not valid, whatever it asks for."""
    message = f'{kind}.meta.k8s.io "" is invalid: {answers.told(causes)}'
    return Refused(Status(422, "Invalid", message, "", "meta.k8s.io", kind, causes=tuple(causes)))


def too_large(wanted: int, position: int) -> Refused:
    """The store has not come to this position yet."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    message = f"Timeout: Too large resource version: {wanted}, current: {position}"
    return Refused(Status(504, "Timeout", message, causes=(cause,), retry_after_seconds=RETRY_SECONDS))


def too_old(token: str) -> Refused:
    """The moment is not known any more: that of the list which the token, if there is one, goes on with."""
    if token:
        _, start = _continued(token)
        return Refused(Status(410, "Expired", _EXPIRED, continued=_token(_PRESENT, start)))
    return Refused(Status(410, "Expired", "The resourceVersion for the provided list is too old."))


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
