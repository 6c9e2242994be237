"""Attempts say whether the node a pod was nominated to was tried first, and fit."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0012_attempt_last_repeat"),
    ]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="tried_first",
            field=models.BooleanField(default=False),
        ),
    ]
