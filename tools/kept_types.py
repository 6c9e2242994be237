"""`python -m tools.kept_types CHECKOUT`: writes the fields of kinds that scheduling does not read.

CHECKOUT is a checkout of Kubernetes, the folder with `staging` in it. What is taken of it are facts of the Go types:
names, types, tags, the markers above them and the values of enums. The table is read by
scheduler_core/api/schema/types.py and numbers.py.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kschedweb.environment import ROOT
from scheduler_core.api.schema.types import fully_listed

TABLE = ROOT / "scheduler_core" / "api" / "schema" / "kept.txt"
HEAD = """\
# Fields of kinds that scheduling does not read (Kubernetes 1.34), in the form of `fields.txt`. Written by
# tools/kept_types.py.
#
# After the type of a field stand, beside the words of `fields.txt`: `#` and its number in protobuf; `optional` and
# `required` where markers say otherwise than the tag; `enum:` and the values it may have, `_` for a space.
"""
# By the package in the table: its folder below staging/src/k8s.io, and the kinds.
SOURCES = {
    "rbac": ("api/rbac/v1", "Role RoleBinding ClusterRole ClusterRoleBinding"),
    "networking": ("api/networking/v1", "Ingress IngressClass NetworkPolicy IPAddress ServiceCIDR"),
    "autoscalingv2": ("api/autoscaling/v2", "HorizontalPodAutoscaler"),
    "admissionregistration": (
        "api/admissionregistration/v1",
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy"
        " ValidatingAdmissionPolicyBinding",
    ),
    "certificates": ("api/certificates/v1", "CertificateSigningRequest"),
    "flowcontrol": ("api/flowcontrol/v1", "FlowSchema PriorityLevelConfiguration"),
    "apiregistration": ("kube-aggregator/pkg/apis/apiregistration/v1", "APIService"),
    "apiextensions": ("apiextensions-apiserver/pkg/apis/apiextensions/v1", "CustomResourceDefinition"),
}
BUILTIN = {
    "string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "float64": "number", "[]byte": "bytes",
}  # fmt: skip
# Types of other packages that the table has names for.
LEAVES = {
    "metav1.Time": "time",
    "metav1.MicroTime": "microtime",
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "intorstring",
    "runtime.RawExtension": "raw",
    "types.UID": "string:types.UID",
    "metav1.StatusReason": "string:StatusReason",
    "metav1.ConditionStatus": "string:ConditionStatus",
    "JSON": "json",
    "JSONSchemaPropsOrArray": "schemaorarray",
    "JSONSchemaPropsOrBool": "schemaorbool",
    "JSONSchemaPropsOrStringArray": "schemaorstrings",
}
ELSEWHERE = {"metav1": "meta", "v1": "core", "corev1": "core", "admissionregistration": "admissionregistration"}
_TAG = re.compile(r'json:"(?P<name>[^",]*)(?P<options>[^"]*)"')
_NUMBER = re.compile(r'protobuf:"[a-z0-9]+,(?P<number>[\d.]+),')
_PATCH_KEY = re.compile(r'patchMergeKey:"(?P<key>[^"]*)"')
_VALUE = re.compile(r'\s+(?P<name>\w+)\s+(?P<type>\w+)?\s*=\s*(?:(?P<cast>\w+)\()?"(?P<value>[^"]*)"\)?')


class UnknownType(Exception):
    """A type is missing from the checkout, or has a form that the table cannot say."""


@dataclass
class Line:
    """A field as the source has it, with the markers above it."""

    code: str
    tags: str
    markers: dict[str, str]


@dataclass
class Package:
    """The types of one folder: fields of structs, names that stand for other types, values of enums."""

    structs: dict[str, list[Line]] = field(default_factory=dict)
    renames: dict[str, str] = field(default_factory=dict)
    markers: dict[str, dict[str, str]] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)


def read_package(folder: Path) -> Package:
    """Return the types of a folder, as gofmt writes them."""
    package, markers, struct = Package(), dict[str, str](), ""
    files = sorted(folder.glob("types*.go"))
    for line in "".join(file.read_text(encoding="utf-8") for file in files).splitlines():
        text = line.strip()
        if text.startswith("//"):
            found = re.match(r"//\s*\+(?P<name>[\w:]+)(?:=(?P<value>.*))?$", text)
            if found:
                markers[found["name"]] = found["value"] or ""
            continue
        if struct:
            if line == "}":
                struct = ""
            elif text:
                code, _, tags = text.partition("`")
                package.structs[struct].append(Line(code.strip(), tags, markers))
                markers = {}
        elif line.startswith("type "):
            name = line.split()[1]
            package.markers[name] = markers
            if line.endswith(" struct {"):
                package.structs[struct := name] = []
            elif line.endswith(" struct{}"):
                package.structs[name] = []
            else:
                package.renames[name] = line.split()[2]
        elif value := _VALUE.match(line):
            package.values.setdefault(value["type"] or value["cast"] or "", []).append(value["value"])
        if text or struct:
            markers = {}
    return package


class Table:
    """The lines of the table: the kinds of each package, then the types below them."""

    def __init__(self, checkout: Path, known: frozenset[str]) -> None:
        self._known = known  # types that the main table has
        staging = checkout / "staging" / "src" / "k8s.io"
        self._packages = {name: read_package(staging / path) for name, (path, _) in SOURCES.items()}
        self._core = read_package(staging / "api" / "core" / "v1")

    def lines(self) -> Iterator[str]:
        """Yield the lines of all types."""
        for package, (_, kinds) in SOURCES.items():
            todo, seen = kinds.split(), set[str]()
            while todo:
                name = todo.pop(0)
                if name not in seen:
                    seen.add(name)
                    yield from self._struct(package, name, todo)

    def _struct(self, package: str, name: str, todo: list[str]) -> Iterator[str]:
        source = self._packages[package]
        is_atomic = source.markers[name].get("structType") == "atomic"
        yield f"{package}.{name}" + (" atomic" if is_atomic else "")
        for line in self._fields(source, name):
            tag = _TAG.search(line.tags)
            if tag is None:
                raise UnknownType(f"{package}.{name}: {line.code}")
            kind = line.code.split()[-1]
            shape, enum = self._shape(package, kind, todo)
            omits = "omitempty" in tag["options"]
            words = [tag["name"] + ("?" if omits else ""), shape, *_treatment(line, kind)]
            if not omits and "optional" in line.markers:
                words.append("optional")
            if omits and "required" in line.markers:
                words.append("required")
            if enum:
                words.append(f"enum:{'|'.join(enum).replace(' ', '_')}")
            number = _NUMBER.search(line.tags)
            if number is not None:
                words.append(f"#{number['number']}")
            yield "  " + " ".join(words)

    def _fields(self, source: Package, name: str) -> Iterator[Line]:
        """Yield the fields of a struct, those of structs inside of it among them."""
        for line in source.structs[name]:
            tag = _TAG.search(line.tags)
            options = tag["options"] if tag is not None else ""
            if "inline" not in options:
                yield line
            elif line.code != "metav1.TypeMeta":
                outer = _NUMBER.search(line.tags)
                for inner in self._fields(source, line.code.split()[-1]):
                    place = f"{outer['number']}." if outer is not None else ""
                    tags = re.sub(r'(protobuf:"[a-z0-9]+,)(\d+)', rf"\g<1>{place}\2", inner.tags)
                    yield Line(inner.code, tags, inner.markers)

    def _shape(self, package: str, kind: str, todo: list[str]) -> tuple[str, list[str]]:
        """Return how the table writes a type, and the values it may have."""
        if kind in BUILTIN or kind in LEAVES:
            return BUILTIN.get(kind) or LEAVES[kind], []
        for prefix, written in (("*", "*"), ("[]", "[]"), ("map[string]", "{}")):
            if kind.startswith(prefix):
                shape, enum = self._shape(package, kind.removeprefix(prefix), todo)
                return written + shape, enum
        place, _, name = kind.rpartition(".")
        source = self._packages[package] if not place or place == package else self._core
        if name in source.renames and (not place or place in ("v1", "corev1")):
            shape, _ = self._shape(package, source.renames[name], todo)
            enum = source.values.get(name, []) if "enum" in source.markers[name] else []
            version = "v2." if package == "autoscalingv2" and not place else ""
            return f"{shape}:{version}{name}" if shape == "string" else shape, enum
        if place:
            found = f"{ELSEWHERE[place]}.{name}"
            if found not in self._known:
                raise UnknownType(found)
            return found, []
        if name not in source.structs:
            raise UnknownType(f"{package}.{name}")
        todo.append(name)
        return f"{package}.{name}", []


def _treatment(line: Line, kind: str) -> Iterator[str]:
    """Yield how patches and applies treat a field."""
    key = _PATCH_KEY.search(line.tags)
    if 'patchStrategy:"merge"' in line.tags:
        yield f"merge:{key['key']}" if key is not None else "merge"
    if kind == "[]byte":
        return
    treatment = line.markers.get("listType") or line.markers.get("mapType") or line.markers.get("structType")
    if treatment == "map":
        yield f"map:{line.markers['listMapKey']}"
    elif treatment:
        yield treatment


def render(checkout: Path) -> str:
    """Return the table made from a checkout."""
    return HEAD + "".join(f"{line}\n" for line in Table(checkout, fully_listed()).lines())


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.kept_types", description=__doc__)
    parser.add_argument("checkout", type=Path)
    TABLE.write_text(render(parser.parse_args(words).checkout), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
