"""The Go types below a pod template, from `go_types.txt`: fields in order, and the names that Go prints.

Source: kubernetes v1.34.1, staging/src/k8s.io/{api,apimachinery}, by way of tools/go_types.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_AMONG_OTHERS = "."


@dataclass(frozen=True, slots=True)
class GoField:
    """A field of a struct. `manifest_name` is empty where manifests have the fields of its type among the others."""

    name: str
    manifest_name: str
    type: str


def fields_of(type_name: str) -> tuple[GoField, ...] | None:
    """Return the fields of a struct in order; None when the type is no struct of the table."""
    return _table()[0].get(type_name)


def underlying(type_name: str) -> str:
    """Return the type that a type names anew, such as `string`; the type itself when it does not."""
    return _table()[1].get(type_name, type_name)


@lru_cache(maxsize=1)
def _table() -> tuple[dict[str, tuple[GoField, ...]], dict[str, str]]:
    structs: dict[str, tuple[GoField, ...]] = {}
    renamed: dict[str, str] = {}
    struct = ""
    for line in (Path(__file__).parent / "go_types.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if line.startswith("#"):
            continue
        if line.startswith("  "):
            name, manifest_name, type_name = words
            field = GoField(name, manifest_name if manifest_name != _AMONG_OTHERS else "", type_name)
            structs[struct] = (*structs[struct], field)
        elif len(words) == 1:
            struct = words[0]
            structs[struct] = ()
        else:
            renamed[words[0]] = words[2]
    return structs, renamed
