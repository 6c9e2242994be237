from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    name = "kschedweb.scheduling"
    label = "scheduling"
