"""Secrets that stand for a user, stored as hashes only."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class LoginLink(models.Model):
    """A link that logs its user in once, within minutes."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    token_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token_hash"], name="login_link_token_unique"),
            models.CheckConstraint(condition=Q(expires_at__gt=models.F("created_at")), name="login_link_expires_later"),
        ]

    def __str__(self) -> str:
        return f"login link of {self.user_id}"
