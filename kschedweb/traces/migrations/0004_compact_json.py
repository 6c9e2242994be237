"""What is written with every attempt and never searched is kept as text: half the room of jsonb."""

from django.db import migrations

import kschedweb.common.fields
import kschedweb.traces.models


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0003_questions"),
    ]

    operations = [
        migrations.AlterField(
            model_name="attempt",
            name="best",
            field=kschedweb.traces.models.BestNodesField(default=list),
        ),
        migrations.AlterField(
            model_name="attempt",
            name="durations",
            field=kschedweb.common.fields.CompactJSONField(default=dict),
        ),
        migrations.AlterField(
            model_name="enginelog",
            name="payload",
            field=kschedweb.common.fields.CompactJSONField(default=dict),
        ),
    ]
