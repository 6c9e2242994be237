"""What the scheduler did, counted by seconds and minutes."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0006_pods_without_a_check_per_row"),
        ("traces", "0006_attempt_tied"),
    ]

    operations = [
        migrations.CreateModel(
            name="ThroughputCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("seconds", models.PositiveSmallIntegerField(help_text="how long the time is: 1 or 60")),
                ("run", models.BigIntegerField(help_text="the engine at work last", null=True)),
                ("scheduled", models.IntegerField(default=0)),
                ("unschedulable", models.IntegerField(default=0)),
                ("error", models.IntegerField(default=0)),
                ("skipped", models.IntegerField(default=0)),
                ("no_profile", models.IntegerField(default=0)),
                ("bound", models.IntegerField(default=0, help_text="pods bound by this scheduler")),
                ("queue_active", models.IntegerField(null=True)),
                ("queue_backoff", models.IntegerField(null=True)),
                ("queue_unschedulable", models.IntegerField(null=True)),
                ("queue_gated", models.IntegerField(null=True)),
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
                    models.UniqueConstraint(fields=("cluster", "at", "seconds"), name="throughput_count_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("seconds__in", [1, 60])), name="throughput_count_resolution"
                    ),
                ],
            },
        ),
    ]
