"""How much of a cluster's past is kept, and why its scheduler stands still when it does."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0004_first_config_versions"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="retention_hours",
            field=models.PositiveIntegerField(default=168),
        ),
        migrations.AddField(
            model_name="cluster",
            name="retention_mb",
            field=models.PositiveIntegerField(default=4096),
        ),
        migrations.AddField(
            model_name="cluster",
            name="scheduler_problem",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddConstraint(
            model_name="cluster",
            constraint=models.CheckConstraint(
                condition=models.Q(("retention_hours__gte", 1), ("retention_mb__gte", 64)),
                name="cluster_retention_positive",
            ),
        ),
    ]
