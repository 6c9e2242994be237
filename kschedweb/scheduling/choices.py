"""Choices of the scheduling rows."""

from django.db import models


class WorkStatus(models.TextChoices):
    """A binding or an eviction: asked for, then done or refused.

    Superseded: its leader was replaced first, or its pod was put in anew and bound again.
    """

    PENDING = "pending"
    DONE = "done"
    REFUSED = "refused"
    SUPERSEDED = "superseded"
