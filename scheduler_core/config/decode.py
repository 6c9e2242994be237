"""Configuration documents to values and back, as strictly as upstream: unknown and duplicate fields are errors.

Every problem is collected, and what can be read is, so that one report tells them all. Accepts v1, and v1beta3 as
another name for it.
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
from scheduler_core.errors import ConfigProblem

GROUP: Final = "kubescheduler.config.k8s.io"
ACCEPTED_VERSIONS: Final = (API_VERSION, f"{GROUP}/v1beta3")

MAX_PROFILES: Final = 100
MAX_EXTENDERS: Final = 32


@dataclass(frozen=True, slots=True)
class Decoded:
    """The configuration as written, plugin args typed; without what is refused, whose paths `refused` are."""

    config: KubeSchedulerConfiguration
    problems: tuple[ConfigProblem, ...]
    refused: tuple[str, ...]


def decode(document: Mapping[str, Any]) -> Decoded:
    """Read a document as far as it can be read; defaults and validation come after."""
    fields = dict(document)
    head = _head_problems(fields.pop("apiVersion", None), fields.pop("kind", None))
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
            args, wrong, left_out = _decode_args(entry.name, entry.args)
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


def _head_problems(version: Any, kind: Any) -> list[ConfigProblem]:
    problems = [required(field) for field, value in (("apiVersion", version), ("kind", kind)) if not value]
    if problems:
        return [replace(each, expected=API_VERSION if each.path == "apiVersion" else KIND) for each in problems]
    group, _, short = str(version).rpartition("/")
    if kind != KIND or group != GROUP:
        message = f"couldn't decode as KubeSchedulerConfiguration, got {version}, Kind={kind}: "
        found = f"{version}, Kind={kind}"
        return [ConfigProblem("kind", message, found, f"{API_VERSION}, Kind={KIND}", sentence=message)]
    if version not in ACCEPTED_VERSIONS:
        message = f'Invalid value: "{version}": version {short} is not understood, write {API_VERSION}'
        return [ConfigProblem("apiVersion", message, shown(version), API_VERSION)]
    return []


def _decode_args(name: str, raw: Any) -> tuple[Any, list[ConfigProblem], list[str]]:
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
    version, kind = fields.pop("apiVersion", API_VERSION), fields.pop("kind", f"{name}Args")
    group = str(version).rpartition("/")[0]
    if kind != f"{name}Args" or version not in ACCEPTED_VERSIONS:
        message = f"args for plugin {name} were not of type {name}Args.{GROUP}, got {kind}.{group}"
        return cls(), [ConfigProblem("kind", message, f"{kind}.{group}", f"{name}Args.{GROUP}")], [""]
    shapes = Shapes(_decode_custom)
    fitting = shapes.fitting(fields, cls, "")
    problems = [replace(problem, message=f"{intro}{problem}") for problem in shapes.problems]
    args: ConfigValue = convert(fitting, cls, dec_hook=_decode_custom)
    return args, problems, shapes.refused


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
