"""Configuration documents to values and back, as strictly as upstream: unknown and duplicate fields are errors.

Texts may be YAML or JSON; their size and depth are bounded before anything is built. Accepts v1, and v1beta3 as another
name for it.
Source: kubernetes v1.34.1, staging/src/k8s.io/kube-scheduler/config/v1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_type_hints

import msgspec

from scheduler_core.api.json_shape import json_shape
from scheduler_core.api.manifests import convert
from scheduler_core.api.quantity import Quantity
from scheduler_core.api.yaml_text import YamlBounds, read_documents
from scheduler_core.config.defaults import ARGS_TYPES
from scheduler_core.config.duration import Duration
from scheduler_core.config.fields import too_many
from scheduler_core.config.types import (
    API_VERSION,
    KIND,
    KubeSchedulerConfiguration,
    PluginConfig,
)
from scheduler_core.errors import ConfigError, ManifestError, YamlError

GROUP: Final = "kubescheduler.config.k8s.io"
ACCEPTED_VERSIONS: Final = (API_VERSION, f"{GROUP}/v1beta3")

MAX_TEXT_BYTES: Final = 1_000_000
MAX_PROFILES: Final = 100
MAX_EXTENDERS: Final = 32
_BOUNDS: Final = YamlBounds(depth=64, values=100_000, alias_values=10_000)
_LONGEST_NUMBER: Final = 250
_MOST_PROBLEMS: Final = 100

T = TypeVar("T")


def parse_text(text: str | bytes) -> Mapping[str, Any]:
    """The document of a YAML or JSON text: bounded in size and depth, every text in it one that can be stored."""
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(content) > MAX_TEXT_BYTES:
        raise ConfigError([f"the configuration is larger than {MAX_TEXT_BYTES} bytes"])
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError([f"the configuration is not UTF-8 text: {error}"]) from None
    document = _json(content) if content.lstrip().startswith(b"{") else _yaml(content)
    if not isinstance(document, dict):
        raise ConfigError(["expected an object with apiVersion and kind at the top"])
    problems = list(_odd_texts(document, ""))
    if problems:
        raise ConfigError(problems[:_MOST_PROBLEMS])
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
    # Before anything is filled in or built of them: a profile takes some milliseconds, and an extender a TLS context.
    for field, given, most in (
        ("profiles", config.profiles, MAX_PROFILES),
        ("extenders", config.extenders, MAX_EXTENDERS),
    ):
        if len(given) > most:
            raise ConfigError([too_many(field, len(given), most)])
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


def _json(content: bytes) -> Any:
    shape = json_shape(content)
    if shape.depth > _BOUNDS.depth:
        raise ConfigError([f"cannot be read as YAML or JSON: is nested more than {_BOUNDS.depth} deep"])
    if shape.values > _BOUNDS.values:
        raise ConfigError([f"cannot be read as YAML or JSON: has more than {_BOUNDS.values:,} values"])
    try:
        return json.loads(
            content,
            object_pairs_hook=_unique_pairs,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except json.JSONDecodeError as error:
        raise ConfigError([f"cannot be read as YAML or JSON: {error}"]) from None


def _yaml(content: bytes) -> Any:
    try:
        documents = [value for _, value in read_documents(content, _BOUNDS)]
    except YamlError as error:
        if error.key is not None:
            problem = f'strict decoding error: line {error.line}: key "{error.key[:100]}" already set in map'
        else:
            problem = f"cannot be read as YAML or JSON: {error}"
        raise ConfigError([problem]) from None
    if len(documents) > 1:
        raise ConfigError([f"expected one document, got {len(documents)}"])
    return documents[0] if documents else None


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ConfigError([f"a number of {len(digits)} digits is too long"])
    return int(digits)


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ConfigError([f"{text[:100]} is no number that JSON knows"])
    return value


def _odd_texts(value: Any, path: str) -> Iterator[str]:
    """Problems of texts that cannot be stored: half a character, or one of code 0."""
    if isinstance(value, str):
        if "\0" in value:
            yield f"{path}: has a character of code 0"
        elif not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            yield f"{path}: has half a character (a surrogate without its other half)"
    elif isinstance(value, dict):
        for name, item in value.items():
            below = f"{path}.{name}" if path else name
            yield from _odd_texts(name, repr(below))
            yield from _odd_texts(item, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _odd_texts(item, f"{path}[{index}]")


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ConfigError([f'strict decoding error: duplicate field "{key[:100]}"'])
        found[key] = value
    return found
