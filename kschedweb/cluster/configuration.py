"""Check scheduler configurations and fill in their defaults.

A scheduler is built from the text with the installed plugins, exactly as the leader of the cluster will build it.
"""

from collections.abc import Sequence
from threading import Lock

import msgspec

from kschedweb.cluster import extender_http
from kschedweb.common.errors import InvalidError
from kschedweb.views import (
    CheckedConfig,
    ConfigChange,
    EffectiveConfig,
    EffectivePlugin,
    EffectivePoint,
    EffectiveProfile,
)
from kschedweb.views import ConfigProblem as ConfigProblemView
from scheduler_core import config
from scheduler_core.build import build, problems_of
from scheduler_core.config.source import MAX_TEXT_BYTES as MAX_TEXT_BYTES
from scheduler_core.config.types import KubeSchedulerConfiguration
from scheduler_core.config.writing import changes, complete_text
from scheduler_core.errors import ConfigError, ConfigProblem
from scheduler_core.framework.expansion import POINTS, camel
from scheduler_core.framework.runtime import Framework
from scheduler_core.lru import LruDict
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler.engine import Observer


def effective(text: str | bytes, *, of_mirror: bool = False, is_stored: bool = False) -> EffectiveConfig:
    """Fill in the defaults of a text, YAML or JSON, empty for all defaults; ConfigInvalidError lists every problem.

    What a mirror's scheduler runs and is not here, plugins and extenders, is left out. A text that `is_stored` may be
    one that only earlier releases took.
    """
    content = _content(text)
    try:
        return _effective(content, of_mirror, is_stored)
    except ConfigError as error:
        raise ConfigInvalidError(_problems(content, of_mirror, is_stored) or error.details) from error


def complete(text: str | bytes) -> str:
    """The configuration of a text in full, as YAML with every default; empty when it cannot be read."""
    try:
        return complete_text(config.load_stored(_content(text)))
    except ConfigError:
        return ""


def difference(before: str | bytes, after: str | bytes) -> list[ConfigChange] | None:
    """What changed from one text to another; None when either cannot be read."""
    try:
        found = changes(config.load_stored(_content(before)), config.load_stored(_content(after)))
    except ConfigError:
        return None
    return [
        ConfigChange(_storable(each.path), each.kind, _storable(each.before), _storable(each.after)) for each in found
    ]


def checked(text: bytes, before: str, *, of_mirror: bool) -> CheckedConfig:
    """What a text would be in the place of the one before it."""
    try:
        effective(text, of_mirror=of_mirror)
    except ConfigInvalidError as error:
        return CheckedConfig(complete="", problems=error.problems, changes=None)
    return CheckedConfig(complete=complete(text), problems=[], changes=difference(before, text))


def _content(text: str | bytes) -> bytes:
    """The bytes of a text, none for one that says nothing."""
    content = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    return content if content.strip() else b""


class ConfigInvalidError(InvalidError):
    """The configuration cannot be used; `problems` are those that are told."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = [_view(problem) for problem in problems[:_PROBLEMS_TOLD]]
        super().__init__(
            _storable(f"the configuration cannot be used: {problems[0]}"),
            problems=[msgspec.structs.asdict(problem) for problem in self.problems],
        )


def _view(problem: ConfigProblem) -> ConfigProblemView:
    return ConfigProblemView(
        path=_storable(problem.path),
        line=problem.line or None,
        message=_storable(problem.message),
        found=_storable(problem.found),
        expected=_storable(problem.expected),
        help=_storable(problem.help),
    )


def _storable(text: str) -> str:
    """A text can hold halves of characters, which no answer can."""
    return text.encode(errors="replace").decode()[:_SHOWN]


def _problems(content: bytes, of_mirror: bool, is_stored: bool) -> Sequence[ConfigProblem]:
    """Everything that is wrong with a text, and with a scheduler built of it."""
    examined = config.examine(content or None, is_stored=is_stored)
    if examined.is_readable:
        examined.add(problems_of(examined.config, connect_extender=extender_http.connect, is_observer=of_mirror))
    return examined.problems


def _effective(text: bytes, of_mirror: bool, is_stored: bool) -> EffectiveConfig:
    with _known_lock:
        known = _known.use((text, of_mirror, False))
        if known is None and is_stored:
            known = _known.use((text, of_mirror, True))
    if known is not None:
        return known
    loaded, is_former = _loaded(text, is_stored)
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
            _known[text, of_mirror, is_former] = found
    return found


def _loaded(text: bytes, is_stored: bool) -> tuple[KubeSchedulerConfiguration, bool]:
    """The configuration, and whether only earlier releases took its text."""
    try:
        return config.load(text or None), False
    except ConfigError:
        if not is_stored:
            raise
        return config.load_stored(text), True


# Answers by text, for texts without a problem: building a scheduler takes up to a second. True at the end of a key says
# that only earlier releases took the text.
_known: LruDict[tuple[bytes, bool, bool], EffectiveConfig] = LruDict(32)
_known_lock = Lock()  # requests are answered in several threads
_PROBLEMS_TOLD = 100
_SHOWN = 2_000  # characters of a problem


def _profile(framework: Framework, percentage: int) -> EffectiveProfile:
    own = framework.percentage_of_nodes_to_score
    return EffectiveProfile(
        scheduler_name=framework.name,
        percentage_of_nodes_to_score=percentage if own is None else own,
        points=[EffectivePoint(point=camel(point.field), plugins=_plugins(framework, point.field)) for point in POINTS],
        left_out=list(framework.left_out),
        not_deterministic=list(framework.not_deterministic),
        ends_reuse=list(framework.ends_reuse),
        replayable=framework.replayable,
    )


def _plugins(framework: Framework, field: str) -> list[EffectivePlugin]:
    running = [framework.queue_sort] if field == "queue_sort" else getattr(framework, field)
    weights = framework.weights if field == "score" else {}
    return [EffectivePlugin(name=plugin.name, weight=weights.get(plugin.name)) for plugin in running]
