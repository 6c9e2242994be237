"""Attempts that found no node keep what was asked and what there was."""

from django.db import migrations

import kschedweb.common.fields


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0013_attempt_tried_first"),
    ]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="amounts",
            field=kschedweb.common.fields.CompactJSONField(blank=True, null=True),
        ),
    ]
