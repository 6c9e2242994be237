from django.apps import AppConfig


class ClusterConfig(AppConfig):
    name = "kschedweb.cluster"
    label = "cluster"
