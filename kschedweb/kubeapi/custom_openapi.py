"""OpenAPI documents of kinds that a cluster defines, made of the schemas in their definitions.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from kschedweb.kubeapi.exchange import JSON
from kschedweb.kubeapi.openapi import document as document_of
from kschedweb.kubeapi.openapi import parameter
from scheduler_core.admission.custom.structural import EMBEDDED
from scheduler_core.apiserver.custom.definitions import Definition, Version, version_order

Document = dict[str, Any]
_REF: Final = "#/components/schemas/"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
_OF_COLLECTION: Final = {"x-kubernetes-action": "deletecollection"}
_METADATA: Final = {"allOf": [{"$ref": f"{_REF}{_META}ObjectMeta"}], "default": {}}
_PATCHES: Final = (
    "application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml",
)  # fmt: skip
_LIST_PARAMETERS: Final = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip


def places(definitions: Sequence[Definition]) -> dict[str, str]:
    """The version of a group by the place of its document."""
    found = {version.api_version for each in definitions for version in each.served}
    return {f"apis/{api_version}": api_version for api_version in sorted(found, key=_order)}


def _order(api_version: str) -> tuple[Any, ...]:
    group, _, name = api_version.rpartition("/")
    return group, version_order(name)


def document(api_version: str, definitions: Sequence[Definition]) -> tuple[bytes, str]:
    """The document of one version of a group as JSON, and its hash."""
    found = ((each, each.version(api_version)) for each in definitions)
    return _document(tuple((each, version) for each, version in found if version is not None))


@lru_cache(maxsize=64)
def _document(kinds: tuple[tuple[Definition, Version], ...]) -> tuple[bytes, str]:
    """Definitions are the same objects as long as they say the same."""
    paths: Document = {}
    schemas: Document = dict(_shared_schemas())
    for definition, version in kinds:
        schemas |= _schemas(definition, version)
        paths |= _paths(definition, version)
    made = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }
    content = orjson.dumps(made)
    return content, hashlib.sha512(content).hexdigest().upper()


@lru_cache(maxsize=1)
def _shared_schemas() -> Mapping[str, Document]:
    """What the schemas of all kinds have: metadata, and Scales."""
    found: Document = {}
    for group in ("autoscaling", "apps"):
        found |= orjson.loads(document_of(group)[0])["components"]["schemas"]
    kept = {name: each for name, each in found.items() if name.startswith(_META)}
    return kept | {name: each for name, each in found.items() if name.startswith("io.k8s.api.autoscaling.v1.Scale")}


def _name(definition: Definition, version: Version, kind: str) -> str:
    group = ".".join(reversed(definition.group.split(".")))
    return f"{group}.{version.name}.{kind}"


def _gvk(definition: Definition, version: Version, kind: str) -> Document:
    return {"group": definition.group, "kind": kind, "version": version.name}


def _schemas(definition: Definition, version: Version) -> Document:
    kind, of_list = str(definition.names["kind"]), _list_kind(definition)
    text = {"type": "string"}
    made: Document = _published(version.schema) if version.has_schema else {"type": "object"}
    if version.has_schema:
        own = {"apiVersion": text, "kind": text, "metadata": _METADATA}
        made["properties"] = {**(made.get("properties") or {}), **own}
    made["x-kubernetes-group-version-kind"] = [_gvk(definition, version, kind)]
    if version.selectable:
        made["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in version.selectable]
    item = {"allOf": [{"$ref": f"{_REF}{_name(definition, version, kind)}"}], "default": {}}
    listed = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text, "kind": text, "items": {"type": "array", "items": item},
            "metadata": {"allOf": [{"$ref": f"{_REF}{_META}ListMeta"}], "default": {}},
        },
        "x-kubernetes-group-version-kind": [_gvk(definition, version, of_list)],
    }  # fmt: skip
    return {_name(definition, version, kind): made, _name(definition, version, of_list): listed}


def _list_kind(definition: Definition) -> str:
    return str(definition.names.get("listKind") or f"{definition.names['kind']}List")


def _published(schema: Mapping[str, Any]) -> Document:
    """The schema as clients are shown it: objects inside of an object have metadata."""
    made: Document = {}
    for name, value in schema.items():
        if name in ("properties", "patternProperties", "definitions"):
            made[name] = {each: _published(below) for each, below in value.items()}
        elif isinstance(value, Mapping) and name in ("items", "additionalProperties", "not"):
            made[name] = _published(value)
        elif name in ("allOf", "anyOf", "oneOf"):
            made[name] = [_published(each) for each in value]
        else:
            made[name] = value
    if schema.get(EMBEDDED):
        text = {"type": "string"}
        own = {"apiVersion": text, "kind": text, "metadata": _METADATA}
        made["properties"] = {**(made.get("properties") or {}), **own}
        made["required"] = list(dict.fromkeys([*(made.get("required") or ()), "kind", "apiVersion"]))
    return made


def _paths(definition: Definition, version: Version) -> Document:
    kind, plural = str(definition.names["kind"]), definition.names["plural"]
    base = f"/apis/{version.api_version}"
    root = f"{base}/namespaces/{{namespace}}/{plural}" if definition.namespaced else f"{base}/{plural}"
    gvk = _gvk(definition, version, kind)
    own = {"$ref": f"{_REF}{_name(definition, version, kind)}"}
    listed = {"$ref": f"{_REF}{_name(definition, version, _list_kind(definition))}"}
    named = ("Namespaced" if definition.namespaced else "") + kind
    tag = definition.group.split(".")[0].title() + version.name.title()
    found: Document = {
        root: {
            "get": _listing(f"list{tag}{named}", gvk, listed),
            "post": _operation("post", f"create{tag}{named}", gvk, own),
            "delete": _operation("delete", f"delete{tag}Collection{named}", gvk, own) | _OF_COLLECTION,
        },
        f"{root}/{{name}}": _object_operations(f"{tag}{named}", gvk, own, deletes=True),
    }  # fmt: skip
    if definition.namespaced:
        found[f"{base}/{plural}"] = {"get": _listing(f"list{tag}{kind}ForAllNamespaces", gvk, listed)}
    if version.has_status:
        found[f"{root}/{{name}}/status"] = _object_operations(f"{tag}{named}Status", gvk, own)
    if version.scale is not None:
        scale = {"$ref": f"{_REF}{_SCALE}"}
        of_scale = {"group": "autoscaling", "kind": "Scale", "version": "v1"}
        found[f"{root}/{{name}}/scale"] = _object_operations(f"{tag}{named}Scale", of_scale, scale)
    return found


def _object_operations(named: str, gvk: Document, schema: Document, *, deletes: bool = False) -> Document:
    methods = {"get": "read", "put": "replace", "patch": "patch"} | ({"delete": "delete"} if deletes else {})
    return {method: _operation(method, f"{action}{named}", gvk, schema) for method, action in methods.items()}


def _listing(operation_id: str, gvk: Document, schema: Document) -> Document:
    made = _operation("get", operation_id, gvk, schema)
    return {**made, "x-kubernetes-action": "list", "parameters": [parameter(each) for each in _LIST_PARAMETERS]}


def _operation(method: str, operation_id: str, gvk: Document, schema: Document) -> Document:
    content = {JSON: {"schema": schema}}
    found: Document = {
        "operationId": operation_id,
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": method,
        "x-kubernetes-group-version-kind": gvk,
    }
    if method in ("post", "put"):
        found["requestBody"] = {"content": content, "required": True}
    if method == "patch":
        found["requestBody"] = {"content": {kind: {"schema": {"type": "object"}} for kind in _PATCHES}}
    if method in ("post", "put", "patch"):
        found["parameters"] = [parameter(each) for each in ("dryRun", "fieldManager", "fieldValidation")]
    if method == "delete":
        names = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
        found["parameters"] = [parameter(each) for each in names]
    return found
