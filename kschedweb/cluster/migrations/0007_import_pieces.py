"""What waits to be imported is kept in pieces: a large upload is never in memory as a whole when it is stored."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0006_pods_without_a_check_per_row"),
    ]

    operations = [
        migrations.AddField(
            model_name="import",
            name="files",
            field=models.JSONField(default=list, help_text="names of the files whose pieces are kept, in order"),
        ),
        migrations.CreateModel(
            name="ImportPiece",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("file", models.PositiveSmallIntegerField(help_text="which of the import's files, from 0 on")),
                ("content", models.BinaryField()),
                (
                    "cluster",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="cluster.cluster",
                    ),
                ),
                (
                    "of_import",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pieces", to="cluster.import"
                    ),
                ),
            ],
        ),
        migrations.RemoveConstraint(model_name="import", name="import_unfinished_has_payload"),
    ]
