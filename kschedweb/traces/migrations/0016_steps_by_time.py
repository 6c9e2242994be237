"""Steps are found by their time, and the first ones of runs by themselves."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0015_beginnings"),
    ]

    operations = [
        migrations.AddIndex(
            "enginestep",
            models.Index(fields=["cluster", "now_us", "run", "step"], name="engine_step_by_time"),
        ),
        migrations.AddIndex(
            "enginestep",
            models.Index(condition=models.Q(("step", 1)), fields=["cluster", "run"], name="engine_step_first"),
        ),
    ]
