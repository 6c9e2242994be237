"""`python -m tools.go_types CHECKOUT`: writes the Go types below a pod template from a checkout of Kubernetes.

CHECKOUT is the folder with `staging` in it. The table is read by scheduler_core/api/schema/go_types.py. It has the
names that Go prints, so types of equal names in two packages are an error, as is any form of type the table cannot say.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kschedweb.environment import ROOT

TABLE = ROOT / "scheduler_core" / "api" / "schema" / "go_types.txt"
START = "k8s.io/api/core/v1", "PodTemplateSpec"
HEAD = """\
# Go types below a pod template (Kubernetes 1.34), as Go prints their names. Written by tools/go_types.py.
#
# A struct begins at the margin, its fields follow in order: name, name in manifests, type. In manifests the fields of a
# type stand among the others where the name there is a dot. `name = type` is a type named anew.
"""
BUILTIN = frozenset({"string", "bool", "int32", "int64", "uint8"})
ALIASES = {"byte": "uint8"}
# What the reader of the table prints by rules of its own; fields of time.Time are private.
LEAVES = frozenset({"v1.Time", "v1.FieldsV1", "resource.Quantity", "intstr.IntOrString"})


class UnknownType(Exception):
    """A type is missing from the checkout, or has a form or a name the table cannot hold."""


@dataclass(frozen=True)
class Declaration:
    """A type as the source has it: the lines of its fields, or the type it names anew."""

    imports: dict[str, str]  # path by name in the file
    fields: tuple[str, ...] = ()
    renames: str = ""


@dataclass
class Package:
    name: str = ""
    types: dict[str, Declaration] = field(default_factory=dict)


class Checkout:
    """The packages of a checkout, each read once."""

    def __init__(self, root: Path) -> None:
        self._staging = root / "staging" / "src"
        self._packages: dict[str, Package] = {}

    def package(self, path: str) -> Package:
        """Return the package with this import path."""
        if path not in self._packages:
            package = self._packages[path] = Package()
            for file in sorted((self._staging / path).glob("*.go")):
                if not file.name.endswith("_test.go"):
                    _read_file(file.read_text(encoding="utf-8").splitlines(), package)
        return self._packages[path]

    def declaration(self, path: str, name: str) -> Declaration:
        """Return a type of a package."""
        try:
            return self.package(path).types[name]
        except KeyError:
            raise UnknownType(f"{path} has no type {name}") from None


class Table:
    """The lines of the table, type after type in the order in which fields lead to them."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._origins: dict[str, str] = {}  # import path by printed name
        self._open: list[tuple[str, str]] = []

    def lines(self, path: str, name: str) -> Iterator[str]:
        """Yield the lines for a type and all types below it."""
        self._named(path, name)
        while self._open:
            yield from self._type(*self._open.pop(0))

    def _type(self, path: str, name: str) -> Iterator[str]:
        declaration = self._checkout.declaration(path, name)
        printed = f"{self._checkout.package(path).name}.{name}"
        if declaration.renames:
            yield f"{printed} = {self._printed(declaration.renames, path, declaration)}"
            return
        yield printed
        for line in declaration.fields:
            code, _, tags = line.partition("`")
            words = code.split()
            manifest, _, options = tags.partition('json:"')[2].partition('"')[0].partition(",")
            if "inline" in options.split(","):
                manifest = "."
            if not manifest or len(words) > 2:
                raise UnknownType(f"{printed}: {line}")
            own = words[0] if len(words) == 2 else words[0].rpartition(".")[2]
            yield f"  {own} {manifest} {self._printed(words[-1], path, declaration)}"

    def _printed(self, text: str, path: str, declaration: Declaration) -> str:
        """Return a type of a file as Go prints it, and see to the types in it."""
        for prefix in ("*", "[]"):
            if text.startswith(prefix):
                return prefix + self._printed(text.removeprefix(prefix), path, declaration)
        if text.startswith("map["):
            key, _, value = text.removeprefix("map[").partition("]")
            return f"map[{self._printed(key, path, declaration)}]{self._printed(value, path, declaration)}"
        text = ALIASES.get(text, text)
        if text in BUILTIN:
            return text
        place, _, name = text.rpartition(".")
        if place and place not in declaration.imports:
            raise UnknownType(f"{path}: {text}")
        return self._named(declaration.imports[place] if place else path, name)

    def _named(self, path: str, name: str) -> str:
        printed = f"{self._checkout.package(path).name}.{name}"
        if printed not in self._origins and printed not in LEAVES:
            self._open.append((path, name))
        if self._origins.setdefault(printed, path) != path:
            raise UnknownType(f"{printed} stands for a type of {path} and one of {self._origins[printed]}")
        return printed


def _read_file(lines: list[str], package: Package) -> None:
    """Take over the types a file declares at its margin, as gofmt writes them."""
    imports: dict[str, str] = {}
    rest = iter(lines)
    for line in rest:
        if line.startswith("package "):
            package.name = line.split()[1]
        elif line.startswith("import "):
            block = rest if line.endswith("(") else [line.removeprefix("import "), ")"]
            imports |= dict(_imports(iter(block)))
        elif line.startswith("type ") and line.endswith(" struct {"):
            package.types[line.split()[1]] = Declaration(imports, tuple(_fields(rest)))
        elif line.startswith("type ") and len(line.partition("//")[0].split()) == 3:
            _, name, renamed = line.partition("//")[0].split()
            package.types[name] = Declaration(imports, renames=renamed)


def _imports(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line == ")":
            return
        words = line.partition("//")[0].split()
        if words:
            path = words[-1].strip('"')
            yield (words[0] if len(words) == 2 else path.rpartition("/")[2]), path


def _fields(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == "}":
            return
        if line.strip() and not line.strip().startswith("//"):
            yield line.strip()


def render(checkout: Path) -> str:
    """Return the table made from a checkout."""
    return HEAD + "".join(f"{line}\n" for line in Table(Checkout(checkout)).lines(*START))


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.go_types", description=__doc__)
    parser.add_argument("checkout", type=Path)
    TABLE.write_text(render(parser.parse_args(words).checkout), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
