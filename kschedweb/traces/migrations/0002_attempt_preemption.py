"""What a search for victims came to, beside the attempt it belongs to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("traces", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="preemption",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
