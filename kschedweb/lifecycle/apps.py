from django.apps import AppConfig


class LifecycleConfig(AppConfig):
    name = "kschedweb.lifecycle"
    label = "lifecycle"
