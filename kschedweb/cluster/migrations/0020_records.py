"""Clusters may be histories from files."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0019_gone_pods"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="is_record",
            field=models.BooleanField(default=False),
        ),
        migrations.AddConstraint(
            model_name="cluster",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("is_record", False), models.Q(("is_mirror", False), ("lifecycle_mode", "frozen")), _connector="OR"
                ),
                name="cluster_record_is_frozen",
            ),
        ),
    ]
