"""Clusters themselves: making and removing them, and the settings that are recorded in their log."""

from collections.abc import Sequence
from typing import Any

import msgspec
from django.core.exceptions import ValidationError
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import ForeignObjectRel

from kschedweb.cluster import clock, selectors
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.choices import ClockMode, LifecycleMode, Operation, Pace
from kschedweb.cluster.models import DNS_LABEL, Cluster, SchedulerConfigVersion
from kschedweb.common import wake
from kschedweb.common.errors import ClusterGoneError, ConflictError, InvalidError

MAX_RATE = 10_000.0
MAX_STEPS = 10_000
MAX_CLOCK_RATE = 100_000.0
MAX_SKIP_SECONDS = 10 * 365 * 86_400.0
DELETE_TRIES = 5


def cluster_create(
    *,
    name: str,
    seed: int = 0,
    lifecycle_mode: str = LifecycleMode.FROZEN,
    external_controllers: Sequence[str] = (),
    is_sample: bool = False,
    is_mirror: bool = False,
    actor: str = "system",
) -> Cluster:
    """An empty cluster; ConflictError when the name is taken. A mirror is not synced until somebody has followed."""
    _check_name(name)
    try:
        with transaction.atomic():
            cluster = Cluster.objects.create(
                name=name,
                seed=seed,
                lifecycle_mode=lifecycle_mode,
                controllers_due_us=0 if is_sample else None,  # what happens in it begins by itself
                external_controllers=list(external_controllers),
                is_sample=is_sample,
                is_mirror=is_mirror,
                is_synced=not is_mirror,
            )
            SchedulerConfigVersion.objects.create(cluster=cluster, version=cluster.config_version, actor=actor)
            record_setting(cluster, actor)
    except IntegrityError as error:
        raise ConflictError(f"there is a cluster named {name!r} already", name=name) from error
    return cluster


def cluster_change(*, cluster_id: int, actor: str, **changes: Any) -> Cluster:
    """Change settings of a cluster, by the names of their columns; ConflictError when the new name is taken."""
    if "name" in changes:
        _check_name(changes["name"])
    if changes.get("lifecycle_mode", LifecycleMode.FROZEN) != LifecycleMode.FROZEN:
        selectors.cluster_check_writable(cluster_id)
    if changes.get("external_controllers"):
        selectors.cluster_check_lives(cluster_id)
    try:
        cluster = _set(cluster_id, actor, **changes)
    except IntegrityError as error:
        name = changes.get("name")
        raise ConflictError(f"there is a cluster named {name!r} already", name=name) from error
    wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    if {"lifecycle_mode", "external_controllers"} & changes.keys():
        wake.after_commit("lifecycle.tick", cluster_id=cluster_id)
    return cluster


def cluster_delete(*, cluster_id: int) -> None:
    """Remove the cluster with everything any app keeps of it: NotFoundError when there is none.

    Waits for whoever writes to it. ConflictError when new rows were locked in every try.
    """
    for _ in range(DELETE_TRIES):
        try:
            with transaction.atomic():
                _delete(cluster_id)
            return
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") not in (_DEADLOCK, _LOCK_TIMEOUT):
                raise
    raise ConflictError("the cluster is being written to all the time: try again", cluster=cluster_id)


# PostgreSQL's codes of errors.
_DEADLOCK, _LOCK_TIMEOUT = "40P01", "55P03"


def _delete(cluster_id: int) -> None:
    """One try: lock what others may have locked, in the order all keep, then the cluster's own row, and delete it all.

    Rows that came after theirs were locked may be held by somebody who waits for the cluster's own row. They are not
    waited for: the lock's timeout ends the try.
    """
    fields = [
        relation.field
        for relation in Cluster._meta.get_fields(include_hidden=True)
        if isinstance(relation, ForeignObjectRel)
    ]
    ordered = [field.model for field in fields if hasattr(field.model, "lock_order")]
    with connection.cursor() as cursor:
        for model in sorted(ordered, key=lambda model: model.lock_order):
            own = model._meta
            cursor.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM {own.db_table} WHERE cluster_id = %s"
                f" ORDER BY {own.pk.column} FOR UPDATE) AS locked",
                [cluster_id],
            )
        # Whoever writes to the cluster now waits for this row, and finds it gone.
        if not Cluster.objects.select_for_update().filter(pk=cluster_id).exists():
            raise ClusterGoneError(cluster_id)
        cursor.execute("SET LOCAL lock_timeout = '100ms'")
        for field in fields:
            rows = field.model._base_manager.filter(**{field.name: cluster_id})
            rows._raw_delete(rows.db)
        clusters = Cluster.objects.filter(pk=cluster_id)
        clusters._raw_delete(clusters.db)
        cursor.execute("SET LOCAL lock_timeout = DEFAULT")


def lifecycle_mode_set(*, cluster_id: int, lifecycle_mode: str, actor: str) -> Cluster:
    """Choose whether controllers act on the cluster."""
    return cluster_change(cluster_id=cluster_id, lifecycle_mode=lifecycle_mode, actor=actor)


def pace_set(
    *, cluster_id: int, pace: str | None = None, rate: float | None = None, steps: int | None = None, actor: str
) -> Cluster:
    """Run, slow down to `rate` cycles a second, or pause; while paused `steps` more cycles are asked for."""
    selectors.cluster_check_lives(cluster_id)
    with transaction.atomic():
        cluster = Cluster.objects.select_for_update().filter(pk=cluster_id).first()
        if cluster is None:
            raise ClusterGoneError(cluster_id)
        pace = pace or cluster.pace
        rate = rate if rate is not None or pace != cluster.pace else cluster.pace_rate
        if pace == Pace.SLOW and rate is None:
            raise InvalidError("rate: is required when the pace is slow", field="rate")
        if rate is not None and not 0 < rate <= MAX_RATE:
            raise InvalidError(f"rate: must be above 0 and at most {MAX_RATE:.0f}", field="rate")
        if steps is not None and pace != Pace.PAUSE:
            raise InvalidError("steps: can only be asked for while the pace is pause", field="steps")
        if steps is not None and not 0 < steps <= MAX_STEPS:
            raise InvalidError(f"steps: must be from 1 to {MAX_STEPS}", field="steps")
        # Steps asked for and not yet made end with the pause they belong to.
        asked = cluster.pace_steps_requested if cluster.pace == pace else cluster.pace_steps_done
        cluster = _set(
            cluster_id,
            actor,
            pace=pace,
            pace_rate=rate if pace == Pace.SLOW else None,
            pace_steps_requested=asked + (steps or 0),
        )
        wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    return cluster


def clock_set(
    *,
    cluster_id: int,
    mode: str | None = None,
    rate: float | None = None,
    skip: str | None = None,
    skip_seconds: float | None = None,
    actor: str,
) -> Cluster:
    """Choose how the cluster's time passes, `rate` times as fast as the wall's while the mode is factor.

    `skip` "next" goes to whatever is due next as fast as that can be done, `skip_seconds` as far; "stop" ends a skip.
    """
    selectors.cluster_check_lives(cluster_id)
    with transaction.atomic():
        cluster = Cluster.objects.select_for_update().filter(pk=cluster_id).first()
        if cluster is None:
            raise ClusterGoneError(cluster_id)
        if cluster.is_mirror:
            raise InvalidError("a mirror has the time of the cluster it follows", cluster=cluster_id)
        before, wall = clock.Clock.of(cluster), clock.wall_us()
        mode = mode or before.mode
        rate = rate if rate is not None or mode != before.mode else before.rate
        if mode == ClockMode.FACTOR and rate is None:
            raise InvalidError("rate: is required when the mode is factor", field="rate")
        if mode != ClockMode.FACTOR and rate is not None:
            raise InvalidError("rate: is for the mode factor only", field="rate")
        if rate is not None and not 0 < rate <= MAX_CLOCK_RATE:
            raise InvalidError(f"rate: must be above 0 and at most {MAX_CLOCK_RATE:.0f}", field="rate")
        if skip is not None and skip_seconds is not None:
            raise InvalidError("skip_seconds: either skip or skip_seconds", field="skip_seconds")
        if skip_seconds is not None and not 0 < skip_seconds <= MAX_SKIP_SECONDS:
            raise InvalidError(
                f"skip_seconds: must be above 0 and at most {MAX_SKIP_SECONDS:.0f}", field="skip_seconds"
            )
        changed = before.set(wall, mode, rate)
        if skip is not None:
            changed = changed.skip(wall, clock.NEXT if skip == "next" else None)
        elif skip_seconds is not None:
            changed = changed.skip(wall, changed.now(wall) + round(skip_seconds * clock.SECOND))
        clock.reading_store(cluster_id=cluster_id, at=changed.now(wall), wall=wall)
        cluster = _set(cluster_id, actor, **clock.columns(changed))
        wake.after_commit("lifecycle.tick", cluster_id=cluster_id)
        wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    return cluster


def _set(cluster_id: int, actor: str, **values: Any) -> Cluster:
    with transaction.atomic():
        clusters = Cluster.objects.filter(pk=cluster_id)
        if not (clusters.update(**values) if values else clusters.exists()):
            raise ClusterGoneError(cluster_id)
        cluster = Cluster.objects.get(pk=cluster_id)
        record_setting(cluster, actor)
    return cluster


def scheduler_state_set(
    *, cluster_id: int, config_version: int, problem: str, profiles: Sequence[str], actor: str
) -> None:
    """Say which profiles the scheduler has, and why it cannot use the configuration in force; nothing says that it can.

    Within a transaction. Nothing is said of a version that is in force no more.
    """
    told = {"scheduler_problem": problem, "profiles": list(profiles)}
    if Cluster.objects.filter(pk=cluster_id, config_version=config_version).exclude(**told).update(**told):
        record_setting(Cluster.objects.get(pk=cluster_id), actor)


def record_setting(cluster: Cluster, actor: str) -> None:
    """Write into the log how the cluster goes now, as the last statement of the transaction."""
    setting = msgspec.structs.asdict(selectors.cluster_view(cluster))
    entry = ChangeEntry("Cluster", "", cluster.name, str(cluster.pk), Operation.SETTING, setting, actor)
    cluster.rv = changes_commit(cluster_id=cluster.pk, entries=[entry], now=clock.now_of(cluster.pk))


def _check_name(name: str) -> None:
    try:
        DNS_LABEL(name)
    except ValidationError as error:
        raise InvalidError(f"name: {error.messages[0]}", field="name") from error
