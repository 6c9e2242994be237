"""Check scheduler configurations and fill in their defaults.

A scheduler is built from the text with the installed plugins, exactly as the leader of the cluster will build it.
"""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from kschedweb.cluster import extender_http
from kschedweb.common.errors import InvalidError
from kschedweb.views import EffectiveConfig, EffectivePlugin, EffectivePoint, EffectiveProfile
from scheduler_core import config
from scheduler_core.build import build
from scheduler_core.config.source import MAX_TEXT_BYTES as MAX_TEXT_BYTES
from scheduler_core.config.source import parse_text
from scheduler_core.errors import ConfigError
from scheduler_core.framework.expansion import POINTS
from scheduler_core.framework.runtime import Framework
from scheduler_core.lru import LruDict
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.engine import Observer


def effective(text: str | bytes, *, of_mirror: bool = False) -> EffectiveConfig:
    """Fill in the defaults of a text, YAML or JSON, empty for all defaults; InvalidError lists every problem.

    What a mirror's scheduler runs and is not here, plugins and extenders, is left out.
    """
    try:
        return _effective(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"), of_mirror)
    except ConfigError as error:
        # A text can hold halves of characters, which no answer can.
        problems = [problem.encode(errors="replace").decode()[:_SHOWN] for problem in error.problems[:_PROBLEMS_TOLD]]
        raise InvalidError(f"the configuration cannot be used: {problems[0]}", problems=problems) from error


def _effective(text: bytes, of_mirror: bool) -> EffectiveConfig:
    with _known_lock:
        known = _known.use((text, of_mirror))
    if known is not None:
        return known
    document: Mapping[str, Any] | None = parse_text(text) if text.strip() else None
    loaded = config.load(document)
    observer = Observer() if of_mirror else None
    engine = build(loaded, draws=FirstDraws(), connect_extender=extender_http.connect, observer=observer).engine
    profiles = [_profile(framework, loaded.percentage_of_nodes_to_score) for framework in engine.frameworks.values()]
    found = EffectiveConfig(
        pod_initial_backoff_seconds=loaded.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=loaded.pod_max_backoff_seconds,
        replayable=all(profile.replayable for profile in profiles),
        profiles=profiles,
    )
    if not loaded.extenders:  # whose hosts and files may change
        with _known_lock:
            _known[text, of_mirror] = found
    return found


# Answers by text, for texts without a problem: building a scheduler takes up to a second.
_known: LruDict[tuple[bytes, bool], EffectiveConfig] = LruDict(32)
_known_lock = Lock()  # requests are answered in several threads
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
        ends_reuse=list(framework.ends_reuse),
        replayable=framework.replayable,
    )


def _plugins(framework: Framework, field: str) -> list[EffectivePlugin]:
    running = [framework.queue_sort] if field == "queue_sort" else getattr(framework, field)
    weights = framework.weights if field == "score" else {}
    return [EffectivePlugin(name=plugin.name, weight=weights.get(plugin.name)) for plugin in running]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
