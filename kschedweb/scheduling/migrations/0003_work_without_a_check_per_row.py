"""Bindings and evictions are written in the transaction that ends with the cluster's row: no check of it for each."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0006_pods_without_a_check_per_row"),
        ("scheduling", "0002_checkpoint_wanted"),
    ]

    operations = [
        migrations.AlterField(
            model_name="binding",
            name="cluster",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="cluster.cluster",
            ),
        ),
        migrations.AlterField(
            model_name="eviction",
            name="cluster",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="cluster.cluster",
            ),
        ),
    ]
