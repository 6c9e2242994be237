from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "kschedweb.accounts"
    label = "accounts"
