"""In which form a client wants its answer: media types and what they may be turned into, as client-go asks for them.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation; go-restful's routes.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kschedweb.kubeapi.exchange import JSON, YAML, RefusedError
from scheduler_core.apiserver.answers import Status

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_SERVED: Final = (JSON, YAML)
_NAMED: Final = f"{JSON}, {YAML}, {PROTOBUF}"
_WATCHED: Final = f"{_NAMED}, {JSON};stream=watch, {PROTOBUF};stream=watch"
_META: Final = ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")
_SHAPES: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
DISCOVERY: Final = ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList")


class Form(msgspec.Struct, frozen=True):
    """What was agreed on. `shape` and its `version` are empty when the object is wanted as it is."""

    media_type: str = JSON
    shape: str = ""
    version: str = ""


def form(accept: str, *, is_list: bool = False) -> Form:
    """The form of an answer about objects; RefusedError when none of those asked for can be given."""
    clauses = _clauses(accept)
    if clauses and not any(media in ("*/*", JSON, YAML, PROTOBUF) for media, _ in clauses):
        shown = _WATCHED if is_list else _NAMED
        message = f"406: Not Acceptable\n\nAvailable representations: {shown}"
        raise RefusedError(Status(406, "NotAcceptable", message, is_generic=True))
    return _agreed(clauses, _META, _SHAPES)


def discovery_form(accept: str) -> Form:
    """The form of a list of groups, which newer clients want aggregated."""
    return _agreed(_clauses(accept), DISCOVERY[:1], DISCOVERY[1:])


def plain_form(accept: str) -> Form:
    """JSON or YAML, of what has one form only."""
    return _agreed(_clauses(accept), (), ())


def not_acceptable() -> RefusedError:
    return RefusedError(Status(406, "NotAcceptable", f"only the following media types are accepted: {_NAMED}"))


def _agreed(clauses: list[tuple[str, dict[str, str]]], versions: tuple[str, ...], shapes: tuple[str, ...]) -> Form:
    if not clauses:
        return Form()
    for media, parameters in clauses:
        media_type = JSON if media == "*/*" else media
        if media_type not in _SERVED:
            continue
        if "as" not in parameters and "g" not in parameters and "v" not in parameters:
            return Form(media_type)
        version = f"{parameters.get('g', '')}/{parameters.get('v', '')}"
        if parameters.get("as") in shapes and version in versions:
            return Form(media_type, parameters["as"], version)
    raise not_acceptable()


def _clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Media types with their parameters, the preferred ones first."""
    found: list[tuple[float, str, dict[str, str]]] = []
    for part in accept.split(","):
        media, *rest = (word.strip() for word in part.split(";"))
        if not media:
            continue
        parameters = {name.strip(): value.strip() for name, _, value in (word.partition("=") for word in rest)}
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 1.0
        found.append((quality, media.lower(), parameters))
    found.sort(key=lambda clause: -clause[0])
    return [(media, parameters) for _, media, parameters in found]
