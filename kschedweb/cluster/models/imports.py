"""Uploads, and what of them waits to be imported."""

import uuid

from django.db import models
from django.db.models import Q

from kschedweb.cluster.choices import ImportStatus
from kschedweb.cluster.models.clusters import Cluster


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
