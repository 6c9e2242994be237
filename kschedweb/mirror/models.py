"""Mirrors: which cluster elsewhere is followed, how far, and by which process."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from kschedweb.cluster.locks import LockOrder
from kschedweb.cluster.models import Cluster
from kschedweb.mirror.choices import MirrorState


class Mirror(models.Model):
    """What a mirrored cluster follows. Whoever holds it under the present epoch writes the cluster's objects.

    `positions`: the other cluster's version up to which each collection is known here, by `Collected.key`; written in
    the transaction that stores the objects. `collections`: how each is doing, [state, problem] by the same key.
    """

    lock_order = LockOrder.FENCE

    cluster = models.OneToOneField(Cluster, models.CASCADE, primary_key=True, related_name="+")
    server = models.CharField(max_length=500, help_text="address of the API server")
    context = models.CharField(max_length=253, blank=True, default="")
    namespaces = ArrayField(models.CharField(max_length=63), default=list, help_text="empty: all")
    # The kubeconfig, encrypted with a key made from the service's secret key.
    credentials = models.BinaryField()
    # Whether it may name programs to run and files to read: only who starts it on this machine may say so.
    is_trusted = models.BooleanField(default=False)
    is_wanted = models.BooleanField(default=True)
    state = models.CharField(max_length=16, choices=MirrorState, default=MirrorState.CONNECTING)
    problem = models.TextField(blank=True, default="")
    positions = models.JSONField(default=dict)
    collections = models.JSONField(default=dict)
    holder = models.CharField(max_length=128, blank=True, default="")
    epoch = models.BigIntegerField(default=0)
    held_until = models.DateTimeField(null=True, blank=True)
    # Seconds from an event's arrival here to its commit, of the last batch.
    lag_seconds = models.FloatField(null=True, blank=True)
    # When the other cluster was last heard of, and since when all its objects are here.
    heard_at = models.DateTimeField(null=True, blank=True)
    synced_at = models.DateTimeField(null=True, blank=True)
    lists = models.BigIntegerField(default=0, help_text="lists that were read to their end")
    events = models.BigIntegerField(default=0, help_text="events of watches")
    failures = models.BigIntegerField(default=0, help_text="requests that failed")
    unreadable = models.JSONField(default=list, help_text="[kind, key, reason] of objects left out, the last few")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=MirrorState.values), name="mirror_state_known"),
            models.CheckConstraint(condition=Q(epoch__gte=0), name="mirror_epoch_positive"),
        ]

    def __str__(self) -> str:
        return f"mirror of {self.server}"
