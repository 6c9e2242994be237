"""Files of history in tests: made, opened, changed, and asked."""

from __future__ import annotations

import io
from typing import Any

import pytest

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.past import exporting, files, opening, planning
from kschedweb.scheduling.past.replaying import Replay

# For modules whose clusters come from files, or go there. What no log tells of is in no file.
FILED = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_kept", "patient_fence", "all_is_told"),
]


def exported(cluster: Cluster, **span: Any) -> bytes:
    return b"".join(exporting.written(planning.planned(cluster_id=cluster.pk, **span)))


def opened(content: bytes, name: str = "opened") -> Cluster:
    made = cluster_services.cluster_create(name=name)
    opening.history_open(cluster_id=made.pk, file=io.BytesIO(content))
    made.refresh_from_db()
    return made


def outcome(replay: Replay) -> tuple[Any, int, int]:
    return replay.difference, replay.cycles, replay.unproven


PATHS = (
    "snapshot",
    "summary",
    "pending?limit=5",
    "pending/pods?limit=7",
    "objects?kind=Pod&limit=9",
    "nodes/n001",
)
OWN = ("id", "cluster", "at", "next", "throughput")


def answered(client: Any, cluster: Cluster, path: str, at: str | None = None) -> Any:
    more = "" if at is None else f"{'&' if '?' in path else '?'}at={at}"
    answer = client.get(f"/api/clusters/{cluster.pk}/{path}{more}")
    return answer.status_code, own(answer.json())


def own(told: Any) -> Any:
    """Without what is each cluster's own: ids, addresses of pages, its settings, and the time of asking."""
    if isinstance(told, dict):
        return {name: own(value) for name, value in told.items() if name not in OWN}
    return list(map(own, told)) if isinstance(told, list) else told


def forged(content: bytes, part: str, change: Any) -> bytes:
    """The file with other rows of a part, and checksums that are right for them."""
    writer = files.Writer()
    made = []
    for name, rows in files.read(io.BytesIO(content)):
        if name == files.HEAD:
            made.append(writer.head(change(rows) if part == name else rows))
        else:
            if name == part:
                change(rows)
            made.append(writer.rows(files.part_named(name), rows))
    return b"".join([*made, writer.end()])


def swap(part: Any, name: str, value: Any, row: int = -1) -> Any:
    def change(rows: list[list[Any]]) -> None:
        rows[row][part.place(name)] = value

    return change
