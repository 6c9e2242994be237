"""The current state of a cluster's objects.

Quantities in jsonb are integers: cpu in thousandths, everything else in base units. `rv` is the position of an
object's last change in the log; only `changes.changes_commit` writes it.
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.fields.json import KeyTransform

from kschedweb.cluster.choices import TERMINAL_PHASES, PodPhase
from kschedweb.cluster.locks import LockOrder
from kschedweb.cluster.models.clusters import Cluster
from kschedweb.common.fields import PackedJSONField


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
    # Kind/name of its controller: lists are searched by it.
    owner = models.CharField(max_length=317, blank=True, default="")
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


_IS_EVENT = Q(kind="Event")
_SUBJECT = KeyTransform("involvedObject", "manifest")
FREQUENT_KINDS = ("Pod", "ReplicaSet", "Job")  # there are events about these for every pod
ABOUT_FREQUENT_KINDS = Q(manifest__involvedObject__kind__in=FREQUENT_KINDS)


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
        indexes = [
            # Read by the newest events of a cluster.
            models.Index(fields=["cluster", "-rv"], name="event_object_newest", condition=_IS_EVENT),
            models.Index(
                fields=["cluster", "-rv"],
                name="event_object_newest_others",
                condition=_IS_EVENT & ~ABOUT_FREQUENT_KINDS,
            ),
            # Read by the events about one object.
            models.Index(
                F("cluster"), KeyTransform("name", _SUBJECT), name="event_object_by_subject", condition=_IS_EVENT
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}".replace(" /", " ")
