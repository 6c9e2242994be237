"""Who leads a cluster, how far its engine has come, and the work a decision left behind.

In which order rows are locked: cluster/locks.py.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kschedweb.cluster.locks import LockOrder
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.choices import WorkStatus


class Lease(models.Model):
    """The lock record of a cluster's scheduler; every candidate reads it, the holder renews it."""

    lock_order = LockOrder.LEASE

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    holder = models.CharField(max_length=120, blank=True, default="", help_text="worker id; empty when free")
    duration_seconds = models.FloatField(default=15.0)
    acquired_at = models.DateTimeField(null=True)
    renewed_at = models.DateTimeField(null=True)
    transitions = models.PositiveIntegerField(default=0)
    version = models.BigIntegerField(default=0, help_text="raised by every write: candidates compare it")
    beats = models.BooleanField(default=False, help_text="the beat of its holder's session renews it, without a write")

    class Meta:
        db_table = "leases"

    def __str__(self) -> str:
        return f"lease of cluster {self.cluster_id}: {self.holder or 'free'}"


class LeaseFence(models.Model):
    """The epoch in force. Every transaction written for a scheduler holds this row FOR SHARE.

    Apart from the lease, so that renewals do not wait for writers.
    """

    lock_order = LockOrder.FENCE

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    epoch = models.BigIntegerField(default=0)
    holder = models.CharField(max_length=120, blank=True, default="")

    class Meta:
        db_table = "lease_fences"

    def __str__(self) -> str:
        return f"fence of cluster {self.cluster_id}: epoch {self.epoch}"


class EngineState(models.Model):
    """How far the engine of a cluster has come; written in each step's transaction."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    epoch = models.BigIntegerField(default=0)
    run = models.BigIntegerField(default=0, help_text="raised by every rebuild")
    step = models.BigIntegerField(default=0)
    rv_seen = models.BigIntegerField(default=0)
    digest = models.BinaryField(default=b"")
    config_version = models.PositiveIntegerField(default=0, help_text="the one the engine runs under")
    checkpoint_wanted = models.BooleanField(default=False, help_text="somebody waits for a checkpoint")
    next_due_at = models.DateTimeField(null=True, help_text="when the engine wants a step without any change")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "engine_states"

    def __str__(self) -> str:
        return f"engine of cluster {self.cluster_id}: run {self.run}, step {self.step}"


class WorkRow(models.Model):
    """What bindings and evictions share: decided under an epoch, claimed by id, marked when carried out."""

    # Without a constraint of the database, as the logs (see cluster/models/__init__.py).
    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    epoch = models.BigIntegerField()
    pod_uid = models.CharField(max_length=128)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    node_name = models.CharField(max_length=253)
    status = models.CharField(max_length=12, choices=WorkStatus.choices, default=WorkStatus.PENDING)
    message = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} on {self.node_name}: {self.status}"


class Binding(WorkRow):
    """Bind this pod to that node."""

    attempt = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "bindings"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(status__in=WorkStatus.values), name="binding_status_known"),
            models.UniqueConstraint(
                fields=["cluster", "pod_uid"],
                condition=Q(status=WorkStatus.PENDING),
                name="binding_one_pending_per_pod",
            ),
            models.UniqueConstraint(
                fields=["cluster", "pod_uid"], condition=Q(status=WorkStatus.DONE), name="binding_one_done_per_pod"
            ),
        ]
        indexes: ClassVar = [
            # Read by the binding worker's claim and the sweep.
            models.Index(fields=["cluster", "id"], condition=Q(status=WorkStatus.PENDING), name="binding_pending"),
        ]


class Eviction(WorkRow):
    """Delete this victim of a preemption; `pod_uid` is the victim."""

    preemptor_uid = models.CharField(max_length=128)

    class Meta:
        db_table = "evictions"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(status__in=WorkStatus.values), name="eviction_status_known"),
        ]
        indexes: ClassVar = [
            # Read by the binding worker's claim and the sweep.
            models.Index(fields=["cluster", "id"], condition=Q(status=WorkStatus.PENDING), name="eviction_pending"),
        ]


class HistoryProof(models.Model):
    """How far a cluster's recorded steps have been made again and found identical, or the first difference.

    `cycles` were identical; `unproven` ones could not be made again, the last time for `reason`.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    run = models.BigIntegerField(default=0)
    step = models.BigIntegerField(default=0)
    rv = models.BigIntegerField(default=0)
    seq = models.BigIntegerField(default=0)
    at = models.DateTimeField(null=True)  # the time of the step in the cluster
    cycles = models.BigIntegerField(default=0)
    unproven = models.BigIntegerField(default=0)
    reason = models.TextField(blank=True, default="")
    # {run, step, seq, pod, field, recorded, replayed}
    difference = models.JSONField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "history_proofs"

    def __str__(self) -> str:
        return f"history of cluster {self.cluster_id}: {'differs' if self.difference else 'identical'} at {self.seq}"
