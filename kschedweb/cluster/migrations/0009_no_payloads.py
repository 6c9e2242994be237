"""An import that is not finished has files."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0008_payloads_in_pieces"),
    ]

    operations = [
        migrations.RemoveField(model_name="import", name="payload"),
        migrations.AddConstraint(
            model_name="import",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["done", "failed"]), models.Q(("files", []), _negated=True), _connector="OR"
                ),
                name="import_unfinished_has_files",
            ),
        ),
    ]
