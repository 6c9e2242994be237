"""Closed sets of words in the mirrors' table."""

from django.db import models


class MirrorState(models.TextChoices):
    """How it goes with following a cluster."""

    CONNECTING = "connecting"
    LISTING = "listing"
    FOLLOWING = "following"
    PROBLEM = "problem"  # nodes or pods cannot be read at present; tried again
    STOPPED = "stopped"
