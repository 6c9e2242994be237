"""Attempts say which devices they decided on, or what became of all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0010_step_seq_at_rv"),
    ]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="devices",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
