"""Pods are written a thousand at a time by who holds the cluster's row: no check of it for each."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0005_retention"),
    ]

    operations = [
        migrations.AlterField(
            model_name="pod",
            name="cluster",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="cluster.cluster",
            ),
        ),
    ]
