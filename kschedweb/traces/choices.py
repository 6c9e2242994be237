"""Closed sets of words in the trace's tables."""

from django.db import models


class StepKind(models.TextChoices):
    """What a journal entry does: a step, a new engine built from rows, a new configuration."""

    APPLY = "apply"
    REBUILD = "rebuild"
    CONFIG = "config"


class LogKind(models.TextChoices):
    """What an entry of the engine log tells."""

    QUEUE = "queue"
    CACHE = "cache"
    ATTEMPT = "attempt"
    EVENT = "event"
    STEP = "step"


class Queue(models.TextChoices):
    """Where a pod stands: in a sub-queue, waiting in Permit, or assumed on a node and being bound."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "errorBackoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    WAITING = "waiting"
    ASSUMED = "assumed"


class Result(models.TextChoices):
    """How an attempt ended."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"
    SKIPPED = "skipped"
    NO_PROFILE = "noProfile"
    PROPOSED = "proposed"  # in a mirror: a node was chosen, and nothing carried out


class Agreement(models.TextChoices):
    """How another scheduler's choice of a node stands to our own."""

    AGREED = "agreed"
    TIED = "tied"  # the other node was among ours with the best total
    EARLIER = "earlier"  # either of these on a state that the other scheduler can have had
    DIFFERED = "differed"
    UNCERTAIN = "uncertain"  # not all such states were tried, or not all nodes looked at
    OTHER = "other"  # the pod's scheduler is no profile of ours


class Cause(models.TextChoices):
    """The likely cause of a difference; see scheduler_core/scheduler/comparing.py."""

    PLUGIN = "plugin"
    STATE = "state"
    SAMPLING = "sampling"
    CONFIGURATION = "configuration"
    UNKNOWN = "unknown"


class Outcome(models.TextChoices):
    """What became of a node in a search for victims."""

    CANDIDATE = "candidate"  # the pod fits without its victims
    REFUSED = "refused"
    UNTRIED = "untried"  # enough candidates had been found
