"""What an engine is built from: everything stored at one moment, and a configuration that can be used.

A configuration may name a plugin that is no longer installed. Then the last one an engine ran under is taken, and when
that will not do either the cluster stands still; the cluster's row says why, and nothing is tried again before the
configuration changes or the process is a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog
from django.db import transaction

from kschedweb.cluster import follow, history, selectors, services
from kschedweb.cluster.models import Cluster, SchedulerConfigVersion
from kschedweb.scheduling import leases
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, EngineState
from kschedweb.scheduling.services import SCHEDULER_ACTOR
from kschedweb.traces.models import QueueState
from scheduler_core.api.sharing import Sharing
from scheduler_core.errors import ConfigError
from scheduler_core.model.changes import Change
from scheduler_core.scheduler.scheduler import Scheduler

log = structlog.get_logger(__name__)

MOST_REPLAYED = 20_000  # changes that a new engine of a mirror goes through one by one

# Of a configuration's text, the seed of the draws, and whether the cluster is a mirror.
Build = Callable[[str, int, bool], Scheduler]


@dataclass(frozen=True, slots=True)
class Stored:
    """What the tables say at one moment. `in_flight`: bindings asked for (pod uid, node); `attempts` by pod uid.

    The changes make the cluster as of `rv`.
    """

    cluster: Cluster
    rv: int
    run: int
    changes: list[Change]
    in_flight: list[tuple[str, str]]
    attempts: dict[str, int]
    engine: Scheduler | None  # None: no configuration can be used
    config_version: int
    problem: str


def read(*, cluster_id: int, epoch: int, build: Build, only_wanted: bool, sharing: Sharing | None = None) -> Stored:
    """The cluster as of now, with an engine that knows nothing yet.

    `only_wanted`: nothing else is read, and no older configuration taken, when the one in force cannot be used.
    """
    with transaction.atomic():
        follow.read_only_moment()
        cluster = selectors.cluster_get(cluster_id)
        state = EngineState.objects.filter(pk=cluster_id).first()
        good = 0 if only_wanted or state is None else state.config_version
        engine, version, problem = _usable(cluster, good, build)
        run = state.run if state else 0
        if engine is None:
            return Stored(cluster, cluster.rv, run, [], [], {}, None, version, problem)
        changes, rv = _objects(cluster, state, sharing)
        pending = Binding.objects.filter(cluster_id=cluster_id, status=WorkStatus.PENDING, epoch=epoch)
        tried = QueueState.objects.filter(cluster_id=cluster_id, attempts__gt=0)
        return Stored(
            cluster,
            rv,
            run,
            changes,
            list(pending.order_by("id").values_list("pod_uid", "node_name")),
            dict(tried.values_list("pod_uid", "attempts")),
            engine,
            version,
            problem,
        )


def _objects(cluster: Cluster, state: EngineState | None, sharing: Sharing | None) -> tuple[list[Change], int]:
    """All objects with the position they are of: now; in a mirror where the last engine stopped, if that is known.

    What others decided since is compared with what the engine would have done, on the state as it was then.
    """
    if cluster.is_mirror and state is not None and 0 < cluster.rv - state.rv_seen <= MOST_REPLAYED:
        earlier = history.changes_at(cluster_id=cluster.pk, rv=state.rv_seen, sharing=sharing)
        if earlier is not None:
            return earlier, state.rv_seen
    return [*follow.stored_changes(cluster_id=cluster.pk, sharing=sharing)], cluster.rv


def state_tell(*, cluster_id: int, epoch: int, stored: Stored, engine: Scheduler | None) -> None:
    """Bring what the cluster's row says of its configuration up to date; `engine`: that works now, if any does."""
    cluster = stored.cluster
    profiles = cluster.profiles if engine is None else list(engine.engine.frameworks)
    if (cluster.scheduler_problem, cluster.profiles) == (stored.problem, profiles):
        return
    if stored.problem and cluster.scheduler_problem != stored.problem:
        log.error("configuration cannot be used", cluster=cluster_id, err=stored.problem)
    with transaction.atomic():
        leases.fence_hold(cluster_id=cluster_id, epoch=epoch)
        services.scheduler_state_set(
            cluster_id=cluster_id,
            config_version=cluster.config_version,
            problem=stored.problem,
            profiles=profiles,
            actor=SCHEDULER_ACTOR,
        )


def reuse_tell(*, cluster_id: int, engine: Scheduler) -> None:
    """Log the plugins because of which nothing is cached from pod to pod, once for each profile."""
    for profile, framework in engine.engine.frameworks.items():
        if framework.ends_reuse:
            plugins = ", ".join(framework.ends_reuse)
            log.warning("plugins without depends_on end reuse", cluster=cluster_id, profile=profile, plugins=plugins)


def _usable(cluster: Cluster, good: int, build: Build) -> tuple[Scheduler | None, int, str]:
    """An engine of the configuration in force, or of version `good`; its version, and what is wrong."""
    wanted = cluster.config_version
    try:
        return build(cluster.scheduler_config, cluster.seed, cluster.is_mirror), wanted, ""
    except ConfigError as error:
        problem = f"version {wanted} of the configuration cannot be used: {error}"
    text = None
    if good != wanted:
        versions = SchedulerConfigVersion.objects.filter(cluster=cluster, version=good)
        text = versions.values_list("text", flat=True).first()
    if text is not None:
        try:
            return (
                build(text, cluster.seed, cluster.is_mirror),
                good,
                f"{problem}. Scheduling goes on under version {good}.",
            )
        except ConfigError as error:
            problem += f"; nor can version {good}: {error}"
    return None, wanted, problem
