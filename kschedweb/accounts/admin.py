"""Users, roles and tokens in the look of the rest of the admin; secrets are shown once or never."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from kschedweb.accounts import services
from kschedweb.accounts.models import AccessRecord, FailedLogin, LoginLink, RoleBinding, Token
from kschedweb.common.admin import ResultAdmin

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    pass


@admin.register(RoleBinding)
class RoleBindingAdmin(ModelAdmin):
    """Roles; each change goes through the service, which writes the log of access."""

    list_display = ("user", "cluster", "role", "granted_by", "granted_at")
    list_filter = ("role", "cluster")
    list_select_related = ("user", "cluster")
    search_fields = ("user__username", "cluster__name")
    ordering = ("cluster", "user")
    fields = ("user", "cluster", "role")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("user", "cluster")

    def save_model(self, request: HttpRequest, obj: RoleBinding, form: Any, change: bool) -> None:
        given = services.role_set(
            cluster=obj.cluster, username=obj.user.get_username(), role=obj.role, actor=request.user.get_username()
        )
        obj.pk = given.pk

    def delete_model(self, request: HttpRequest, obj: RoleBinding) -> None:
        services.role_remove(cluster=obj.cluster, username=obj.user.get_username(), actor=request.user.get_username())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[RoleBinding]) -> None:
        for binding in queryset.select_related("user", "cluster"):
            self.delete_model(request, binding)


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new token: its end is given in days."""

    days = forms.IntegerField(
        min_value=1, max_value=services.TOKEN_DAYS_MOST, initial=90, widget=UnfoldAdminIntegerFieldWidget
    )

    class Meta:
        model = Token
        fields = ("user", "name", "max_role")


@admin.register(Token)
class TokenAdmin(ModelAdmin):
    """Tokens are made and revoked here; their rows stay."""

    list_display = ("name", "user", "max_role", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("max_role", "revoked_at")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    ordering = ("-created_at", "id")
    actions = ("revoke",)
    form = TokenForm
    fields = ("user", "name", "max_role", "days")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields if obj is None else list(self.list_display)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, **({} if obj is None else {"form": forms.ModelForm}), **kwargs)

    def save_model(self, request: HttpRequest, obj: Token, form: TokenForm, change: bool) -> None:
        given = form.cleaned_data
        made, secret = services.token_create(
            user=given["user"],
            name=given["name"],
            max_role=given["max_role"],
            days=given["days"],
            actor=request.user.get_username(),
        )
        obj.pk, obj.created_at, obj.expires_at = made.pk, made.created_at, made.expires_at
        messages.warning(request, f"The token is shown only now: {secret}")

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        for token_id in queryset.values_list("pk", flat=True):
            services.token_revoke(user=None, token_id=token_id, actor=request.user.get_username())


@admin.register(AccessRecord)
class AccessRecordAdmin(ResultAdmin):
    list_display = ("at", "actor", "action", "username", "cluster_name", "detail")
    list_filter = ("action",)
    search_fields = ("username", "actor", "cluster_name")
    ordering = ("-at", "-id")


@admin.register(FailedLogin)
class FailedLoginAdmin(ResultAdmin):
    list_display = ("last_at", "username", "address", "tries", "first_at")
    search_fields = ("username", "address")
    ordering = ("-last_at", "-id")


@admin.register(LoginLink)
class LoginLinkAdmin(ResultAdmin):
    list_display = ("user", "created_at", "expires_at", "used_at")

    def get_fields(self, request: HttpRequest, obj: object = None) -> list[str]:
        return ["user", "created_at", "expires_at", "used_at"]
