"""Which configuration an engine runs under, and whether somebody waits for a checkpoint of it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("scheduling", "0001_leases_and_work"),
    ]

    operations = [
        migrations.AddField(
            model_name="enginestate",
            name="checkpoint_wanted",
            field=models.BooleanField(default=False, help_text="somebody waits for a checkpoint"),
        ),
        migrations.AddField(
            model_name="enginestate",
            name="config_version",
            field=models.PositiveIntegerField(default=0, help_text="the one the engine runs under"),
        ),
    ]
