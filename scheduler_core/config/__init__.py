"""The scheduler's configuration: read strictly, completed with upstream's defaults, validated.

`load(text, dict or None)` is the value or a `ConfigError` with every problem; `examine` also hands out what is left of
a configuration with problems, so that more can be looked for in it. `load_stored` also takes what was taken once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from scheduler_core.config.decode import decode
from scheduler_core.config.defaults import ARGS_TYPES, with_defaults
from scheduler_core.config.source import Source
from scheduler_core.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile, PluginConfig
from scheduler_core.config.validation import validate
from scheduler_core.errors import ConfigError, ConfigProblem

Given = str | bytes | Mapping[str, Any] | None


def load(source: Given = None) -> KubeSchedulerConfiguration:
    """The complete, valid configuration of a document (YAML or JSON text, or a dict); None means all defaults."""
    return _sound(examine(source))


def load_stored(text: str | bytes) -> KubeSchedulerConfiguration:
    """The same of a text that some release checked before it was stored; nothing means all defaults."""
    return _sound(examine(text if text.strip() else None, is_stored=True))


def examine(source: Given = None, *, is_stored: bool = False) -> Examined:
    """What a document says, and every problem of it."""
    return Examined(source, is_stored)


class Examined:
    """A complete configuration with the problems of its document, each with its line.

    What a problem is about has its default in `config`, so nothing else is found wrong because of it.
    """

    def __init__(self, given: Given, is_stored: bool) -> None:
        self.config = KubeSchedulerConfiguration()
        self._source = Source(given if given is not None else {})
        self._refused: tuple[str, ...] = ()
        self._found = list(self._source.problems)
        if given is None:
            self.config = with_defaults(self.config)
        elif self._source.is_readable:
            decoded = decode(self._source.document, is_stored=is_stored)
            self._refused = (*self._source.lost, *decoded.refused)
            self._found += [problem for problem in decoded.problems if problem.path not in self._source.lost]
            complete = with_defaults(decoded.config)
            invalid = [problem for problem in validate(complete) if not self._is_explained(problem)]
            self._found += invalid
            self.config = _without_refused_args(complete, invalid)

    @property
    def is_readable(self) -> bool:
        """Whether there is a document: of a text that cannot be parsed nothing more is known."""
        return self._source.is_readable

    @property
    def problems(self) -> tuple[ConfigProblem, ...]:
        return self._source.located(dict.fromkeys(self._found))

    def add(self, problems: Iterable[ConfigProblem]) -> None:
        """Add problems that were found in `config`, but those of fields that have one."""
        told = self._source.located(self._found)
        paths = {problem.path for problem in told if problem.path}
        for problem in problems:
            (located,) = self._source.located([problem])
            if located.path not in paths and not self._is_explained(located) and not self._is_nameless(located):
                self._found.append(located)

    def _is_nameless(self, problem: ConfigProblem) -> bool:
        """Whether it is about a plugin without a name, which stands for one that was refused."""
        return (
            problem.path.endswith(".enabled")
            and not problem.found
            and any(_is_within(refused, problem.path) for refused in self._refused)
        )

    def _is_explained(self, problem: ConfigProblem) -> bool:
        """Whether it is about a default that stands for what was refused."""
        return any(
            _is_within(problem.path, refused)
            or any(_is_within(path, refused) or _is_within(refused, path) for path in problem.also)
            for refused in self._refused
        )


def _sound(examined: Examined) -> KubeSchedulerConfiguration:
    if examined.problems:
        raise ConfigError(examined.problems)
    return examined.config


def _is_within(path: str, other: str) -> bool:
    return path.startswith(other) and path[len(other) : len(other) + 1] in ("", ".", "[")


def _without_refused_args(
    config: KubeSchedulerConfiguration, problems: list[ConfigProblem]
) -> KubeSchedulerConfiguration:
    """The configuration with default args where those given have problems: a plugin cannot be made with them."""
    paths = [problem.path for problem in problems if ".pluginConfig[" in problem.path]
    if not paths:
        return config
    profiles: list[KubeSchedulerProfile] = []
    for i, profile in enumerate(config.profiles):
        entries: dict[str, PluginConfig] = {}
        for j, entry in enumerate(profile.plugin_config):
            at = f"profiles[{i}].pluginConfig[{j}]"
            if entry.name in ARGS_TYPES and any(_is_within(path, at) for path in paths):
                entry = PluginConfig(entry.name, ARGS_TYPES[entry.name]())
            entries.setdefault(entry.name, entry)
        profiles.append(msgspec.structs.replace(profile, plugin_config=tuple(entries.values())))
    return msgspec.structs.replace(config, profiles=tuple(profiles))
