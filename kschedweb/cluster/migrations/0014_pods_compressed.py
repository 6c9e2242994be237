"""Manifests of pods are compressed as those in the log are; a pod is read and written once in the change-over."""

from collections.abc import Callable
from typing import Any

from django.db import migrations, models

import kschedweb.common.fields

AT_ONCE = 1000


def moved(source: str, target: str) -> Callable[[Any, Any], None]:
    def move(apps: Any, schema_editor: Any) -> None:
        pods = apps.get_model("cluster", "Pod").objects
        last = 0
        while rows := list(pods.filter(id__gt=last).order_by("id").only("id", source)[:AT_ONCE]):
            for row in rows:
                setattr(row, target, getattr(row, source))
            pods.bulk_update(rows, [target])
            last = rows[-1].id

    return move


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0013_step_place"),
    ]

    operations = [
        migrations.AddField("pod", "packed", kschedweb.common.fields.PackedJSONField(null=True)),
        migrations.AlterField("pod", "manifest", models.JSONField(null=True)),
        migrations.RunPython(moved("manifest", "packed"), moved("packed", "manifest")),
        migrations.RemoveField("pod", "manifest"),
        migrations.RenameField("pod", "packed", "manifest"),
        migrations.AlterField("pod", "manifest", kschedweb.common.fields.PackedJSONField()),
    ]
