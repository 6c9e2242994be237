"""What an attempt's row needs for questions over many: where it stood, and words to look its refusals up by."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

# Attempts stored before: the log has their position, the journal their run and configuration.
BACKFILL = """
UPDATE traces_attempt AS attempt SET refused = ARRAY(
    SELECT DISTINCT word FROM jsonb_to_recordset(attempt.rejections) AS told (plugin text, reason text)
    CROSS JOIN LATERAL unnest(ARRAY[told.plugin, told.reason]) AS word WHERE word <> '' ORDER BY word
) WHERE rejections <> '[]';
UPDATE traces_attempt AS attempt SET rv = entry.rv FROM traces_enginelog AS entry
    WHERE entry.cluster_id = attempt.cluster_id AND entry.seq = attempt.seq;
UPDATE traces_attempt AS attempt SET run = step.run, config_version = step.config_version
    FROM traces_enginestep AS step
    WHERE step.cluster_id = attempt.cluster_id AND attempt.seq > step.seq_from AND attempt.seq <= step.seq_to;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0004_first_config_versions"),
        ("traces", "0002_attempt_preemption"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="attempt",
            name="attempt_by_plugin",
        ),
        migrations.AddField(
            model_name="attempt",
            name="config_version",
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name="attempt",
            name="refused",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
        ),
        migrations.AddField(
            model_name="attempt",
            name="run",
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="attempt",
            name="rv",
            field=models.BigIntegerField(default=0),
        ),
        migrations.RunSQL(BACKFILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="attempt",
            index=django.contrib.postgres.indexes.GinIndex(fields=["refused"], name="attempt_by_refusal"),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(fields=["cluster", "last_seen_at"], name="attempt_by_time"),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(fields=["cluster", "-duration_us", "-seq"], name="attempt_by_duration"),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("preemption__isnull", False)), fields=["cluster", "-seq"], name="attempt_preempting"
            ),
        ),
    ]
