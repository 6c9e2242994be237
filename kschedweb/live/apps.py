from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "kschedweb.live"
    label = "live"
