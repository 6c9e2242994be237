"""Choices of the scheduling rows."""

from django.db import models


class WorkStatus(models.TextChoices):
    """A binding or an eviction: asked for, then done or refused; superseded when its leader was replaced first."""

    PENDING = "pending"
    DONE = "done"
    REFUSED = "refused"
    SUPERSEDED = "superseded"
