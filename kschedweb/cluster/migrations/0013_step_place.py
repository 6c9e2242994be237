"""Where the change log ended for a cluster's last step, and the engine log when the change log came there."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0012_mirrors"),
    ]

    operations = [
        migrations.AddField("cluster", "step_rv", models.BigIntegerField(default=0)),
        migrations.AddField("cluster", "step_seq", models.BigIntegerField(default=0)),
    ]
