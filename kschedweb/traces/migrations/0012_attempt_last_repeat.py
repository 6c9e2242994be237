"""Attempts say which number their last repeat had, and how long it took."""

from django.db import migrations

import kschedweb.common.fields


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0011_attempt_devices"),
    ]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="last_repeat",
            field=kschedweb.common.fields.CompactJSONField(blank=True, null=True),
        ),
    ]
