"""What an engine was made of, so that its steps can be made again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0014_attempt_amounts"),
    ]

    operations = [
        migrations.AddField("enginestep", "began_from", models.BinaryField(null=True)),
        migrations.AddField("checkpoint", "digest", models.BinaryField(default=b"")),
        migrations.AddField("checkpoint", "gates", models.JSONField(null=True)),
    ]
