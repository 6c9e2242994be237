"""The OpenAPI document of version 2, made of those of version 3: one for all groups, for clients that know no other.

It is there as JSON and in protobuf, which kubectl before 1.27 validates and explains with.

Source: kubernetes v1.34.1, api/openapi-spec/swagger.json: what differs from version 3.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, Final

import orjson

from kschedweb.kubeapi import openapi, openapi_v2_protobuf
from kschedweb.kubeapi.discovery import GROUP_ORDER, Defined, nothing
from kschedweb.kubeapi.exchange import JSON, METHOD_NOT_ALLOWED, Answer, RefusedError, Request

Document = dict[str, Any]
_REF: Final = "#/components/schemas/"
_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# What a client accepts, and what it is told that it gets.
_FORMS: Final = {
    "*/*": JSON,
    "application/*": JSON,
    JSON: JSON,
    _PROTOBUF: _PROTOBUF,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": _PROTOBUF,
}
_BODIES: Final = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")


def answer(request: Request, defined: Defined = nothing) -> Answer | None:
    """The document at its path, in the first form of those it has that the client accepts; None at other paths."""
    if request.path.rstrip("/") != "/openapi/v2":
        return None
    if request.method != "GET":
        raise RefusedError(METHOD_NOT_ALLOWED)
    clauses = (clause.partition(";")[0].strip() for clause in (request.header("accept") or "*/*").split(","))
    form = next((_FORMS[clause] for clause in clauses if clause in _FORMS), "")
    if not form:
        return Answer(406, b"", "", (("vary", "Accept"),))
    content, tag = document() if form == JSON else in_protobuf()
    if request.header("if-none-match") == f'"{tag}"':
        return Answer(304, b"", "", (("etag", f'"{tag}"'),))
    return Answer(200, content, form, (("etag", f'"{tag}"'), ("vary", "Accept")))


@lru_cache(maxsize=1)
def document() -> tuple[bytes, str]:
    """The document as JSON, and its hash."""
    return _hashed(orjson.dumps(_document()))


@lru_cache(maxsize=1)
def in_protobuf() -> tuple[bytes, str]:
    """The document in protobuf, and its hash."""
    return _hashed(openapi_v2_protobuf.encoded(_document()))


def _hashed(content: bytes) -> tuple[bytes, str]:
    return content, hashlib.sha512(content).hexdigest().upper()


def _document() -> Document:
    definitions: Document = {}
    paths: Document = {}
    for group in GROUP_ORDER:
        if not openapi.has_kinds(group):
            continue
        of_group = orjson.loads(openapi.document(group)[0])
        definitions |= of_group["components"]["schemas"]
        paths |= of_group["paths"]
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.34.1"},
        "paths": {path: {method: _operation(path, one) for method, one in of.items()} for path, of in paths.items()},
        "definitions": {name: _schema(one) for name, one in sorted(definitions.items())},
    }


def _schema(value: Any) -> Any:
    """A schema in the words of version 2, which has no alternatives and says nothing beside a reference."""
    if isinstance(value, list):
        return [_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return {"$ref": value["$ref"].replace(_REF, "#/definitions/")}
    if "allOf" in value:
        (reference,) = value["allOf"]
        kept = {name: item for name, item in value.items() if name.startswith("x-kubernetes-")}
        return {**_schema(reference), **kept}
    if "oneOf" in value:
        return {"type": "string"} | ({"format": value["format"]} if "format" in value else {})
    made = {name: _schema(item) for name, item in value.items() if name not in ("default", "properties")}
    if "properties" in value:
        made["properties"] = {name: _schema(item) for name, item in value["properties"].items()}
    return made


def _operation(path: str, operation: Document) -> Document:
    """An operation with its body among the parameters."""
    made = {name: item for name, item in operation.items() if name not in ("requestBody", "responses", "parameters")}
    parameters = [_path_parameter(part[1:-1]) for part in path.split("/") if part.startswith("{")]
    body = operation.get("requestBody")
    if body is not None:
        (schema, *_) = body["content"].values()
        parameters.append({"name": "body", "in": "body", "required": True, "schema": _schema(schema["schema"])})
        made["consumes"] = list(body["content"]) if len(body["content"]) > 1 else list(_BODIES)
    for parameter in operation.get("parameters", ()):
        parameters.append({"name": parameter["name"], "in": parameter["in"], **parameter["schema"]})
    answers = {}
    for code, answer in operation["responses"].items():
        (schema, *_) = answer["content"].values()
        answers[code] = {"description": answer["description"], "schema": _schema(schema["schema"])}
    return {**made, "produces": [JSON, "application/yaml"], "parameters": parameters, "responses": answers}


def _path_parameter(name: str) -> Document:
    return {"name": name, "in": "path", "required": True, "type": "string", "uniqueItems": True}
