"""Users in the look of the rest of the admin; login links are shown without their secrets."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from kschedweb.accounts.models import LoginLink
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


@admin.register(LoginLink)
class LoginLinkAdmin(ResultAdmin):
    list_display = ("user", "created_at", "expires_at", "used_at")

    def get_fields(self, request: HttpRequest, obj: object = None) -> list[str]:
        return ["user", "created_at", "expires_at", "used_at"]
