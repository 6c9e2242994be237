"""Who may do what, and secrets that stand for a user: those are stored as hashes only.

Whether somebody is an administrator of everything is the user's own `is_superuser`. Clusters are made by those who have
the permission `cluster.add_cluster`.
"""

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from kschedweb.accounts.choices import AccessAction, Role

# No '@': what is written into the log is token:NAME@USER.
TOKEN_NAME = RegexValidator(
    r"^[a-z0-9]([-._a-z0-9]{0,58}[a-z0-9])?\Z", "must be lower-case letters, digits, '-', '.' and '_', at most 60"
)


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


class Token(models.Model):
    """A program's way in: it does what its user may do, and nothing above `max_role`."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens", db_index=False)
    name = models.CharField(max_length=60, validators=[TOKEN_NAME])
    token_hash = models.CharField(max_length=64)
    # By which people know it again; 24 of its 256 random bits.
    last_characters = models.CharField(max_length=4, blank=True, default="")
    max_role = models.CharField(max_length=16, choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token_hash"], name="token_hash_unique"),
            # A revoked token keeps its row, and its name may be given again.
            models.UniqueConstraint(fields=["user", "name"], condition=Q(revoked_at=None), name="token_name_unique"),
            models.CheckConstraint(condition=Q(max_role__in=Role.values), name="token_max_role_known"),
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="token_expires_later"),
        ]
        indexes = [models.Index(fields=["user", "created_at"], name="token_user_created")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_over(self) -> bool:
        """Whether it was revoked or has expired."""
        return self.revoked_at is not None or self.expires_at <= timezone.now()


class RoleBinding(models.Model):
    """The role of a user in a cluster; without one the cluster does not exist for them."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="roles", db_index=False)
    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="+")
    role = models.CharField(max_length=16, choices=Role, default=Role.VIEWER)
    granted_by = models.CharField(max_length=150, editable=False)
    granted_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "cluster"], name="role_binding_unique"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="role_binding_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.cluster_id}"

    @property
    def username(self) -> str:
        return self.user.get_username()


class FailedLogin(models.Model):
    """Failed logins of one account from one address, added up; of the rows only the latest are kept."""

    # Empty when there is no such account: what was typed may have been a password.
    username = models.CharField(max_length=150, blank=True)
    address = models.GenericIPAddressField(null=True)
    tries = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField(auto_now_add=True)
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["username", "address"], name="failed_login_unique", nulls_distinct=False),
        ]
        indexes = [models.Index(fields=["-last_at"], name="failed_login_last_at")]

    def __str__(self) -> str:
        return f"{self.tries} from {self.address}"


class AccessRecord(models.Model):
    """The log of roles and tokens: who gave or took what. Only added to, and it outlives whom it tells of."""

    at = models.DateTimeField(auto_now_add=True)
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=16, choices=AccessAction)
    username = models.CharField(max_length=150)
    cluster_name = models.CharField(max_length=63, blank=True, default="")
    detail = models.CharField(max_length=100)

    class Meta:
        indexes = [models.Index(fields=["-at"], name="access_record_at")]
        constraints = [models.CheckConstraint(condition=Q(action__in=AccessAction.values), name="access_action_known")]

    def __str__(self) -> str:
        return f"{self.action} {self.username}"
