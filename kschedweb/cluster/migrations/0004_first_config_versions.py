"""Clusters made before versions were kept get the one they have."""

from django.db import migrations


def keep_present_versions(apps, schema_editor):
    cluster, version = apps.get_model("cluster", "Cluster"), apps.get_model("cluster", "SchedulerConfigVersion")
    version.objects.bulk_create(
        version(cluster_id=pk, version=number, text=text, actor="system")
        for pk, number, text in cluster.objects.values_list("pk", "config_version", "scheduler_config")
    )


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0003_scheduler_config_versions"),
    ]

    operations = [
        migrations.RunPython(keep_present_versions, migrations.RunPython.noop),
    ]
