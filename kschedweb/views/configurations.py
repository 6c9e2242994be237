"""Scheduler configurations: versions, and what one comes to."""

from collections.abc import Sequence
from typing import Annotated, Literal

from kschedweb.views.base import Moment, Page, View, doc


class EffectivePlugin(View):
    """A plugin at an extension point."""

    name: str
    weight: Annotated[int | None, doc("null at points that do not score")]


class EffectivePoint(View):
    """An extension point, named as in configurations, with its plugins in running order."""

    point: str
    plugins: Sequence[EffectivePlugin]


class EffectiveProfile(View):
    """What runs under one scheduler name."""

    scheduler_name: str
    percentage_of_nodes_to_score: int
    points: Sequence[EffectivePoint]
    left_out: Annotated[Sequence[str], doc("default plugins this version does not have")]
    not_deterministic: Annotated[Sequence[str], doc("plugins because of which a replay may decide differently")]
    ends_reuse: Annotated[
        Sequence[str], doc("plugins without depends_on: with one of them no result is reused between equivalent pods")
    ]
    replayable: bool


class EffectiveConfig(View):
    """A configuration with all defaults filled in."""

    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    replayable: bool
    profiles: Sequence[EffectiveProfile]


class SchedulerConfigVersion(View):
    """A configuration the cluster has had."""

    version: int
    replayable: Annotated[bool, doc("whether every plugin declared itself deterministic")]
    actor: str
    at: Moment


class SchedulerConfigVersionPage(Page[SchedulerConfigVersion]):
    """A page of configuration versions."""


class ConfigProblem(View):
    """One problem of a configuration."""

    path: Annotated[str, doc("of the field, as profiles[0].schedulerName; empty when it is the text as a whole")]
    line: Annotated[int | None, doc("of the text, from 1; null when it belongs to none")]
    message: Annotated[str, doc("what is wrong, in kube-scheduler's words where it has some")]
    found: str
    expected: str
    help: Annotated[
        str, doc("lines on how to put it right: an example, or what changed between versions; empty: there are none")
    ]


class ConfigChange(View):
    """A field, profile, plugin or extender that differs between two configurations, defaults included."""

    path: Annotated[str, doc("with names for items, as profiles[default-scheduler].plugins.score.enabled[NodeName]")]
    kind: Literal["added", "removed", "changed", "reordered"]
    before: Annotated[str, doc("empty where the path says it all; keys of extenders are not shown")]
    after: str


class SchedulerConfig(SchedulerConfigVersion):
    """A configuration with its text and what it comes to."""

    text: Annotated[str, doc("YAML or JSON; empty means the defaults")]
    complete: Annotated[str, doc("the same with every default written out, as YAML; empty when it cannot be read")]
    effective: Annotated[
        EffectiveConfig | None, doc("null when it can no longer be used: see problems (a plugin may be gone)")
    ]
    problems: Sequence[ConfigProblem]
    changes: Annotated[
        Sequence[ConfigChange] | None,
        doc("against the version before; null for the first one, and when one of the two cannot be read"),
    ]
    is_in_use: Annotated[bool, doc("whether the scheduler's last step was decided by it: it counts from a step on")]


class CheckedConfig(View):
    """What a text would be as a configuration of the cluster."""

    complete: Annotated[str, doc("with every default written out, as YAML; empty when there are problems")]
    problems: Sequence[ConfigProblem]
    changes: Annotated[
        Sequence[ConfigChange] | None, doc("against the active configuration; null when one of the two cannot be read")
    ]
