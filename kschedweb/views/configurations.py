"""Scheduler configurations: versions, and what one comes to."""

from collections.abc import Sequence
from typing import Annotated

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


class SchedulerConfig(SchedulerConfigVersion):
    """A configuration with its text and what it comes to."""

    text: Annotated[str, doc("YAML or JSON; empty means the defaults")]
    effective: Annotated[
        EffectiveConfig | None, doc("null when it can no longer be used: see problems (a plugin may be gone)")
    ]
    problems: Sequence[str]
