from django.apps import AppConfig


class MirrorConfig(AppConfig):
    name = "kschedweb.mirror"
    label = "mirror"
