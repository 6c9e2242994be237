"""Scheduler configurations as the core reads them: whether one can be used, and what it comes to.

The check is the one that counts: a scheduler is built from the text, with the plugins installed here, as the leader of
the cluster will build it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import msgspec

from kschedweb.cluster import extender_http
from kschedweb.common.errors import InvalidError
from scheduler_core import config
from scheduler_core.build import build
from scheduler_core.config.decode import MAX_TEXT_BYTES as MAX_TEXT_BYTES
from scheduler_core.config.decode import parse_text
from scheduler_core.errors import ConfigError
from scheduler_core.framework.expansion import POINTS
from scheduler_core.framework.runtime import Framework
from scheduler_core.ports import FirstDraws


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivePlugin:
    """A plugin at an extension point; `weight` is null where nothing is weighed."""

    name: str
    weight: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivePoint:
    """An extension point as configurations name it, with its plugins in running order."""

    point: str
    plugins: list[EffectivePlugin]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveProfile:
    """What runs under one scheduler name.

    `left_out`: default plugins this version does not have; `not_deterministic`: those because of which decisions may
    come out otherwise when they are replayed.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int
    points: list[EffectivePoint]
    left_out: list[str]
    not_deterministic: list[str]
    replayable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """A configuration with all defaults filled in."""

    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    profiles: list[EffectiveProfile]

    @property
    def replayable(self) -> bool:
        return all(profile.replayable for profile in self.profiles)

    def as_dict(self) -> dict[str, Any]:
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return msgspec.to_builtins(given) | {"replayable": self.replayable}  # type: ignore[no-any-return]


def effective(text: str | bytes) -> Effective:
    """What the text (YAML or JSON; nothing means all defaults) comes to; InvalidError lists what is wrong."""
    try:
        return _effective(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    except ConfigError as error:
        # A text can hold halves of characters, which no answer can.
        problems = [problem.encode(errors="replace").decode()[:_SHOWN] for problem in error.problems[:_PROBLEMS_TOLD]]
        raise InvalidError(f"the configuration cannot be used: {problems[0]}", problems=problems) from error


def _effective(text: bytes) -> Effective:
    known = _known.get(text)
    if known is not None:
        return known
    document: Mapping[str, Any] | None = parse_text(text) if text.strip() else None
    loaded = config.load(document)
    engine = build(loaded, draws=FirstDraws(), connect_extender=extender_http.connect).engine
    found = Effective(
        pod_initial_backoff_seconds=loaded.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=loaded.pod_max_backoff_seconds,
        profiles=[_profile(framework, loaded.percentage_of_nodes_to_score) for framework in engine.frameworks.values()],
    )
    if not loaded.extenders:  # whose hosts and files may change
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[text] = found
    return found


_known: dict[bytes, Effective] = {}  # texts that could be used: building one takes up to a second
_MOST_KNOWN = 32
_PROBLEMS_TOLD = 100
_SHOWN = 2_000  # characters of a problem


def _profile(framework: Framework, percentage: int) -> EffectiveProfile:
    own = framework.percentage_of_nodes_to_score
    return EffectiveProfile(
        scheduler_name=framework.name,
        percentage_of_nodes_to_score=percentage if own is None else own,
        points=[
            EffectivePoint(point=_camel(point.field), plugins=_plugins(framework, point.field)) for point in POINTS
        ],
        left_out=list(framework.left_out),
        not_deterministic=list(framework.not_deterministic),
        replayable=framework.replayable,
    )


def _plugins(framework: Framework, field: str) -> list[EffectivePlugin]:
    running = [framework.queue_sort] if field == "queue_sort" else getattr(framework, field)
    weights = framework.weights if field == "score" else {}
    return [EffectivePlugin(name=plugin.name, weight=weights.get(plugin.name)) for plugin in running]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
