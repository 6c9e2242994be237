"""Clusters know the names of their profiles. Of a configuration of its own the next engine tells them."""

import django.contrib.postgres.fields
from django.db import migrations, models

import kschedweb.cluster.models.clusters


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0016_event_indexes"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="profiles",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), default=kschedweb.cluster.models.clusters.default_profiles, size=None
            ),
        ),
    ]
