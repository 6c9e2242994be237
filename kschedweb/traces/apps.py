from django.apps import AppConfig


class TracesConfig(AppConfig):
    name = "kschedweb.traces"
    label = "traces"
