"""Where the engine log ended when the change log came to where it ended for a step."""

from django.db import migrations, models

_STEPS = """
UPDATE traces_enginestep AS step SET seq_at_rv = first.seq_from
FROM (SELECT cluster_id, rv, min(seq_from) AS seq_from FROM traces_enginestep GROUP BY cluster_id, rv) AS first
WHERE step.cluster_id = first.cluster_id AND step.rv = first.rv
"""
_CLUSTERS = """
UPDATE cluster_cluster AS cluster SET step_rv = last.rv, step_seq = last.seq_at_rv
FROM (
    SELECT DISTINCT ON (cluster_id) cluster_id, rv, seq_at_rv FROM traces_enginestep
    ORDER BY cluster_id, rv DESC, seq_to DESC
) AS last
WHERE cluster.id = last.cluster_id
"""


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0013_step_place"),
        ("traces", "0009_comparisons"),
    ]

    operations = [
        migrations.AddField("enginestep", "seq_at_rv", models.BigIntegerField(default=0)),
        migrations.RunSQL(_STEPS, migrations.RunSQL.noop),
        migrations.RunSQL(_CLUSTERS, migrations.RunSQL.noop),
    ]
