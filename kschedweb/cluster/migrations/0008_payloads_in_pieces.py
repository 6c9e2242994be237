"""Imports that wait while the service is upgraded keep their files."""

from typing import Any

import msgspec
from django.db import migrations

PIECE_BYTES = 1 << 20


def cut(apps: Any, schema_editor: Any) -> None:
    pieces = apps.get_model("cluster", "ImportPiece").objects
    for row in apps.get_model("cluster", "Import").objects.filter(payload__isnull=False).iterator(chunk_size=1):
        files = msgspec.msgpack.decode(bytes(row.payload), type=list[tuple[str, bytes]])
        for number, (_, content) in enumerate(files):
            for start in range(0, len(content), PIECE_BYTES):
                piece = content[start : start + PIECE_BYTES]
                pieces.create(cluster_id=row.cluster_id, of_import=row, file=number, content=piece)
        row.files, row.payload = [name for name, _ in files], None
        row.save(update_fields=["files", "payload"])


def join(apps: Any, schema_editor: Any) -> None:
    pieces = apps.get_model("cluster", "ImportPiece").objects
    for row in apps.get_model("cluster", "Import").objects.exclude(files=[]).iterator(chunk_size=1):
        found = [
            (name, b"".join(bytes(piece.content) for piece in pieces.filter(of_import=row, file=number).order_by("id")))
            for number, name in enumerate(row.files)
        ]
        row.files, row.payload = [], msgspec.msgpack.encode(found)
        row.save(update_fields=["files", "payload"])
    pieces.all().delete()


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0007_import_pieces"),
    ]

    operations = [migrations.RunPython(cut, join)]
