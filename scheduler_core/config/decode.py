"""Configuration documents to values and back, as strictly as upstream: unknown and duplicate fields are errors.

Texts may be YAML or JSON; anchors and aliases of YAML are refused. Accepts v1, and v1beta3 as another name for it.
Source: kubernetes v1.34.1, staging/src/k8s.io/kube-scheduler/config/v1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_type_hints

import msgspec
import yaml

from scheduler_core.api.manifests import convert
from scheduler_core.api.quantity import Quantity
from scheduler_core.config.defaults import ARGS_TYPES
from scheduler_core.config.duration import Duration
from scheduler_core.config.types import (
    API_VERSION,
    KIND,
    KubeSchedulerConfiguration,
    PluginConfig,
)
from scheduler_core.errors import ConfigError, ManifestError

GROUP: Final = "kubescheduler.config.k8s.io"
ACCEPTED_VERSIONS: Final = (API_VERSION, f"{GROUP}/v1beta3")

_MAX_TEXT_BYTES: Final = 1_000_000

T = TypeVar("T")


def parse_text(text: str | bytes) -> Mapping[str, Any]:
    """The document of a YAML or JSON text."""
    if len(text) > _MAX_TEXT_BYTES:
        raise ConfigError([f"the configuration is larger than {_MAX_TEXT_BYTES} bytes"])
    try:
        text = text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError as error:
        raise ConfigError([f"the configuration is not UTF-8 text: {error}"]) from None
    try:
        if text.lstrip().startswith("{"):
            document = json.loads(text, object_pairs_hook=_unique_pairs)
        else:
            document = yaml.load(text, Loader=_StrictLoader)
    except (json.JSONDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ConfigError([f"cannot be read as YAML or JSON: {error or 'nested too deeply'}"]) from None
    if not isinstance(document, dict):
        raise ConfigError(["expected an object with apiVersion and kind at the top"])
    return document


def decode(document: Mapping[str, Any]) -> KubeSchedulerConfiguration:
    """The configuration as written, plugin args typed; defaults and validation come after. Raises ConfigError."""
    fields = dict(document)
    version, kind = fields.pop("apiVersion", None), fields.pop("kind", None)
    _check_kind(version, kind)
    problems = [
        f'strict decoding error: unknown field "{path}"' for path in _unknown(fields, KubeSchedulerConfiguration, "")
    ]
    if problems:
        raise ConfigError(problems)
    config = _convert(fields, KubeSchedulerConfiguration)
    profiles = []
    for i, profile in enumerate(config.profiles):
        entries = []
        for j, entry in enumerate(profile.plugin_config):
            try:
                entries.append(PluginConfig(entry.name, _decode_args(entry.name, entry.args)))
            except ConfigError as error:
                problems += [f"decoding .profiles[{i}].pluginConfig[{j}]: {problem}" for problem in error.problems]
        profiles.append(msgspec.structs.replace(profile, plugin_config=tuple(entries)))
    if problems:
        raise ConfigError(problems)
    return msgspec.structs.replace(config, profiles=tuple(profiles))


def encode(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """The document of a configuration, every field written out; `load` reads it back as the same value."""
    document: dict[str, Any] = msgspec.to_builtins(config, enc_hook=_encode_custom)
    for profile in document["profiles"]:
        for entry in profile["pluginConfig"]:
            if entry["name"] in ARGS_TYPES:
                entry["args"] = {"apiVersion": API_VERSION, "kind": f"{entry['name']}Args", **entry["args"]}
    return {"apiVersion": API_VERSION, "kind": KIND, **document}


def _check_kind(version: Any, kind: Any) -> None:
    missing = [field for field, value in (("apiVersion", version), ("kind", kind)) if not value]
    if missing:
        raise ConfigError([f"{field}: Required value" for field in missing])
    group, _, short = str(version).rpartition("/")
    if kind != KIND or group != GROUP:
        raise ConfigError([f"couldn't decode as KubeSchedulerConfiguration, got {version}, Kind={kind}: "])
    if version not in ACCEPTED_VERSIONS:
        raise ConfigError(
            [f'apiVersion: Invalid value: "{version}": version {short} is not understood, write {API_VERSION}']
        )


def _decode_args(name: str, raw: Any) -> Any:
    cls = ARGS_TYPES.get(name)
    if cls is None:
        return raw  # args of somebody's own plugin: its factory reads them
    if raw is None:
        return cls()
    if not isinstance(raw, dict):
        raise ConfigError([f"decoding args for plugin {name}: expected an object"])
    fields = dict(raw)
    version, kind = fields.pop("apiVersion", API_VERSION), fields.pop("kind", f"{name}Args")
    group = str(version).rpartition("/")[0]
    if kind != f"{name}Args" or version not in ACCEPTED_VERSIONS:
        raise ConfigError([f"args for plugin {name} were not of type {name}Args.{GROUP}, got {kind}.{group}"])
    unknown = [
        f'decoding args for plugin {name}: strict decoding error: unknown field "{path}"'
        for path in _unknown(fields, cls, "")
    ]
    if unknown:
        raise ConfigError(unknown)
    try:
        return _convert(fields, cls)
    except ConfigError as error:
        raise ConfigError([f"decoding args for plugin {name}: {problem}" for problem in error.problems]) from None


def _convert(value: Any, cls: type[T]) -> T:
    try:
        return convert(value, cls, dec_hook=_decode_custom)
    except ManifestError as error:
        raise ConfigError([str(error)]) from None


def _decode_custom(cls: type, value: Any) -> Any:
    if cls is Duration:
        if not isinstance(value, str):
            raise ValueError("expected a duration such as 15s")
        return Duration.parse(value)
    raise NotImplementedError(f"no reading of {cls} is known")


def _encode_custom(value: Any) -> Any:
    if isinstance(value, (Duration, Quantity)):
        return str(value)
    raise NotImplementedError(f"no writing of {type(value)} is known")


def _unknown(value: Any, cls: Any, path: str) -> Iterator[str]:
    """Paths of the fields that no type on the way knows."""
    struct = _struct_in(cls)
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _unknown(item, cls, f"{path}[{index}]")
    elif isinstance(value, dict) and struct is not None:
        known = _fields_of(struct)
        for name, item in value.items():
            below = f"{path}.{name}" if path else str(name)
            if name in known:
                yield from _unknown(item, known[name], below)
            else:
                yield below


@cache
def _fields_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The type of each field by its name in documents."""
    hints = get_type_hints(struct)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(struct)}


def _struct_in(cls: Any) -> type[msgspec.Struct] | None:
    """The struct a field holds, be it optional or in a tuple."""
    if isinstance(cls, type) and issubclass(cls, msgspec.Struct):
        return cls
    return next((struct for part in get_args(cls) if (struct := _struct_in(part)) is not None), None)


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ConfigError([f'strict decoding error: duplicate field "{key}"'])
        found[key] = value
    return found


class _StrictLoader(yaml.SafeLoader):
    """YAML without duplicate keys, anchors and aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            line = self.line + 1
            raise ConfigError([f"line {line}: anchors and aliases are not understood"])
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise ConfigError([f"line {key_node.start_mark.line + 1}: keys must be text, got {key!r}"])
            if key in seen:
                line = key_node.start_mark.line + 1
                raise ConfigError([f'strict decoding error: line {line}: key "{key}" already set in map'])
            seen.add(key)
        return super().construct_mapping(node, deep)
