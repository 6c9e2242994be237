"""How many nodes had the highest total, beside the attempt. Stored attempts keep null: their matrices say it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("traces", "0005_checkpoint")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="tied",
            field=models.IntegerField(blank=True, null=True),
        ),
    ]
