"""Steps of a history whose names were replaced keep what was drawn in them: draws go by names."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0016_steps_by_time"),
    ]

    operations = [
        migrations.AddField("enginestep", "draws", models.BinaryField(null=True)),
    ]
