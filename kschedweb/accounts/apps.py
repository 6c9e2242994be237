from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class AccountsConfig(AppConfig):
    name = "kschedweb.accounts"
    label = "accounts"
    default = True


class AdminConfig(admin_apps.AdminConfig):
    """Django's admin with our site; `default` is false so that the app above is found by its package."""

    default = False
    default_site = "kschedweb.accounts.site.Site"
