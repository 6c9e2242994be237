"""Pods have their controller in a column, as manifests cannot be searched; each pod is read once for it."""

from typing import Any

from django.db import migrations, models

AT_ONCE = 1000


def owner_of(manifest: Any) -> str:
    references = manifest["metadata"].get("ownerReferences") or ()
    return next((f"{one['kind']}/{one['name']}" for one in references if one.get("controller")), "")


def fill(apps: Any, schema_editor: Any) -> None:
    pods = apps.get_model("cluster", "Pod").objects
    last = 0
    while rows := list(pods.filter(id__gt=last).order_by("id").only("id", "manifest")[:AT_ONCE]):
        last = rows[-1].id
        owned = [row for row in rows if owner_of(row.manifest)]
        for row in owned:
            row.owner = owner_of(row.manifest)
        pods.bulk_update(owned, ["owner"])


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0017_profiles"),
    ]

    operations = [
        migrations.AddField("pod", "owner", models.CharField(blank=True, default="", max_length=317)),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
