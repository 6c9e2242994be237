"""Bodies of requests: JSON, YAML and protobuf as the API server reads them, with its words for what cannot be read.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,patch,delete}.go and
apimachinery/pkg/runtime/serializer/json.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any, Final

import msgspec
import orjson
import yaml

from kschedweb.kubeapi.exchange import JSON, YAML, RefusedError, Request
from kschedweb.kubeapi.media import PROTOBUF
from kschedweb.kubeapi.protobuf import read_object
from kschedweb.kubeapi.wire import ProtobufError
from scheduler_core.apiserver.answers import Status, bad_request
from scheduler_core.apiserver.bodies import Body, read_json, unreadable
from scheduler_core.apiserver.go_json import MOST_DEPTH, TOO_DEEP, problem_of
from scheduler_core.apiserver.requests import PatchType

_SURELY_FLAT: Final = 200  # braces of a body that cannot be too deep
_VALUES: Final = 200_000  # that a YAML body may have, aliases expanded
_UNSUPPORTED: Final = (
    f"the body of the request was in an unknown format - accepted media types include: {JSON}, {YAML}, {PROTOBUF}"
)


def read_body(request: Request, api_version: str, kind: str, *, reads_protobuf: bool = True) -> Body:
    """The body of a creation or an update of this kind; RefusedError when it cannot be read.

    `reads_protobuf`: objects of kinds that a cluster defines have no such form, and definitions are not read in it.
    """
    media_type = request.header("content-type").partition(";")[0].strip().lower()
    if media_type == PROTOBUF and reads_protobuf:
        return _protobuf(request.body, api_version, kind)
    if media_type and media_type not in (JSON, YAML, "*/*"):
        told = _UNSUPPORTED if reads_protobuf else _UNSUPPORTED.removesuffix(f", {PROTOBUF}")
        raise RefusedError(Status(415, "UnsupportedMediaType", told))
    body, problem = _decoded(request.body, media_type)
    if problem:
        raise RefusedError(unreadable(kind, problem, None, request.body).status)
    return Body({}) if body.value is None else body


def read_options(request: Request) -> Body:
    """The body of a deletion, which may have none; what cannot be read is the server's error, as it is upstream."""
    if not request.body:
        return Body()
    media_type = request.header("content-type").partition(";")[0].strip().lower()
    if media_type == PROTOBUF:
        return _protobuf(request.body, "v1", "DeleteOptions")
    if media_type and media_type not in (JSON, YAML, "*/*"):
        raise RefusedError(Status(415, "UnsupportedMediaType", _UNSUPPORTED))
    body, problem = _decoded(request.body, media_type)
    if problem:
        raise RefusedError(Status(500, "", problem))
    return body


def read_patch(request: Request) -> tuple[Body, PatchType]:
    """A patch and what kind of patch it is; RefusedError when it cannot be read."""
    media_type = request.header("content-type").partition(";")[0].strip()
    if media_type not in set(PatchType):
        raise RefusedError(Status(415, "UnsupportedMediaType", "415: Unsupported Media Type", is_generic=True))
    if media_type == PatchType.APPLY:
        return _applied(request.body), PatchType.APPLY
    text = _text(request.body)
    problem = _json_problem(request.body, text)
    if problem:
        prefix = "" if media_type == PatchType.STRATEGIC else "error decoding patch: "
        raise RefusedError(bad_request(f"{prefix}{problem}").status)
    return _json(text, request.body), PatchType(media_type)


def _protobuf(content: bytes, api_version: str, kind: str) -> Body:
    try:
        return Body(read_object(content, api_version, kind))
    except ProtobufError as error:
        if not error.kind:
            raise RefusedError(unreadable(kind, str(error), None, content).status) from None
        version = error.version.rpartition("/")[2]
        message = f'{error.kind} in version "{version}" cannot be handled as a {kind}: {error}'
        raise RefusedError(bad_request(message).status) from None


def _applied(content: bytes) -> Body:
    """What is applied, YAML or JSON; keys that stand twice with their lines."""
    value, repeated, problem = _yaml(content)
    if problem:
        raise RefusedError(bad_request(f"error decoding YAML: error converting YAML to JSON: {problem}").status)
    return Body(value, repeated)


def _decoded(content: bytes, media_type: str) -> tuple[Body, str]:
    """(the body, why it cannot be read)."""
    if media_type == YAML:
        value, repeated, problem = _yaml(content)
        lines = "".join(f"\n  {line}" for line in repeated)
        oddities = (f"yaml: unmarshal errors:{lines}",) if repeated else ()
        return Body(value, oddities=oddities, content=content), problem
    text = _text(content)
    problem = _json_problem(content, text)
    if problem:
        return Body(), f"couldn't get version/kind; json parse error: {problem}"
    return _json(text, content), ""


def _json_problem(content: bytes, text: str) -> str:
    """What Go's decoder says of it. What a strict and fast one reads, and is not deep, Go's reads too."""
    if text.count("{") + text.count("[") <= _SURELY_FLAT:
        with contextlib.suppress(orjson.JSONDecodeError):
            orjson.loads(content)
            return ""
    return problem_of(text)


def _json(text: str, content: bytes) -> Body:
    """JSON that has been checked; numbers that Python would take and Go would not cannot be in it any more."""
    try:
        return msgspec.structs.replace(read_json(text), content=content)
    except (ValueError, RecursionError):
        raise RefusedError(bad_request(TOO_DEEP).status) from None


def _yaml(content: bytes) -> tuple[Any, tuple[str, ...], str]:
    """(value, lines on which keys stand again, why it cannot be read)."""
    loader = _Loader(_text(content))
    try:
        value = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.context_mark if error.context_mark is not None and error.context_mark.line else error.problem_mark
        line = mark.line + isinstance(error, yaml.scanner.ScannerError) if mark is not None and mark.line else 0
        place = f"line {line}: " if line else ""
        return None, (), f"yaml: {place}{error.problem or error.context}"
    except (yaml.YAMLError, ValueError, RecursionError):
        return None, (), "yaml: invalid content"
    finally:
        loader.dispose()
    if value is not None and not isinstance(value, (dict, list)):
        value = value if not isinstance(value, bytes) else value.decode("latin1")
    return value, tuple(loader.repeated), ""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML 1.1 as values of JSON: times stay texts, keys become texts; aliases may not multiply what is read."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self.repeated: list[str] = []
        self._values = 0
        self._depth = 0

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        self._values += 1
        self._depth += 1
        try:
            if self._values > _VALUES or self._depth > MOST_DEPTH:
                raise ValueError("too large")
            return super().construct_object(node, True)
        finally:
            self._depth -= 1

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        self.flatten_mapping(node)
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key_text(self.construct_object(key_node, deep=True))
            if key in found:
                self.repeated.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
            found[key] = self.construct_object(value_node, deep=True)
        return found


def _construct_map(loader: _Loader, node: Any) -> Any:
    return loader.construct_mapping(node, deep=True)


def _construct_bool(loader: _Loader, node: Any) -> bool:
    return str(loader.construct_scalar(node)).lower() in ("y", "yes", "true", "on")


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))
_Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))
_Loader.add_constructor("tag:yaml.org,2002:binary", lambda loader, node: loader.construct_scalar(node))


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else "null" if key is None else str(key)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
