"""The log of all changes to a cluster, and its events."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Collate

from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models.clusters import Cluster


class Change(models.Model):
    """One entry of the change log. `object` is packed JSON: the manifest, for a deletion its last state."""

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
            # Read by the search, for names of pods that are gone; in the order of bytes, which serves beginnings too.
            models.Index(
                F("cluster"),
                Collate("name", "C"),
                F("namespace"),
                F("rv"),
                name="change_gone_pods",
                condition=Q(kind="Pod", operation=Operation.DELETED),
            ),
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
