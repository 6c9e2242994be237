"""The types of `fields.txt` and `kept.txt`: which fields a part of a manifest has, and how each is written.

Source: kubernetes v1.34.1, staging/src/k8s.io/{api,apimachinery}: the tags of the Go types.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

# Kinds of two groups may share a name; the schema's groups by API group.
_PACKAGES: Final = {
    "meta": "meta",  # options, whose version is that of the request
    "v1": "core",
    "apps/v1": "apps",
    "batch/v1": "batch",
    "policy/v1": "policy",
    "scheduling.k8s.io/v1": "scheduling",
    "node.k8s.io/v1": "node",
    "storage.k8s.io/v1": "storage",
    "resource.k8s.io/v1": "resource",
    "resource.k8s.io/v1alpha2": "older",
    "coordination.k8s.io/v1": "coordination",
    "events.k8s.io/v1": "events",
    "autoscaling/v1": "autoscaling",
    "discovery.k8s.io/v1": "discovery",
    "authentication.k8s.io/v1": "authentication",
    "authorization.k8s.io/v1": "authorization",
    "rbac.authorization.k8s.io/v1": "rbac",
    "networking.k8s.io/v1": "networking",
    "autoscaling/v2": "autoscalingv2",
    "admissionregistration.k8s.io/v1": "admissionregistration",
    "certificates.k8s.io/v1": "certificates",
    "flowcontrol.apiserver.k8s.io/v1": "flowcontrol",
    "apiregistration.k8s.io/v1": "apiregistration",
    "apiextensions.k8s.io/v1": "apiextensions",
}
VERSIONS: Final = frozenset(_PACKAGES)
# By package: the name that Go's package of the version has, where it is not v1.
_GO_PACKAGES: Final = {"autoscalingv2": "v2"}
_GO_NAMES: Final = {
    "quantity": "resource.Quantity",
    "time": "v1.Time",
    "microtime": "v1.MicroTime",
    "intorstring": "intstr.IntOrString",
    "raw": "runtime.RawExtension",
    "bytes": "[]uint8",
    "number": "float64",
    "json": "v1.JSON",
    "schemaorarray": "v1.JSONSchemaPropsOrArray",
    "schemaorbool": "v1.JSONSchemaPropsOrBool",
    "schemaorstrings": "v1.JSONSchemaPropsOrStringArray",
}
# Values that are a schema of JSON or something plain.
SCHEMAS: Final = frozenset({"schemaorarray", "schemaorbool", "schemaorstrings"})
# Values without fields that are looked at one by one.
SCALARS: Final = SCHEMAS | {
    "string", "int32", "int64", "number", "bool", "quantity", "intorstring", "time", "microtime", "raw", "json",
    "bytes",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `shape` is what is left of its type without pointer: a scalar, a type's name, `[]x` or `{}x`.

    `merge_key` is empty where a merged list holds plain values; `keys` are those of a list that apply treats as a map.
    Of kinds that are kept only: whether it `is_required`, the values of its `enum`, and its `number` in protobuf.
    """

    name: str
    shape: str
    go_name: str
    is_pointer: bool
    omits_empty: bool
    omits_zero: bool
    is_merged: bool
    merge_key: str
    retains_keys: bool
    treatment: str
    keys: tuple[str, ...]
    is_required: bool = False
    enum: tuple[str, ...] = ()
    number: str = ""

    @property
    def item(self) -> str:
        """The shape of the items of a list or of the values of a map."""
        return self.shape[2:]


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """A struct: `name` is package and name, `fields` by name in writing order. `is_atomic`: apply takes it whole."""

    name: str
    fields: dict[str, Field]
    is_atomic: bool = False

    @property
    def go_name(self) -> str:
        return self.name.rpartition(".")[2]


def type_named(name: str) -> Type:
    """A type such as `core.PodSpec`; KeyError when there is none."""
    return _types()[name]


def type_of(api_version: str, kind: str) -> Type:
    """The type of a kind's manifests."""
    return _types()[f"{_PACKAGES[api_version]}.{kind}"]


def type_names() -> tuple[str, ...]:
    """The names of all types."""
    return tuple(_types())


def fully_listed() -> frozenset[str]:
    """The names of the types of `fields.txt`."""
    return frozenset(_read("fields.txt"))


def kept_types() -> dict[str, Type]:
    """The types of `kept.txt`, by name."""
    return {name: type_ for name, type_ in _types().items() if name.partition(".")[0] in _KEPT_PACKAGES}


_KEPT_PACKAGES: Final = frozenset(
    {
        "rbac", "networking", "autoscalingv2", "admissionregistration", "certificates", "flowcontrol",
        "apiregistration", "apiextensions",
    }
)  # fmt: skip


@lru_cache(maxsize=1)
def _types() -> dict[str, Type]:
    return _read("fields.txt") | _read("kept.txt")


def _read(file: str) -> dict[str, Type]:
    types: dict[str, Type] = {}
    fields: dict[str, Field] = {}
    for line in (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            field = _field(line.split())
            fields[field.name] = field
        elif not line.startswith("#"):
            fields = {}
            name, _, treatment = line.partition(" ")
            types[name] = Type(name, fields, is_atomic=treatment == "atomic")
    return types


def _field(words: list[str]) -> Field:
    name, text, *rest = words
    plain = text.removeprefix("*")
    shape, _, named = plain.partition(":")
    merged = next((word for word in rest if word.startswith("merge")), "")
    treatment = next((word for word in rest if word.partition(":")[0] in ("atomic", "set", "map", "granular")), "")
    enum = next((word.removeprefix("enum:") for word in rest if word.startswith("enum:")), "")
    is_required = "required" in rest or not (name.endswith("?") or "optional" in rest)
    return Field(
        name=name.rstrip("?"),
        shape=shape,
        go_name=_go_name(shape, named),
        is_pointer=text.startswith("*"),
        omits_empty="?" in name,
        omits_zero=name.endswith("??"),
        is_merged=bool(merged),
        merge_key=merged.partition(":")[2],
        retains_keys="retainKeys" in rest,
        treatment=treatment.partition(":")[0],
        keys=tuple(filter(None, treatment.partition(":")[2].split(","))),
        is_required=is_required,
        enum=tuple(enum.replace("_", " ").split("|")) if enum else (),
        number=next((word[1:] for word in rest if word.startswith("#")), ""),
    )


def _go_name(shape: str, named: str) -> str:
    """What messages call the type: `[]v1.PersistentVolumeAccessMode`, `map[string]string`."""
    if shape.startswith("[]"):
        return "[]" + _go_name(shape[2:], named)
    if named:
        return named if "." in named else f"v1.{named}"
    if shape.startswith("{}"):
        return "map[string]" + _go_name(shape[2:], "")
    if shape in _GO_NAMES:
        return _GO_NAMES[shape]
    package, _, name = shape.partition(".")
    return f"{_GO_PACKAGES.get(package, 'v1')}.{name}" if name else shape
