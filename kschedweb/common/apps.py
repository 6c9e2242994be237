from django.apps import AppConfig


class CommonConfig(AppConfig):
    name = "kschedweb.common"
    label = "common"
