"""Whether the holder of a lease renews it by the beat of its session, without a write."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0004_history_proofs")]

    operations = [
        migrations.AddField(
            model_name="lease",
            name="beats",
            field=models.BooleanField(
                default=False, help_text="the beat of its holder's session renews it, without a write"
            ),
        ),
    ]
