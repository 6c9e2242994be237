"""A configuration made for another scheduler, as far as it can be run here."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from scheduler_core.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile, Plugins, PluginSet


def known_part(
    config: KubeSchedulerConfiguration, known: Container[str]
) -> tuple[KubeSchedulerConfiguration, tuple[str, ...]]:
    """The configuration without plugins that are not `known` and without extenders; the names of both, sorted."""
    missing = {f"extender {extender.url_prefix}" for extender in config.extenders}
    profiles = tuple(_profile(profile, known, missing) for profile in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles, extenders=()), tuple(sorted(missing))


def _profile(profile: KubeSchedulerProfile, known: Container[str], missing: set[str]) -> KubeSchedulerProfile:
    sets: dict[str, PluginSet] = {}
    for field in Plugins.__struct_fields__:
        plugins: PluginSet = getattr(profile.plugins, field)
        missing |= {entry.name for entry in plugins.enabled if entry.name not in known}
        kept = tuple(entry for entry in plugins.enabled if entry.name in known)
        sets[field] = msgspec.structs.replace(plugins, enabled=kept)
    return msgspec.structs.replace(
        profile,
        plugins=Plugins(**sets),
        plugin_config=tuple(entry for entry in profile.plugin_config if entry.name in known),
    )
