"""Pods that are gone are found by their names.

The index holds what a search reads of a deletion, so the log itself is not read. That is so only of pages of which
PostgreSQL knows that everybody sees all rows: the log, to which rows are only added, is looked through for such pages
when a hundredth of it is new, not a fifth.
"""

import django.db.models.functions.comparison
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0018_owners"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="change",
            index=models.Index(
                models.F("cluster"),
                django.db.models.functions.comparison.Collate("name", "C"),
                models.F("namespace"),
                models.F("rv"),
                condition=models.Q(("kind", "Pod"), ("operation", "deleted")),
                name="change_gone_pods",
            ),
        ),
        migrations.RunSQL(
            "ALTER TABLE cluster_change SET (autovacuum_vacuum_insert_scale_factor = 0.01)",
            "ALTER TABLE cluster_change RESET (autovacuum_vacuum_insert_scale_factor)",
        ),
    ]
