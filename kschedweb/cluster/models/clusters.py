"""Clusters: their settings, the counters of their logs, their clocks, and what they were scheduled by."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from kschedweb.cluster.choices import ClockMode, LifecycleMode, Pace

DNS_LABEL = RegexValidator(
    r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z", "must be a DNS label: lower-case letters, digits and '-', at most 63"
)


def default_profiles() -> list[str]:
    """Of a configuration that says nothing."""
    return ["default-scheduler"]


class Cluster(models.Model):
    """A cluster with the counters of its two logs and how its scheduler goes.

    `step_rv`: where the change log ended before what the last step wrote to it; `step_seq`: where the engine log ended
    when the change log came there. See `versions`.
    """

    name = models.CharField(max_length=63, validators=[DNS_LABEL])
    description = models.CharField(max_length=500, blank=True, default="")
    rv = models.BigIntegerField(default=0)
    seq = models.BigIntegerField(default=0)
    step_rv = models.BigIntegerField(default=0)
    step_seq = models.BigIntegerField(default=0)
    seed = models.BigIntegerField(default=0)
    lifecycle_mode = models.CharField(max_length=16, choices=LifecycleMode, default=LifecycleMode.FROZEN)
    pace = models.CharField(max_length=16, choices=Pace, default=Pace.RUN)
    # Cycles in a second while the pace is slow.
    pace_rate = models.FloatField(null=True, blank=True)
    pace_steps_requested = models.BigIntegerField(default=0)
    pace_steps_done = models.BigIntegerField(default=0)
    # Groups of controllers whose work is done from outside, and the position in the log all others have answered.
    external_controllers = models.JSONField(default=list)
    controllers_rv = models.BigIntegerField(default=0)
    # The cluster's time (microseconds) at which controllers that have answered so much act again without a change.
    controllers_due_us = models.BigIntegerField(null=True, blank=True)
    # The clock; `clock` says how these make the time.
    clock_mode = models.CharField(max_length=16, choices=ClockMode, default=ClockMode.REAL)
    clock_rate = models.FloatField(null=True, blank=True)
    clock_offset_us = models.BigIntegerField(default=0)
    clock_at_us = models.BigIntegerField(null=True, blank=True)
    clock_wall_us = models.BigIntegerField(null=True, blank=True)
    clock_until_us = models.BigIntegerField(null=True, blank=True)
    start_delay_ms = models.PositiveIntegerField(default=1000)
    is_sample = models.BooleanField(default=False)
    # Whether the objects are those of a cluster elsewhere: nobody writes them here but who follows it.
    is_mirror = models.BooleanField(default=False)
    # Of a mirror: whether all of them are here, so that decisions can be made; true of all others.
    is_synced = models.BooleanField(default=True)
    # Whether it is a history from a file: nobody writes to it, schedules it or moves its clock.
    is_record = models.BooleanField(default=False)
    scheduler_config = models.TextField(blank=True, default="")
    config_version = models.PositiveIntegerField(default=1)
    # Why the configuration in force cannot be used by the scheduler, which goes on with an older one or stands still.
    scheduler_problem = models.TextField(blank=True, default="")
    # Names of the profiles: of the configuration in force, or of the one the scheduler goes on with instead.
    profiles = ArrayField(models.TextField(), default=default_profiles)
    # How much of both logs, attempts and events is kept: so long, and within so much room.
    retention_hours = models.PositiveIntegerField(default=168)
    retention_mb = models.PositiveIntegerField(default=4096)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name"], name="cluster_name_unique"),
            models.CheckConstraint(
                condition=Q(retention_hours__gte=1, retention_mb__gte=64), name="cluster_retention_positive"
            ),
            models.CheckConstraint(
                condition=Q(name__regex=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"), name="cluster_name_dns_label"
            ),
            models.CheckConstraint(condition=Q(rv__gte=0, seq__gte=0), name="cluster_counters_positive"),
            models.CheckConstraint(
                condition=Q(lifecycle_mode__in=LifecycleMode.values), name="cluster_lifecycle_mode_known"
            ),
            models.CheckConstraint(
                condition=Q(is_mirror=False) | Q(lifecycle_mode=LifecycleMode.FROZEN), name="cluster_mirror_is_frozen"
            ),
            models.CheckConstraint(condition=Q(is_mirror=True) | Q(is_synced=True), name="cluster_is_synced"),
            models.CheckConstraint(
                condition=Q(is_record=False) | Q(is_mirror=False, lifecycle_mode=LifecycleMode.FROZEN),
                name="cluster_record_is_frozen",
            ),
            models.CheckConstraint(condition=Q(pace__in=Pace.values), name="cluster_pace_known"),
            models.CheckConstraint(condition=Q(clock_mode__in=ClockMode.values), name="cluster_clock_mode_known"),
            models.CheckConstraint(
                condition=~Q(clock_mode=ClockMode.FACTOR) | Q(clock_rate__gt=0), name="cluster_clock_factor_has_rate"
            ),
            # Stored time is that of a clock which goes by steps, and such a one has it.
            models.CheckConstraint(
                condition=Q(clock_mode=ClockMode.REAL, clock_until_us=None, clock_at_us=None, clock_wall_us=None)
                | (
                    (~Q(clock_mode=ClockMode.REAL) | Q(clock_until_us__isnull=False))
                    & Q(clock_at_us__isnull=False, clock_wall_us__isnull=False)
                ),
                name="cluster_clock_at_when_stepped",
            ),
            models.CheckConstraint(
                condition=Q(is_mirror=False) | Q(clock_mode=ClockMode.REAL, clock_until_us=None, clock_offset_us=0),
                name="cluster_mirror_has_real_time",
            ),
            models.CheckConstraint(
                condition=~Q(pace=Pace.SLOW) | Q(pace_rate__isnull=False), name="cluster_slow_has_rate"
            ),
            models.CheckConstraint(
                condition=Q(pace_rate__isnull=True) | Q(pace_rate__gt=0), name="cluster_pace_rate_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SchedulerConfigVersion(models.Model):
    """A configuration the cluster was scheduled by; the one in force is on the cluster's row as well.

    `replayable`: whether every plugin in it, as installed then, declared that equal inputs give equal decisions.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+", db_index=False)
    version = models.PositiveIntegerField()
    text = models.TextField(blank=True, default="")
    replayable = models.BooleanField(default=True)
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # Read by the list of a cluster's versions.
            models.UniqueConstraint(fields=["cluster", "version"], name="scheduler_config_version_unique"),
        ]

    def __str__(self) -> str:
        return f"version {self.version}"


class ClockReading(models.Model):
    """When on the wall a cluster had that time: where its clock was changed, and now and then while it goes by steps.

    Times are microseconds. Between two readings both go evenly; before the first they are the same.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+", db_index=False)
    at_us = models.BigIntegerField()
    wall_us = models.BigIntegerField()

    class Meta:
        constraints = [
            # Read by the wall time of a moment. The clock never goes back, so one moment has one reading.
            models.UniqueConstraint(fields=["cluster", "at_us"], name="clock_reading_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.at_us} at {self.wall_us}"
