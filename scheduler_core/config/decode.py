"""Configuration documents to values and back, as strictly as upstream: unknown and duplicate fields are errors.

Every problem is collected, and what can be read is, so that one report tells them all. Only v1 is taken.
Source: kubernetes v1.34.1, staging/src/k8s.io/kube-scheduler/config/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from scheduler_core.api.manifests import convert
from scheduler_core.api.quantity import Quantity
from scheduler_core.config.defaults import ARGS_TYPES
from scheduler_core.config.duration import Duration
from scheduler_core.config.fields import required, shown, too_many
from scheduler_core.config.shapes import Shapes, fields_of
from scheduler_core.config.types import (
    API_VERSION,
    KIND,
    ConfigValue,
    KubeSchedulerConfiguration,
    PluginConfig,
)
from scheduler_core.config.versions import FORMERLY_TAKEN, GROUP, instead_of, is_registered, since, unregistered
from scheduler_core.errors import ConfigProblem

MAX_PROFILES: Final = 100
MAX_EXTENDERS: Final = 32


@dataclass(frozen=True, slots=True)
class Decoded:
    """The configuration as written, plugin args typed; without what is refused, whose paths `refused` are."""

    config: KubeSchedulerConfiguration
    problems: tuple[ConfigProblem, ...]
    refused: tuple[str, ...]


def decode(document: Mapping[str, Any], *, is_stored: bool = False) -> Decoded:
    """Read a document as far as it can be read; defaults and validation come after.

    One that `is_stored` may be of the version that earlier releases took as well.
    """
    fields = dict(document)
    head = _head_problems(_version(fields, "", is_stored), fields.pop("kind", None), fields)
    if any(problem.path == "kind" and problem.found != "nothing" for problem in head):
        return Decoded(KubeSchedulerConfiguration(), tuple(head), ())  # another kind has other fields
    shapes = Shapes(_decode_custom)
    fitting = shapes.fitting(fields, KubeSchedulerConfiguration, "")
    problems, refused = [*head, *shapes.problems], shapes.refused
    # Before anything is filled in or built of them: a profile takes some milliseconds, and an extender a TLS context.
    for field, most in (("profiles", MAX_PROFILES), ("extenders", MAX_EXTENDERS)):
        given = fitting.get(field, ())
        if len(given) > most:
            problems.append(too_many(field, len(given), most))
            fitting[field] = given[:most]
    config = convert(fitting, KubeSchedulerConfiguration, dec_hook=_decode_custom)
    profiles = []
    for i, profile in enumerate(config.profiles):
        entries = []
        for j, entry in enumerate(profile.plugin_config):
            at = f"profiles[{i}].pluginConfig[{j}]"
            args, wrong, left_out = _decode_args(entry.name, entry.args, is_stored)
            problems += [_of_args(problem, at) for problem in wrong]
            refused += [f"{at}.args.{path}" if path else f"{at}.args" for path in left_out]
            entries.append(PluginConfig(entry.name, args))
        profiles.append(msgspec.structs.replace(profile, plugin_config=tuple(entries)))
    return Decoded(msgspec.structs.replace(config, profiles=tuple(profiles)), tuple(problems), tuple(refused))


def encode(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """The document of a configuration, every field written out; `load` reads it back as the same value."""
    document: dict[str, Any] = msgspec.to_builtins(config, enc_hook=_encode_custom)
    for profile in document["profiles"]:
        for entry in profile["pluginConfig"]:
            if entry["name"] in ARGS_TYPES:
                entry["args"] = {"apiVersion": API_VERSION, "kind": f"{entry['name']}Args", **entry["args"]}
    return {"apiVersion": API_VERSION, "kind": KIND, **document}


def _version(fields: dict[str, Any], default: str, is_stored: bool) -> Any:
    """Take the version out of the fields."""
    version = fields.pop("apiVersion", None) or default
    return API_VERSION if is_stored and version == FORMERLY_TAKEN else version


def _head_problems(version: Any, kind: Any, fields: Mapping[str, Any]) -> list[ConfigProblem]:
    said = (("apiVersion", version, API_VERSION), ("kind", kind, KIND))
    problems = [replace(required(field), expected=expected) for field, value, expected in said if not value]
    problems += [_no_text(field, value, expected) for field, value, expected in said if value and not _is_text(value)]
    if problems:
        return problems
    if not is_registered(version, kind):
        message = unregistered(version, kind)
        if kind == KIND:
            return [ConfigProblem("apiVersion", message, version, API_VERSION, sentence=message, help=since(version))]
        found, expected = f"{version}, Kind={kind}", f"{API_VERSION}, Kind={KIND}"
        return [ConfigProblem("kind", message, found, expected, sentence=message, help=instead_of(kind, fields))]
    if kind != KIND:
        found = f"{version}, Kind={kind}"
        message = f"couldn't decode as KubeSchedulerConfiguration, got {found}: "
        return [ConfigProblem("kind", message, found, f"{API_VERSION}, Kind={KIND}", sentence=message)]
    return []


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _no_text(field: str, value: Any, expected: str) -> ConfigProblem:
    return ConfigProblem(field, "expected text", shown(value)[:100], expected)


def _decode_args(name: str, raw: Any, is_stored: bool) -> tuple[Any, list[ConfigProblem], list[str]]:
    """The args of a plugin, problems with paths from there, and paths of what is left out because of them."""
    cls = ARGS_TYPES.get(name)
    if cls is None:
        return raw, [], []  # args of somebody's own plugin: its factory reads them
    if raw is None:
        return cls(), [], []
    intro = f"decoding args for plugin {name}: "
    if not isinstance(raw, dict):
        expected = f"an object ({', '.join(fields_of(cls))})"
        return cls(), [ConfigProblem("", f"{intro}expected an object", shown(raw)[:100], expected)], [""]
    fields = dict(raw)
    wanted = f"{name}Args"
    head = _args_head(name, _version(fields, API_VERSION, is_stored), fields.pop("kind", None) or wanted)
    if head is not None and head.path == "kind":
        return cls(), [head], [""]  # another kind has other fields
    shapes = Shapes(_decode_custom)
    fitting = shapes.fitting(fields, cls, "")
    problems = [replace(problem, message=f"{intro}{problem}") for problem in shapes.problems]
    args: ConfigValue = convert(fitting, cls, dec_hook=_decode_custom)
    return args, [*([head] if head is not None else []), *problems], shapes.refused


def _args_head(name: str, version: Any, kind: Any) -> ConfigProblem | None:
    """What is wrong with the version or the kind of a plugin's args."""
    intro, wanted = f"decoding args for plugin {name}: ", f"{name}Args"
    for field, value, expected in (("apiVersion", version, API_VERSION), ("kind", kind, wanted)):
        if not _is_text(value):
            problem = _no_text(field, value, expected)
            return replace(problem, message=f"{intro}{problem}")
    if not is_registered(version, kind):
        message = intro + unregistered(version, kind)
        if kind == wanted:
            return ConfigProblem("apiVersion", message, version, API_VERSION, help=since(version))
        return ConfigProblem("kind", message, f"{version}, Kind={kind}", f"{API_VERSION}, Kind={wanted}")
    if kind != wanted:
        message = f"args for plugin {name} were not of type {wanted}.{GROUP}, got {kind}.{GROUP}"
        return ConfigProblem("kind", message, f"{kind}.{GROUP}", f"{wanted}.{GROUP}")
    return None


def _of_args(problem: ConfigProblem, at: str) -> ConfigProblem:
    """A problem of args as one of the configuration, whose item is at `at`."""
    path = f"{at}.args.{problem.path}" if problem.path else f"{at}.args"
    return replace(problem, path=path, sentence=f"decoding .{at}: {problem.message}")


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
