"""Rows of a cluster: its current state, the log of all changes to it, events and imports.

Quantities in jsonb are integers: cpu in thousandths, everything else in base units. `rv` is the position of an
object's last change in the log; only `changes.changes_commit` writes it.

Pods, the log and the events carry the cluster's id without a foreign key: their rows are many, the check would lock
the cluster's row for each, and whoever writes them has just updated that row, so the cluster exists.
"""

import uuid

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from kschedweb.cluster.choices import TERMINAL_PHASES, ImportStatus, LifecycleMode, Operation, Pace, PodPhase
from kschedweb.cluster.locks import LockOrder
from kschedweb.common.fields import PackedJSONField

DNS_LABEL = RegexValidator(
    r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z", "must be a DNS label: lower-case letters, digits and '-', at most 63"
)


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
    start_delay_ms = models.PositiveIntegerField(default=1000)
    is_sample = models.BooleanField(default=False)
    # Whether the objects are those of a cluster elsewhere: nobody writes them here but who follows it.
    is_mirror = models.BooleanField(default=False)
    # Of a mirror: whether all of them are here, so that decisions can be made; true of all others.
    is_synced = models.BooleanField(default=True)
    scheduler_config = models.TextField(blank=True, default="")
    config_version = models.PositiveIntegerField(default=1)
    # Why the configuration in force cannot be used by the scheduler, which goes on with an older one or stands still.
    scheduler_problem = models.TextField(blank=True, default="")
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
            models.CheckConstraint(condition=Q(pace__in=Pace.values), name="cluster_pace_known"),
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


class Node(models.Model):
    """The current state of a node."""

    lock_order = LockOrder.NODE

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=128)
    rv = models.BigIntegerField(default=0)
    zone = models.CharField(max_length=128, blank=True, default="")
    region = models.CharField(max_length=128, blank=True, default="")
    unschedulable = models.BooleanField(default=False)
    ready = models.BooleanField(default=True)
    allocatable = models.JSONField(default=dict)
    manifest = models.JSONField()

    class Meta:
        constraints = [
            # Its index serves every read by cluster: snapshot, rebuild, lists.
            models.UniqueConstraint(fields=["cluster", "name"], name="node_name_unique"),
            models.UniqueConstraint(fields=["cluster", "uid"], name="node_uid_unique"),
            models.CheckConstraint(condition=~Q(uid=""), name="node_uid_present"),
        ]

    def __str__(self) -> str:
        return self.name


class Pod(models.Model):
    """The current state of a pod; `node_name` is empty until it is bound."""

    lock_order = LockOrder.POD

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=128)
    rv = models.BigIntegerField(default=0)
    node_name = models.CharField(max_length=253, blank=True, default="")
    phase = models.CharField(max_length=16, choices=PodPhase, default=PodPhase.PENDING)
    priority = models.IntegerField(default=0)
    scheduler_name = models.CharField(max_length=253, default="default-scheduler")
    nominated_node_name = models.CharField(max_length=253, blank=True, default="")
    gated = models.BooleanField(default=False)
    deletion_timestamp = models.DateTimeField(null=True, blank=True)
    requests = models.JSONField(default=dict)
    start_time = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    # Of the PodScheduled condition.
    condition_reason = models.CharField(max_length=128, blank=True, default="")
    condition_message = models.TextField(blank=True, default="")
    # Written three times in the life of the shortest pod, and never searched.
    manifest = PackedJSONField()

    class Meta:
        constraints = [
            # Its index serves every read by cluster: snapshot, rebuild, lists.
            models.UniqueConstraint(fields=["cluster", "namespace", "name"], name="pod_name_unique"),
            models.UniqueConstraint(fields=["cluster", "uid"], name="pod_uid_unique"),
            models.CheckConstraint(condition=~Q(uid=""), name="pod_uid_present"),
            models.CheckConstraint(condition=Q(phase__in=PodPhase.values), name="pod_phase_known"),
            models.CheckConstraint(condition=Q(gated=False) | Q(node_name=""), name="pod_gated_is_unassigned"),
        ]
        indexes = [
            # Read by the pods of one node and by node_overcommit.
            models.Index(fields=["cluster", "node_name"], name="pod_by_node", condition=~Q(phase__in=TERMINAL_PHASES)),
            # Read by the sweep: pods to start, and pods to end.
            models.Index(
                fields=["cluster", "id"],
                name="pod_to_start",
                condition=Q(phase=PodPhase.PENDING) & ~Q(node_name=""),
            ),
            models.Index(
                fields=["cluster", "deletion_timestamp"],
                name="pod_to_end",
                condition=Q(deletion_timestamp__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class ApiObject(models.Model):
    """The current state of an object of any other kind."""

    lock_order = LockOrder.OBJECT

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True, default="")
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=128)
    rv = models.BigIntegerField(default=0)
    manifest = models.JSONField()

    class Meta:
        constraints = [
            # Its index serves every read by cluster and by kind.
            models.UniqueConstraint(fields=["cluster", "kind", "namespace", "name"], name="api_object_name_unique"),
            models.UniqueConstraint(fields=["cluster", "uid"], name="api_object_uid_unique"),
            models.CheckConstraint(condition=~Q(uid=""), name="api_object_uid_present"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}".replace(" /", " ")


class Change(models.Model):
    """One entry of the change log. `object` is zstd of JSON: the manifest, for a deletion its last state."""

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    rv = models.BigIntegerField()
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=128)
    operation = models.CharField(max_length=16, choices=Operation)
    object = models.BinaryField()
    actor = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            # Its index serves the followers: cluster = ? and rv > ? in order.
            models.UniqueConstraint(fields=["cluster", "rv"], name="change_position_unique"),
            models.CheckConstraint(condition=Q(operation__in=Operation.values), name="change_operation_known"),
        ]
        indexes = [
            # Read by the history of one object (audit, time travel).
            models.Index(fields=["cluster", "uid", "rv"], name="change_by_uid"),
        ]

    def __str__(self) -> str:
        return f"{self.rv} {self.operation} {self.kind} {self.namespace}/{self.name}"


class Event(models.Model):
    """An event for users. `seq` is its position in the engine log, 0 when it does not come from the engine."""

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    seq = models.BigIntegerField(default=0)
    namespace = models.CharField(max_length=63, blank=True, default="")
    name = models.CharField(max_length=320)
    type = models.CharField(max_length=16)
    reason = models.CharField(max_length=128)
    action = models.CharField(max_length=128, blank=True, default="")
    note = models.TextField(blank=True, default="")
    regarding_kind = models.CharField(max_length=63)
    regarding_namespace = models.CharField(max_length=63, blank=True, default="")
    regarding_name = models.CharField(max_length=253)
    regarding_uid = models.CharField(max_length=128, blank=True, default="")
    reporter = models.CharField(max_length=253)
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "seq"], name="event_position_unique", condition=Q(seq__gt=0)),
            models.CheckConstraint(condition=Q(count__gte=1), name="event_count_positive"),
        ]
        indexes = [
            # Read by the snapshot: the newest events of a cluster.
            models.Index(fields=["cluster", "-id"], name="event_newest"),
            # Read by the page of one object.
            models.Index(fields=["cluster", "regarding_uid", "-id"], name="event_by_object"),
        ]

    def __str__(self) -> str:
        return f"{self.reason} {self.regarding_kind} {self.regarding_namespace}/{self.regarding_name}"


class Import(models.Model):
    """An upload, as a row of work when it is too large for one request; its pieces go when the work is over."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+", db_index=False)
    status = models.CharField(max_length=16, choices=ImportStatus, default=ImportStatus.QUEUED)
    options = models.JSONField(default=dict)
    files = models.JSONField(default=list, help_text="names of the files whose pieces are kept, in order")
    filename = models.CharField(max_length=255, blank=True, default="")
    report = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=ImportStatus.values), name="import_status_known"),
            models.CheckConstraint(
                condition=Q(status__in=[ImportStatus.DONE, ImportStatus.FAILED]) | ~Q(files=[]),
                name="import_unfinished_has_files",
            ),
            models.CheckConstraint(
                condition=~Q(status=ImportStatus.FAILED) | Q(error__isnull=False), name="import_failed_has_error"
            ),
        ]
        indexes = [
            # Read by the sweep: work that nobody has taken or whose worker died.
            models.Index(
                fields=["created_at"],
                name="import_unfinished",
                condition=Q(status__in=[ImportStatus.QUEUED, ImportStatus.RUNNING]),
            ),
            # Read by the list of a cluster's imports.
            models.Index(fields=["cluster", "-created_at"], name="import_by_cluster"),
        ]

    def __str__(self) -> str:
        return f"{self.filename or 'upload'} ({self.status})"


class ImportPiece(models.Model):
    """A piece of a file that waits to be imported, as it was received; the file is its pieces in the order of `id`."""

    # Goes with the cluster; whose it is stands in the import.
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    of_import = models.ForeignKey(Import, models.CASCADE, related_name="pieces")
    file = models.PositiveSmallIntegerField(help_text="which of the import's files, from 0 on")
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"a piece of file {self.file} of import {self.of_import_id}"
