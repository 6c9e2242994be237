from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "kschedweb.accounts"
    label = "accounts"

    def ready(self) -> None:
        from kschedweb.accounts import schema  # noqa: F401  registers itself
