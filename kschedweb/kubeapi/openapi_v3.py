"""The OpenAPI documents of version 3, one for each version of a group: of built-in kinds, and of the cluster's own."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from kschedweb.kubeapi import custom_openapi, openapi
from kschedweb.kubeapi.discovery import Defined, nothing
from kschedweb.kubeapi.exchange import JSON, TEXT, Answer, Request
from scheduler_core.apiserver.custom.definitions import Definition


def answer(request: Request, defined: Defined = nothing) -> Answer | None:
    """The document at a path of OpenAPI; None at other paths."""
    if request.path.rstrip("/") == "/openapi/v3":
        return Answer(200, root(defined()), TEXT)  # upstream calls it a text, too
    if not request.path.startswith("/openapi/v3/"):
        return None
    place = request.path.removeprefix("/openapi/v3/").strip("/")
    group = openapi.places().get(place)
    if group is not None:
        content, tag = openapi.document(group)
    else:
        definitions = defined()
        api_version = custom_openapi.places(definitions).get(place)
        if api_version is None:
            return Answer(404, b"", "")
        content, tag = custom_openapi.document(api_version, definitions)
    if request.header("if-none-match") == f'"{tag}"':
        return Answer(304, b"", "", (("etag", f'"{tag}"'),))
    return Answer(200, content, JSON, (("etag", f'"{tag}"'), ("vary", "Accept")))


def root(definitions: Sequence[Definition] = ()) -> bytes:
    """Which documents there are, each with a hash of its content."""
    tags = {place: openapi.document(group)[1] for place, group in openapi.places().items()}
    for place, api_version in custom_openapi.places(definitions).items():
        tags[place] = custom_openapi.document(api_version, definitions)[1]
    paths = {place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={tag}"} for place, tag in sorted(tags.items())}
    return orjson.dumps({"paths": paths})
