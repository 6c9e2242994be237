"""Checkpoints: an engine and its objects as of a step."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0005_retention"),
        ("traces", "0004_compact_json"),
    ]

    operations = [
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("run", models.BigIntegerField()),
                ("step", models.BigIntegerField()),
                ("seq", models.BigIntegerField()),
                ("rv", models.BigIntegerField()),
                ("objects_rv", models.BigIntegerField()),
                ("config_version", models.PositiveIntegerField()),
                ("at", models.DateTimeField()),
                ("engine", models.BinaryField()),
                ("objects_packed", models.BinaryField()),
                (
                    "cluster",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="cluster.cluster",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "seq", "run", "step"), name="checkpoint_position_unique")
                ],
            },
        ),
    ]
