"""How far the record of each cluster has been made again and found identical."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0017_profiles"),
        ("scheduling", "0003_work_without_a_check_per_row"),
    ]

    operations = [
        migrations.CreateModel(
            name="HistoryProof",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="cluster.cluster",
                    ),
                ),
                ("run", models.BigIntegerField(default=0)),
                ("step", models.BigIntegerField(default=0)),
                ("rv", models.BigIntegerField(default=0)),
                ("seq", models.BigIntegerField(default=0)),
                ("at", models.DateTimeField(null=True)),
                ("cycles", models.BigIntegerField(default=0)),
                ("unproven", models.BigIntegerField(default=0)),
                ("reason", models.TextField(blank=True, default="")),
                ("difference", models.JSONField(blank=True, null=True)),
                ("checked_at", models.DateTimeField(null=True)),
            ],
            options={"db_table": "history_proofs"},
        ),
    ]
