"""OpenAPI v3 documents of the groups that are served, made of the service's own table of fields.

There are no descriptions. `openapi_v2` makes the document of version 2 of these.

Source: kubernetes v1.34.1, api/openapi-spec: the shapes of schemas, names of operations and parameters.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import orjson

from kschedweb.kubeapi import kubelet
from kschedweb.kubeapi.discovery import GROUP_ORDER, group_version, resource_list, version_in
from kschedweb.kubeapi.exchange import JSON
from scheduler_core.api.schema import Field, Type, type_named, type_of

Document = dict[str, Any]
_REF: Final = "#/components/schemas/"
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SCALARS: Final[dict[str, Document]] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number", "format": "double"},
    "bool": {"type": "boolean"},
}
_ZEROS: Final = {"string": "", "bool": False, "int32": 0, "int64": 0, "number": 0}
_BYTES: Final = {"type": "string", "format": "byte"}
# Scalars that have schemas of their own.
_NAMED: Final[dict[str, tuple[str, Document]]] = {
    "quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    "intorstring": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "time": (f"{_META}Time", {"type": "string", "format": "date-time"}),
    "microtime": (f"{_META}MicroTime", {"type": "string", "format": "date-time"}),
    "raw": ("io.k8s.apimachinery.pkg.runtime.RawExtension", {"type": "object"}),
    "json": (f"{_EXTENSIONS}JSON", {}),
    "schemaorarray": (f"{_EXTENSIONS}JSONSchemaPropsOrArray", {}),
    "schemaorbool": (f"{_EXTENSIONS}JSONSchemaPropsOrBool", {}),
    "schemaorstrings": (f"{_EXTENSIONS}JSONSchemaPropsOrStringArray", {}),
}
# Where schemas of a package are, if not at `io.k8s.api` in version 1.
_PLACES: Final = {
    "meta": _META.rstrip("."),
    "autoscalingv2": "io.k8s.api.autoscaling.v2",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
    "apiextensions": _EXTENSIONS.rstrip("."),
}
_LIST_META: Final = {
    "continue": {"type": "string"},
    "remainingItemCount": {"type": "integer", "format": "int64"},
    "resourceVersion": {"type": "string"},
    "selfLink": {"type": "string"},
}
_ACTIONS: Final = {"get": "read", "put": "replace", "post": "create", "patch": "patch", "delete": "delete"}
_METHODS: Final = {"get": "get", "update": "put", "create": "post", "patch": "patch", "delete": "delete"}
_PATCHES: Final = (
    "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
)  # fmt: skip
_WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")
_LIST_PARAMETERS: Final = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_TYPES_OF_PARAMETERS: Final = {
    "limit": "integer", "timeoutSeconds": "integer", "gracePeriodSeconds": "integer", "watch": "boolean",
    "allowWatchBookmarks": "boolean", "sendInitialEvents": "boolean", "orphanDependents": "boolean",
}  # fmt: skip


def places() -> dict[str, str]:
    """The groups by the places of their documents."""
    versions = {group: group_version(group) for group in GROUP_ORDER if has_kinds(group)}
    return {f"{'apis' if group else 'api'}/{version}": group for group, version in versions.items()}


@lru_cache
def document(group: str) -> tuple[bytes, str]:
    """The document of a group as JSON, and its hash."""
    builder = _Builder(group)
    paths = dict(builder.paths())
    made = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.34.1"},
        "paths": paths,
        "components": {"schemas": builder.schemas()},
    }
    content = orjson.dumps(made)
    return content, hashlib.sha512(content).hexdigest().upper()


def has_kinds(group: str) -> bool:
    return any("list" in each["verbs"] for each in resource_list(group)["resources"])


class _Facts:
    """What `openapi.txt` says, by type and field."""

    def __init__(self) -> None:
        self.optional: set[str] = set()
        self.required: set[str] = set()
        self.default: dict[str, Any] = {}
        self.strategy: dict[str, str] = {}
        self.enum: dict[str, list[str]] = {}
        self.union: dict[str, tuple[str, str]] = {}
        for line in (Path(__file__).parent / "openapi.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            word, name, *rest = line.split(" ")
            match word:
                case "optional" | "required":
                    getattr(self, word).add(name)
                case "default":
                    self.default[name] = json.loads(rest[0])
                case "strategy":
                    self.strategy[name] = rest[0]
                case "union":
                    self.union[name] = (rest[0], rest[1])
                case "enum":
                    self.enum[name] = ["" if value == "-" else value for value in rest]


@lru_cache(maxsize=1)
def _facts() -> _Facts:
    return _Facts()


class _Builder:
    """The document of one group in the making: schemas are added as others name them."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._schemas: dict[str, Document] = {}
        self._missing: list[Type] = []

    def schemas(self) -> Document:
        while self._missing:
            type_ = self._missing.pop()
            self._schemas[_name(type_)] = self._struct(type_)
        return dict(sorted(self._schemas.items()))

    def paths(self) -> Iterator[tuple[str, Document]]:
        version = group_version(self._group)
        base = f"/apis/{version}" if self._group else f"/api/{version}"
        for each in _resources(self._group):
            plural, _, part = str(each["name"]).partition("/")
            kind_version = f"{each['group']}/{each['version']}" if each.get("group") else version
            kind = str(each["kind"])
            is_namespaced = bool(each["namespaced"])
            place = f"{base}/namespaces/{{namespace}}/{plural}" if is_namespaced else f"{base}/{plural}"
            gvk = {"group": kind_version.rpartition("/")[0], "kind": kind, "version": kind_version.rpartition("/")[2]}
            schema = self._reference(type_of(kind_version, kind))
            named = ("Namespaced" if is_namespaced else "") + (_singular(self._group, plural) if part else kind)
            named += part.title() if part else ""
            if part or "get" in each["verbs"]:
                path = f"{place}/{{name}}" + (f"/{part}" if part else "")
                yield path, self._operations(each["verbs"], named, gvk, schema)
            if "list" in each["verbs"]:
                yield place, self._collection(each["verbs"], named, gvk, schema)
                if is_namespaced:
                    every = self._listing(f"list{self._tag()}{kind}ForAllNamespaces", gvk)
                    yield f"{base}/{plural}", {"get": every}
            elif not part:
                yield place, {"post": self._operation("post", f"create{self._tag()}{named}", gvk, schema)}

    def _tag(self) -> str:
        name = self._group.split(".")[0].title() if self._group else "Core"
        return name + version_in(self._group).title()

    def _operations(self, verbs: list[str], named: str, gvk: Document, schema: Document) -> Document:
        found = {}
        for verb, method in _METHODS.items():
            if verb in verbs and not (verb == "create" and "get" in verbs):
                found[method] = self._operation(method, f"{_ACTIONS[method]}{self._tag()}{named}", gvk, schema)
        return found

    def _collection(self, verbs: list[str], named: str, gvk: Document, schema: Document) -> Document:
        found = {"get": self._listing(f"list{self._tag()}{named}", gvk)}
        if "create" in verbs:
            found["post"] = self._operation("post", f"create{self._tag()}{named}", gvk, schema)
        if "deletecollection" in verbs:
            operation = self._operation("delete", f"delete{self._tag()}Collection{named}", gvk, schema)
            found["delete"] = {**operation, "x-kubernetes-action": "deletecollection"}
        return found

    def _listing(self, operation_id: str, gvk: Document) -> Document:
        name = f"{_package_of(gvk)}{gvk['kind']}List"
        if name not in self._schemas:
            item = {"default": {}, "allOf": [{"$ref": f"{_REF}{_package_of(gvk)}{gvk['kind']}"}]}
            metadata = {"default": {}, "allOf": [{"$ref": f"{_REF}{_META}ListMeta"}]}
            text = {"type": "string"}
            items = {"type": "array", "items": item}
            self._schemas[name] = {
                "type": "object",
                "required": ["items"],
                "properties": {"apiVersion": text, "items": items, "kind": text, "metadata": metadata},
                "x-kubernetes-group-version-kind": [{**gvk, "kind": f"{gvk['kind']}List"}],
            }
            self._schemas[f"{_META}ListMeta"] = {"type": "object", "properties": _LIST_META}
        operation = self._operation("get", operation_id, gvk, {"$ref": f"{_REF}{name}"})
        parameters = [parameter(each) for each in _LIST_PARAMETERS]
        return {**operation, "x-kubernetes-action": "list", "parameters": parameters}

    def _operation(self, method: str, operation_id: str, gvk: Document, schema: Document) -> Document:
        content = {JSON: {"schema": schema}}
        found: Document = {
            "tags": [f"{self._group.split('.')[0] or 'core'}_{version_in(self._group)}"],
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
            found["parameters"] = [parameter(each) for each in _WRITE_PARAMETERS]
        if method == "delete":
            names = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
            found["parameters"] = [parameter(each) for each in names]
        return found

    def _reference(self, type_: Type) -> Document:
        name = _name(type_)
        if name not in self._schemas:
            self._schemas[name] = {}
            self._missing.append(type_)
        return {"$ref": f"{_REF}{name}"}

    def _struct(self, type_: Type) -> Document:
        facts = _facts()
        properties: dict[str, Document] = {}
        needed = []
        if type_.name in _kinds():
            properties = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
        for field in type_.fields.values():
            path = f"{type_.name}.{field.name}"
            properties[field.name] = self._property(path, field)
            if path in facts.required or (field.is_required and path not in facts.optional):
                needed.append(field.name)
        found: Document = {"type": "object"}
        if needed:
            found["required"] = needed
        found["properties"] = dict(sorted(properties.items()))
        if type_.is_atomic:
            found["x-kubernetes-map-type"] = "atomic"
        if type_.name in facts.union:
            word, value = facts.union[type_.name]
            by = {value: value[0].upper() + value[1:]}
            found["x-kubernetes-unions"] = [{"discriminator": word, "fields-to-discriminateBy": by}]
        if type_.name in _kinds():
            found["x-kubernetes-group-version-kind"] = [_kinds()[type_.name]]
        if type_.name == "meta.ObjectMeta":
            self._schemas[f"{_META}ManagedFieldsEntry"] = {"type": "object"}
            item = {"default": {}, "allOf": [{"$ref": f"{_REF}{_META}ManagedFieldsEntry"}]}
            listed = {"type": "array", "items": item, "x-kubernetes-list-type": "atomic"}
            found["properties"]["managedFields"] = listed
        return found

    def _property(self, path: str, field: Field) -> Document:
        facts, shape = _facts(), field.shape
        found = self._shape(shape)
        if shape in _SCALARS:
            if path in facts.enum or field.enum:
                found["enum"] = facts.enum.get(path) or sorted(field.enum)
            if path in facts.default:
                found["default"] = facts.default[path]
            elif not field.omits_empty and not field.is_pointer:
                found["default"] = _ZEROS[shape]
        elif "allOf" in found and not field.is_pointer and shape not in _NAMED:
            found["default"] = {}
        for suffix, part in (("[]", "items"), ("{}", "additionalProperties")):
            if path + suffix in facts.enum:
                found[part]["enum"] = facts.enum[path + suffix]
        if field.enum and shape.startswith("[]"):
            found["items"]["enum"] = sorted(field.enum)
        if field.treatment:
            found["x-kubernetes-list-type" if shape.startswith("[]") else "x-kubernetes-map-type"] = field.treatment
        if field.keys:
            found["x-kubernetes-list-map-keys"] = list(field.keys)
        words = ["merge"] * field.is_merged + ["retainKeys"] * field.retains_keys
        strategy = facts.strategy.get(path) or ",".join(words)
        if strategy:
            found["x-kubernetes-patch-strategy"] = strategy
        if field.merge_key:
            found["x-kubernetes-patch-merge-key"] = field.merge_key
        return found

    def _shape(self, shape: str) -> Document:
        if shape in _SCALARS:
            return dict(_SCALARS[shape])
        if shape == "bytes":
            return dict(_BYTES)
        if shape.startswith("[]"):
            return {"type": "array", "items": self._item(shape[2:])}
        if shape.startswith("{}"):
            return {"type": "object", "additionalProperties": self._item(shape[2:])}
        return {"allOf": [self._named(shape)]}

    def _item(self, shape: str) -> Document:
        """Items of lists and values of maps have the default of their type."""
        if shape in _SCALARS:
            return {**_SCALARS[shape], "default": _ZEROS[shape]}
        if shape == "bytes" or shape.startswith("[]"):
            return self._shape(shape)
        if shape in _NAMED:
            return self._named(shape)
        return {"default": {}, "allOf": [self._named(shape)]}

    def _named(self, shape: str) -> Document:
        if shape in _NAMED:
            name, schema = _NAMED[shape]
            self._schemas[name] = schema
            return {"$ref": f"{_REF}{name}"}
        return self._reference(type_named(shape))


@lru_cache(maxsize=1)
def _kinds() -> dict[str, Document]:
    """Group, version and kind of the types that are kinds, by the types' names."""
    found = {}
    for group in GROUP_ORDER:
        if not has_kinds(group):
            continue
        for each in _resources(group):
            of_group = each.get("group") or group
            version = f"{of_group}/{each['version']}" if each.get("group") else group_version(group)
            gvk = {"group": of_group, "kind": each["kind"], "version": version.rpartition("/")[2]}
            found[type_of(version, each["kind"]).name] = gvk
    return found


def _resources(group: str) -> list[Document]:
    """The resources that are described: not what kubelets answer, which are no objects."""
    listed: list[Document] = resource_list(group)["resources"]
    return [each for each in listed if each["name"].partition("/")[2] not in kubelet.PARTS]


def _name(type_: Type) -> str:
    package, _, name = type_.name.partition(".")
    if package in _PLACES:
        return f"{_PLACES[package]}.{name}"
    return f"io.k8s.api.{package}.v1.{name}"


def _package_of(gvk: Document) -> str:
    version = f"{gvk['group']}/{gvk['version']}" if gvk["group"] else gvk["version"]
    return _name(type_of(version, str(gvk["kind"]))).rpartition(".")[0] + "."


def _singular(group: str, plural: str) -> str:
    return next(str(each["kind"]) for each in resource_list(group)["resources"] if each["name"] == plural)


def parameter(name: str) -> Document:
    """A parameter of a query."""
    kind = _TYPES_OF_PARAMETERS.get(name, "string")
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
