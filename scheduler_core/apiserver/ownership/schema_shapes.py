"""How parts of objects of a kind that a cluster defines are owned, as the schema of its definition says.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi; kube-openapi,
pkg/schemaconv.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.apiserver.ownership.shapes import Form, Shape, shape_of

Schema = Mapping[str, Any]
_SCALARS: Final = {"string": "string", "boolean": "boolean", "integer": "numeric", "number": "numeric"}
_WHOLE: Final = Shape(Form.ANY, is_atomic=True)


class Deduced(Shape):
    """The shape of what no schema describes: maps field by field, all else as a whole."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Form.MAP)

    @property
    def item(self) -> Shape:
        return self

    def of_values(self, *values: Any) -> Shape:
        found = [value for value in values if isinstance(value, (Mapping, list, str, int, float))]
        return self if found and all(isinstance(value, Mapping) for value in found) else _WHOLE


DEDUCED: Final = Deduced()


class SchemaShape(Shape):
    """The shape of a value with a schema."""

    __slots__ = ("_schema",)

    def __init__(self, form: Form, schema: Schema, *, is_atomic: bool = False, keys: tuple[str, ...] = ()) -> None:
        super().__init__(form, is_atomic=is_atomic, keys=keys)
        self._schema = schema

    @property
    def fields(self) -> Mapping[str, Shape]:
        if self._fields is None:
            properties = self._schema.get("properties") or {}
            self._fields = {name: shape_from(each) for name, each in properties.items()}
            if self._schema.get("x-kubernetes-embedded-resource"):
                self._fields |= _identity()
        return self._fields

    @property
    def item(self) -> Shape:
        if self._item is None:
            found = self._schema.get("items" if self.form == Form.LIST else "additionalProperties")
            self._item = shape_from(found) if isinstance(found, Mapping) else DEDUCED
        return self._item

    def below(self, name: str) -> Shape | None:
        found = self.fields.get(name)
        if found is None and self._schema.get("x-kubernetes-preserve-unknown-fields"):
            return DEDUCED
        return self.item if self.form == Form.MAP else found

    def key_defaults(self) -> Mapping[str, Any]:
        properties = (self._schema.get("items") or {}).get("properties") or {}
        known = ((key, properties.get(key) or {}) for key in self.keys)
        return {key: each["default"] for key, each in known if "default" in each}

    def with_root(self) -> Shape:
        """The shape of a whole object, whose metadata is that of every object."""
        made = SchemaShape(Form.STRUCT, self._schema)
        made._fields = {**self.fields, **_identity()}
        return made


def shape_from(schema: Schema) -> Shape:
    """The shape of values of a schema."""
    kind = schema.get("type")
    if kind == "array":
        treatment = schema.get("x-kubernetes-list-type")
        keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if treatment == "map" else ()
        return SchemaShape(Form.LIST, schema, is_atomic=treatment not in ("set", "map"), keys=keys)
    if kind == "object":
        is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
        if schema.get("properties") or schema.get("x-kubernetes-embedded-resource"):
            return SchemaShape(Form.STRUCT, schema, is_atomic=is_atomic)
        if schema.get("additionalProperties") is not None:
            return SchemaShape(Form.MAP, schema, is_atomic=is_atomic)
        return DEDUCED if not is_atomic else _WHOLE
    if schema.get("x-kubernetes-int-or-string"):
        return Shape(Form.SCALAR, scalar="untyped")
    return Shape(Form.SCALAR, scalar=_SCALARS[kind]) if kind in _SCALARS else DEDUCED


def whole_shape(schema: Schema) -> Shape:
    """The shape of objects with this schema."""
    return SchemaShape(Form.STRUCT, schema).with_root()


def _identity() -> dict[str, Shape]:
    every = shape_of("v1", "ConfigMap")
    return {name: every.fields[name] for name in ("apiVersion", "kind", "metadata")}
