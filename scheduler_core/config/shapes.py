"""What of a document fits its types, and everything that does not: unknown fields, wrong shapes, wrong values.

The rest is handed on with what is refused left out, so that it can be validated in the same run.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from scheduler_core.api.affinity import TopologySpreadConstraint
from scheduler_core.api.manifests import DecodeHook, convert
from scheduler_core.api.places import below
from scheduler_core.config.duration import Duration
from scheduler_core.config.fields import shown
from scheduler_core.config.types import (
    Extender,
    ExtenderManagedResource,
    KubeSchedulerProfile,
    PluginConfig,
    PluginEntry,
    PluginSet,
    ResourceSpec,
    UtilizationShapePoint,
)
from scheduler_core.config.versions import FORMER_FIELDS
from scheduler_core.errors import ConfigProblem, ManifestError

_EXPECTED: Final = re.compile(r"expected (?P<expected>.+?)(?:, got (?P<got>.+))?")
_SHOWN: Final = 100
_REFUSED: Final = object()
_STAND_INS: Final[Mapping[Any, Any]] = {str: "", int: 0}  # for a refused item, so that others keep their numbers
# How each is written: an item of a list, or the object itself.
_EXAMPLES: Final[Mapping[type[msgspec.Struct], str]] = {
    KubeSchedulerProfile: "- schedulerName: default-scheduler\n  percentageOfNodesToScore: 50",
    PluginConfig: "- name: NodeResourcesFit\n  args: {scoringStrategy: {type: MostAllocated}}",
    PluginSet: "enabled:\n- name: NodeResourcesFit",
    PluginEntry: "- name: NodeResourcesFit\n  weight: 5",
    ResourceSpec: "- name: cpu\n  weight: 1",
    UtilizationShapePoint: "- utilization: 100\n  score: 10",
    TopologySpreadConstraint: "- maxSkew: 1\n  topologyKey: topology.kubernetes.io/zone\n"
    "  whenUnsatisfiable: ScheduleAnyway",
    Extender: "- urlPrefix: http://127.0.0.1:8888\n  filterVerb: filter",
    ExtenderManagedResource: "- name: example.com/gpu\n  ignoredByScheduler: true",
}
_LONGEST_LINE: Final = 100


class Shapes:
    """Collects problems; `refused` are paths of what was left out. `hook` reads types that are not msgspec's."""

    def __init__(self, hook: DecodeHook) -> None:
        self.problems: list[ConfigProblem] = []
        self.refused: list[str] = []
        self._hook = hook
        self._around: list[tuple[str, Mapping[str, Any]]] = []  # the objects that are being read, with their fields

    def fitting(self, value: Any, cls: Any, path: str) -> Any:
        """What of the value can be read as the class, a struct: an empty one when nothing can."""
        found = self._fitting(value, cls, path)
        return {} if found is _REFUSED else found

    def _fitting(self, value: Any, cls: Any, path: str) -> Any:
        bare = _bare(cls)
        struct, item = _struct(bare), _item(bare)
        if struct is not None and isinstance(value, dict):
            return self._object(value, struct, path)
        if item is not None and isinstance(value, list):
            return self._list(value, item, path)
        try:
            convert(value, bare, path=path, dec_hook=self._hook)
        except ManifestError as error:
            return self._refuse(error, value, bare)
        return value

    def _object(self, value: dict[str, Any], struct: type[msgspec.Struct], path: str) -> Any:
        known = fields_of(struct)
        found: dict[str, Any] = {}
        self._around.append((path, known))
        for name, given in value.items():
            at = below(path, name)
            if name not in known:
                self.problems.append(_unknown(at, name, known, self._around))
            elif given is not None:  # null counts as absent
                fits = self._fitting(given, known[name], at)
                if fits is not _REFUSED:
                    found[name] = fits
        self._around.pop()
        lacking = [name for name in _required(struct) if name not in found]
        for name in lacking:
            at = below(path, name)
            if value.get(name) is None:
                self.problems.append(ConfigProblem(at, "is required", "nothing", _words(known[name])))
        if lacking:
            self.refused.append(path)
            return _REFUSED
        return found

    def _list(self, value: list[Any], item: Any, path: str) -> Any:
        found, is_whole = [], True
        for index, given in enumerate(value):
            fits = self._fitting(given, item, f"{path}[{index}]")
            if fits is _REFUSED:
                fits = _stand_in(item)
                is_whole = is_whole and fits is not _REFUSED
            found.append(fits)
        if not is_whole:
            self.refused.append(path)
            return _REFUSED
        return found

    def _refuse(self, error: ManifestError, value: Any, cls: Any) -> Any:
        self.refused.append(error.path)
        words = _EXPECTED.fullmatch(error.detail)
        expected = _words(cls) or (words["expected"] if words is not None else "")
        got = words["got"] if words is not None and words["got"] else shown(value)
        help_ = _example(cls, value)
        self.problems.append(ConfigProblem(error.path, error.detail, got[:_SHOWN], expected, help=help_))
        return _REFUSED


@cache
def fields_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The type of each field by its name in documents."""
    hints = get_type_hints(struct, include_extras=True)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(struct)}


@cache
def _required(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(field.encode_name for field in msgspec.structs.fields(struct) if field.required)


def _unknown(
    path: str, name: str, known: Mapping[str, Any], around: Sequence[tuple[str, Mapping[str, Any]]]
) -> ConfigProblem:
    sentence = f'strict decoding error: unknown field "{path}"'
    expected = _above(name, around) or FORMER_FIELDS.get(name) or _nearest(name, known)
    return ConfigProblem(path, sentence, name[:_SHOWN], expected, sentence=sentence)


def _above(name: str, around: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Where a field belongs that stands too deep; empty for others."""
    for path, fields in reversed(around):
        if name in fields:
            return below(path, name) if path else f"{name} at the top"
    return ""


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name[:_SHOWN], known, n=1)
    return near[0] if near else f"one of {', '.join(known)}"


def _example(cls: Any, value: Any) -> str:
    """Lines that show how a list or an object is written, made of what was given where that can be seen."""
    item = _item(cls)
    struct = _struct(_bare(item if item is not None else cls))
    if struct is None or struct not in _EXAMPLES:
        return ""
    if item is not None and isinstance(value, dict) and value:
        if value.keys() <= fields_of(struct).keys():
            return _as_item(value)
        name, given = next(iter(value.items()))
        if struct is PluginConfig and isinstance(given, dict):
            return _as_item({"name": name, "args": given.get("args", given)})
    return _EXAMPLES[struct]


def _as_item(fields: Mapping[str, Any]) -> str:
    """A list's item of these fields as YAML, its values on one line each."""
    lines = [f"{name}: {text if len(text := shown(value)) <= _LONGEST_LINE else '…'}" for name, value in fields.items()]
    return "- " + "\n  ".join(lines)


def _parts(cls: Any) -> Iterator[Any]:
    for part in get_args(cls):
        if part is not type(None):
            yield part


def _bare(cls: Any) -> Any:
    """The type without `| None`: null is taken for absent everywhere."""
    if get_origin(cls) in (Union, UnionType) and len(parts := list(_parts(cls))) == 1:
        return parts[0]
    return cls


def _plain(cls: Any) -> Any:
    """The type without its bounds."""
    return get_args(cls)[0] if get_origin(cls) is Annotated else cls


def _struct(cls: Any) -> type[msgspec.Struct] | None:
    return cls if isinstance(cls, type) and issubclass(cls, msgspec.Struct) else None


def _item(cls: Any) -> Any:
    """The type of a list's items; None when it is no list."""
    return get_args(cls)[0] if get_origin(cls) is tuple else None


def _stand_in(item: Any) -> Any:
    struct = _struct(_bare(item))
    if struct is not None:
        return _REFUSED if _required(struct) else {}
    return _STAND_INS.get(_plain(item), _REFUSED)


def _words(cls: Any) -> str:
    """What is expected of a type, in words."""
    bare = _bare(cls)
    plain, struct, item = _plain(bare), _struct(bare), _item(bare)
    if struct is not None:
        return f"an object ({', '.join(fields_of(struct))})"
    if item is not None:
        inner = _struct(_bare(item))
        if inner is not None:
            return f"a list of objects ({', '.join(fields_of(inner))})"
        return f"a list of {'texts' if item is str else 'values'}"
    known = {str: "text", int: "an integer", float: "a number", bool: "true or false"}
    if plain is Duration:
        return "a duration such as 15s"
    return known.get(plain, "")
