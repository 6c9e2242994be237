"""Where the change log ended when a step was committed; of older steps, where it ended for them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0007_throughput_counts"),
    ]

    operations = [
        migrations.AddField("enginestep", "rv", models.BigIntegerField(default=0)),
        migrations.RunSQL("UPDATE traces_enginestep SET rv = log_to", migrations.RunSQL.noop),
        migrations.AddIndex("enginestep", models.Index(fields=["cluster", "rv", "seq_to"], name="engine_step_by_rv")),
    ]
