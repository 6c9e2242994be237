"""Which version and kind a body says it is of, and what is said of one that is none that was expected.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json and pkg/runtime/scheme.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from scheduler_core.apiserver.registered import LEGACY, is_registered, unregistered

_GO_STRUCT: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
# The group of the internal type, where it is another one than that of the version.
_INTERNAL_GROUPS: Final = {"events.k8s.io": "core", "": "core"}


class TypeMeta(NamedTuple):
    """A group, its version and a kind in it."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class TypeProblem(Exception):
    """The body is of no kind that can be read; `found` is what it says it is, where that could be told."""

    def __init__(self, message: str, found: TypeMeta | None = None) -> None:
        super().__init__(message)
        self.found = found


def named(api_version: str, kind: str) -> TypeMeta:
    """The parts of a version that is known to be one."""
    group, _, version = api_version.rpartition("/")
    return TypeMeta(group, version, kind)


def found_in(value: Any) -> TypeMeta:
    """What the body itself says, parts of it empty; raises TypeProblem."""
    if not isinstance(value, Mapping):
        raise TypeProblem(no_object(value))
    said = {"apiversion": "", "kind": ""}  # Go's decoder does not mind the case of names
    for name, item in value.items():
        field = str(name).lower()
        if field not in said or item is None:
            continue
        if not isinstance(item, str):
            shown = {"apiversion": "apiVersion"}.get(field, field)
            raise TypeProblem(_unmarshal_problem(f"{go_kind(item)} into Go struct field .{shown} of type string"))
        said[field] = item
    version = said["apiversion"].removesuffix("/") if said["apiversion"] == "/" else said["apiversion"]
    if version.count("/") > 1:
        raise TypeProblem(f"unexpected GroupVersion string: {version}")
    group, is_grouped, rest = version.partition("/")
    return TypeMeta(group, rest, said["kind"]) if is_grouped else TypeMeta("", version, said["kind"])


def no_object(value: Any) -> str:
    """What is said of a body, or of what a patch makes, that is not an object."""
    return _unmarshal_problem(f"{go_kind(value)} into Go value of type {_GO_STRUCT}")


def _unmarshal_problem(detail: str) -> str:
    return f"couldn't get version/kind; json parse error: json: cannot unmarshal {detail}"


def go_kind(value: Any) -> str:
    """What Go's JSON decoder calls a value."""
    kinds = ((bool, "bool"), (str, "string"), ((int, float), "number"), (list, "array"), (Mapping, "object"))
    return next((name for types, name in kinds if isinstance(value, types)), "null")


def defaulted(found: TypeMeta, default: TypeMeta) -> TypeMeta:
    """What was found, completed by what is expected at that place."""
    kind = found.kind or default.kind
    if found.version or found.group not in ("", default.group):
        return TypeMeta(found.group, found.version, kind)
    return TypeMeta(default.group, default.version, kind)


def check(found: TypeMeta, wanted: TypeMeta, content: str) -> None:
    """Raise TypeProblem unless an object of this type can be made one of the type that is wanted.

    Older versions of a kind can be. `content` is the body, which a message may quote.
    """
    if not found.version:
        raise TypeProblem(f"Object 'apiVersion' is missing in '{content}'", found)
    if found == wanted:
        return
    if not is_registered(found.api_version, found.kind):
        raise TypeProblem(unregistered(found.api_version, found.kind, LEGACY), found)
    if found.kind != wanted.kind:
        internal = f"{_INTERNAL_GROUPS.get(wanted.group) or wanted.group.split('.')[0]}.{wanted.kind}"
        version = found.version if found.kind != "Status" else "v1"
        detail = f"converting ({version}.{found.kind}) to ({internal}): unknown conversion"
        raise TypeProblem(detail, found)
