"""Configurations as texts for people: complete, and what changed from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
import yaml

from scheduler_core.api.yaml_scalars import is_number
from scheduler_core.config.decode import encode
from scheduler_core.config.defaults import ARGS_TYPES
from scheduler_core.config.fields import shown
from scheduler_core.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile, PluginConfig

# Lists whose items have names, by the field that holds the list: an item is the same wherever it stands.
_NAMES: Final[Mapping[str, str]] = {
    "profiles": "schedulerName",
    "enabled": "name",
    "disabled": "name",
    "pluginConfig": "name",
    "resources": "name",
    "managedResources": "name",
    "extenders": "urlPrefix",
}
_ORDERED: Final = frozenset({"enabled", "extenders"})  # those that are asked in their order
_BY_NAME_ALONE: Final = frozenset({"profiles", "extenders"})  # too large to be shown as values
_SECRET: Final = frozenset({"keyData", "certData", "caData"})
_SHOWN: Final = 120  # characters of a value
_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a field or of a named item: `before` and `after` are empty where there is nothing to show."""

    path: str
    kind: Literal["added", "removed", "changed", "reordered"]
    before: str = ""
    after: str = ""


def complete_text(config: KubeSchedulerConfiguration) -> str:
    """The configuration as YAML, with every default; `load` reads it back as the same value."""
    document = _without_empty_sets(_document(config))
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def changes(before: KubeSchedulerConfiguration, after: KubeSchedulerConfiguration) -> list[Change]:
    """The difference of two complete configurations; args that are not there count as the default ones."""
    mine, other = _with_args_of(before, after), _with_args_of(after, before)
    return list(_between("", "", _document(mine), _document(other)))


def _with_args_of(config: KubeSchedulerConfiguration, other: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """The configuration with default args of plugins that only the other has some for."""
    profiles: list[KubeSchedulerProfile] = []
    for profile in config.profiles:
        twin = other.profile(profile.scheduler_name)
        known = {entry.name for entry in profile.plugin_config}
        lacking = [
            PluginConfig(entry.name, ARGS_TYPES[entry.name]())
            for entry in (twin.plugin_config if twin is not None else ())
            if entry.name in ARGS_TYPES and entry.name not in known
        ]
        profiles.append(msgspec.structs.replace(profile, plugin_config=(*profile.plugin_config, *lacking)))
    return msgspec.structs.replace(config, profiles=tuple(profiles))


def _between(path: str, field: str, before: Any, after: Any) -> Iterator[Change]:
    if before == after:
        return
    if (_is_nothing(before) or isinstance(before, dict)) and (_is_nothing(after) or isinstance(after, dict)):
        mine, other = ({} if _is_nothing(value) else value for value in (before, after))
        for name in dict.fromkeys([*mine, *other]):
            below = f"{path}.{name}" if path else name
            yield from _between(below, name, mine.get(name, _NOTHING), other.get(name, _NOTHING))
        return
    named, others = _by_name(field, before), _by_name(field, after)
    if named is not None and others is not None:
        yield from _between_named(path, field, named, others)
        return
    yield _change(path, field, before, after)


def _between_named(path: str, field: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        at = f"{path}[{name}]"
        if name in before and name in after:
            yield from _between(at, "", before[name], after[name])
        else:
            yield _change(at, field, before.get(name, _NOTHING), after.get(name, _NOTHING))
    if field in _ORDERED:
        mine, other = [name for name in before if name in after], [name for name in after if name in before]
        if mine != other:
            yield Change(path, "reordered", _short(", ".join(mine)), _short(", ".join(other)))


def _change(path: str, field: str, before: Any, after: Any) -> Change:
    kind: Literal["added", "removed", "changed"]
    kind = "added" if _is_nothing(before) else "removed" if _is_nothing(after) else "changed"
    return Change(path, kind, _text(field, before), _text(field, after))


def _text(field: str, value: Any) -> str:
    if _is_nothing(value) or field in _BY_NAME_ALONE or (isinstance(value, dict) and list(value) == ["name"]):
        return ""  # the name stands in the path
    if field in _SECRET:
        return "…"
    return _short(value if isinstance(value, str) else shown(value))


def _is_nothing(value: Any) -> bool:
    return value is _NOTHING


def _by_name(field: str, items: Any) -> dict[str, Any] | None:
    """The items of a list by name; None where they have none of their own."""
    key = _NAMES.get(field)
    if key is None or not isinstance(items, list):
        return None
    found = {item[key]: item for item in items if isinstance(item, dict) and isinstance(item.get(key), str)}
    return found if len(found) == len(items) else None


def _document(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """The document without what was not given; args of other people's plugins stay as they are."""
    document: dict[str, Any] = _given(encode(config))
    for profile, written in zip(document["profiles"], config.profiles, strict=True):
        for plugins in profile["plugins"].values():
            for entry in (*plugins["enabled"], *plugins["disabled"]):
                if not entry["weight"]:
                    del entry["weight"]
        for entry, config_entry in zip(profile["pluginConfig"], written.plugin_config, strict=True):
            if entry["name"] not in ARGS_TYPES and config_entry.args is not None:
                entry["args"] = config_entry.args
    return document


def _given(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _given(item) for name, item in value.items() if item is not None}
    return [_given(item) for item in value] if isinstance(value, list | tuple) else value


def _without_empty_sets(document: dict[str, Any]) -> dict[str, Any]:
    """The document with `filter: {}` for a point at which nothing is enabled or disabled."""
    for profile in document["profiles"]:
        profile["plugins"] = {
            point: {name: entries for name, entries in plugins.items() if entries}
            for point, plugins in profile["plugins"].items()
        }
    return document


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


class _Dumper(yaml.SafeDumper):
    """Quotes texts that our own reader would take for numbers, and repeats values in the place of aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if is_number(text) else None)


_Dumper.add_representer(str, _text_node)
