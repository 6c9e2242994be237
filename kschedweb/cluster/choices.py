"""Closed sets of words in the cluster's tables; constraints in the database hold columns to them."""

from django.db import models


class LifecycleMode(models.TextChoices):
    """Whether controllers act on the cluster. In a frozen one only the scheduler does: it binds, and it preempts."""

    FROZEN = "frozen"
    SIMULATE = "simulate"


class Pace(models.TextChoices):
    """How fast the cluster's scheduler goes."""

    RUN = "run"
    SLOW = "slow"
    PAUSE = "pause"


class ClockMode(models.TextChoices):
    """How the cluster's time passes: as on the wall, so many times as fast, or as fast as everything due is done."""

    REAL = "real"
    FACTOR = "factor"
    FAST = "fast"


class Operation(models.TextChoices):
    """What a row of the change log tells."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    VERDICT = "verdict"
    SETTING = "setting"


class ImportStatus(models.TextChoices):
    """An import goes queued, running, then done or failed."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class PodPhase(models.TextChoices):
    """The phases of Kubernetes."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


TERMINAL_PHASES = (PodPhase.SUCCEEDED, PodPhase.FAILED)
