"""Decisions that were tried on other states than the one before them."""

from django.db import migrations, models

_OUTCOMES = ["agreed", "tied", "earlier", "differed", "uncertain", "other"]


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0017_recorded_draws"),
    ]

    operations = [
        migrations.RemoveConstraint("comparison", "comparison_outcome_known"),
        migrations.AlterField(
            "comparison",
            "outcome",
            models.CharField(choices=[(each, each.title()) for each in _OUTCOMES], max_length=16),
        ),
        migrations.AddField("comparison", "behind", models.JSONField(default=list)),
        migrations.AddField("comparison", "tries", models.IntegerField(default=0)),
        migrations.AddConstraint(
            "comparison",
            models.CheckConstraint(condition=models.Q(("outcome__in", _OUTCOMES)), name="comparison_outcome_known"),
        ),
    ]
