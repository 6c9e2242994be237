"""How parts of an object are owned: field by field, item by item, or as a whole.

Source: kubernetes v1.34.1, the list and map types of staging/src/k8s.io/api; kube-openapi, pkg/schemaconv.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final

from scheduler_core.api.schema import NESTED_KINDS, Field, Type, type_named, type_of
from scheduler_core.api.schema.types import SCHEMAS
from scheduler_core.apiserver.ownership.sets import key_element, value_element

# What an item's key is where the item does not say it, beside keys that are always written.
_KEY_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "core.ContainerPort": {"protocol": "TCP"},
    "core.ServicePort": {"protocol": "TCP"},
    "core.LocalObjectReference": {"name": ""},
}
_SCALARS: Final = {
    "string": "string", "bytes": "string", "bool": "boolean", "int32": "numeric", "int64": "numeric",
    "number": "numeric",
}  # fmt: skip
# Anything at all, which is owned as a whole.
_WHOLE: Final = SCHEMAS | {"raw", "json"}


class OwnershipError(Exception):
    """The object does not have the shape of its kind."""


class Form(Enum):
    STRUCT = auto()
    MAP = auto()
    LIST = auto()
    SCALAR = auto()
    ANY = auto()  # whatever it is, owned as a whole


class Shape:
    """The form of a value. `is_atomic`: it is owned as a whole.

    `keys` are those of the items of a list, which without them are plain values; `scalar` is string, numeric, boolean
    or untyped.
    """

    __slots__ = ("_fields", "_item", "_type", "form", "is_atomic", "keys", "scalar")

    def __init__(
        self, form: Form, *, is_atomic: bool = False, keys: tuple[str, ...] = (), scalar: str = "", of: str = ""
    ) -> None:
        self.form = form
        self.is_atomic = is_atomic
        self.keys = keys
        self.scalar = scalar
        self._type = of
        self._fields: dict[str, Shape] | None = None
        self._item: Shape | None = None

    @property
    def fields(self) -> Mapping[str, Shape]:
        """Of a struct; made when first asked for, since types refer to themselves."""
        if self._fields is None:
            self._fields = {name: _of_field(field) for name, field in type_named(self._type).fields.items()}
            if self._type == "meta.ObjectMeta":
                self._fields["managedFields"] = _ANY
            if self._type in NESTED_KINDS:
                self._fields |= _IDENTITY
        return self._fields

    @property
    def item(self) -> Shape:
        """Of a map or a list."""
        if self._item is None:
            self._item = _of_name(self._type, "")
        return self._item

    def of_values(self, *values: Any) -> Shape:
        """The shape that these values have; most shapes are known before."""
        return self

    def below(self, name: str) -> Shape | None:
        """The shape of a field or of a map's value; None when there is no such field."""
        return self.item if self.form == Form.MAP else self.fields.get(name)

    def element(self, item: Any) -> str:
        """The path element of a list's item; OwnershipError when it has none."""
        if not self.keys:
            if isinstance(item, list):
                raise OwnershipError("not supported: associative list with lists as elements")
            if isinstance(item, Mapping) or item is None:
                what = "a map type" if isinstance(item, Mapping) else "an explicit null"
                raise OwnershipError(f"associative list without keys has an element that's {what}")
            return value_element(item)
        if not isinstance(item, Mapping):
            what = "a null element" if item is None else "non-map elements"
            raise OwnershipError(f"associative list with keys may not have {what}")
        values = {**self.key_defaults(), **item}
        found = {key: values[key] for key in self.keys if key in values}
        if not found:
            names = " ".join(f'"{key}"' for key in self.keys)
            raise OwnershipError(
                f"associative list with keys has an element that omits all key fields [{names}]"
                " (and doesn't have default values for any key fields)"
            )
        return key_element({key: _whole(value) for key, value in found.items()})

    def key_defaults(self) -> Mapping[str, Any]:
        """What the keys of an item are where it does not say them."""
        return _key_defaults(self._type, self.keys)

    def with_root(self) -> Shape:
        """The shape of a whole object, which says its type too."""
        made = Shape(Form.STRUCT, of=self._type)
        made._fields = {**_IDENTITY, **self.fields}
        return made


@lru_cache(maxsize=128)
def _key_defaults(type_name: str, keys: tuple[str, ...]) -> dict[str, Any]:
    found = dict(_KEY_DEFAULTS.get(type_name, {}))
    for key in keys:
        field = type_named(type_name).fields[key]
        if not field.omits_empty and not field.is_pointer:
            found[key] = 0 if field.shape in ("int32", "int64") else ""
    return found


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


_ANY: Final = Shape(Form.ANY, is_atomic=True)
_TEXT: Final = Shape(Form.SCALAR, scalar="string")
_IDENTITY: Final[Mapping[str, Shape]] = {"apiVersion": _TEXT, "kind": _TEXT}


@lru_cache(maxsize=128)
def shape_of(api_version: str, kind: str) -> Shape:
    """The shape of the objects of a kind."""
    return _of_struct(type_of(api_version, kind), "").with_root()


def _of_field(field: Field) -> Shape:
    if not field.shape.startswith("[]"):
        return _of_name(field.shape, field.treatment)
    keys = field.keys or ((field.merge_key,) if field.merge_key else ())
    is_atomic = field.treatment == "atomic" or not (field.treatment or field.is_merged)
    return Shape(Form.LIST, is_atomic=is_atomic, keys=() if field.treatment == "set" else keys, of=field.shape[2:])


@lru_cache(maxsize=512)
def _of_name(name: str, treatment: str) -> Shape:
    """The shape of a value that is no list; what a field says of it counts more than what its type does."""
    if name.startswith("{}"):
        return Shape(Form.MAP, is_atomic=treatment == "atomic", of=name[2:])
    if name.startswith("[]"):
        return Shape(Form.LIST, is_atomic=True, of=name[2:])
    if name in _WHOLE:
        return _ANY
    if "." in name:
        return _of_struct(type_named(name), treatment)
    return Shape(Form.SCALAR, scalar=_SCALARS.get(name, "untyped"))


def _of_struct(type_: Type, treatment: str) -> Shape:
    is_atomic = treatment == "atomic" or (type_.is_atomic and treatment != "granular")
    return Shape(Form.STRUCT, is_atomic=is_atomic, of=type_.name)
