"""What the scheduler has made of a cluster so far: how many pods it tried, and a digest over each one's first attempt.

Read from the database by the command line, on the machine where the service runs.
"""

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.5
STALLED_SECONDS = 60.0
ENVIRONMENT_FILE = "environment.json"  # what `up` gave its children, 0600


@dataclass(frozen=True, slots=True)
class Outcome:
    """Pods of a cluster that are not over, by what became of them."""

    bound: int
    pending: int  # tried, and without a node
    gated: int
    untried: int  # neither, or its binding is under way

    def __str__(self) -> str:
        text = f"{self.bound} pods bound, {self.pending} pending with a reason, {self.gated} gated"
        return f"{text}, {self.untried} not tried" if self.untried else text


def use_service_of(data_dir: Path) -> None:
    """Make Django speak with the databases of the service that runs on a data directory."""
    os.environ.update(json.loads((data_dir / ENVIRONMENT_FILE).read_text()))
    import django

    django.setup()


def wait_until_tried(cluster_id: int) -> Outcome:
    """Until every pod was tried and bound if it got a node, or nothing has changed for a minute."""
    last, changed_at = outcome(cluster_id), time.monotonic()
    while last.untried and time.monotonic() - changed_at < STALLED_SECONDS:
        time.sleep(POLL_SECONDS)
        found = outcome(cluster_id)
        if found != last:
            last, changed_at = found, time.monotonic()
    return last


def outcome(cluster_id: int) -> Outcome:
    """Count the pods of a cluster."""
    from django.db.models import Count, OuterRef, Q, Subquery

    from kschedweb.cluster.models import Pod
    from kschedweb.traces.models import Attempt

    newest = Attempt.objects.filter(cluster_id=OuterRef("cluster_id"), pod_uid=OuterRef("uid")).order_by("-seq")
    pods = Pod.objects.filter(cluster_id=cluster_id, deletion_timestamp=None)
    placed = ~Q(node_name="")
    waiting = pods.filter(node_name="", gated=False).annotate(last=Subquery(newest.values("result")[:1]))
    counts = pods.aggregate(bound=Count("pk", filter=placed), gated=Count("pk", filter=Q(gated=True)))
    open_counts = waiting.aggregate(
        pending=Count("pk", filter=Q(last__isnull=False) & ~Q(last="scheduled")),
        untried=Count("pk", filter=Q(last__isnull=True) | Q(last="scheduled")),
    )
    return Outcome(**counts, **open_counts)


def first_attempts_digest(cluster_id: int) -> str:
    """Over namespace, name, node and reasons of each pod's first attempt, in the order of names."""
    from kschedweb.traces.models import Attempt

    fields = ("namespace", "name", "result", "node_name", "rejections")
    first = Attempt.objects.filter(cluster_id=cluster_id).order_by("pod_uid", "seq").distinct("pod_uid")
    lines = [_line(*row) for row in first.values_list(*fields)]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _line(namespace: str, name: str, result: str, node: str, rejections: list[dict[str, Any]]) -> str:
    reasons = sorted([entry["plugin"], entry["reason"], entry["count"]] for entry in rejections)
    return json.dumps([namespace, name, result, node, reasons], separators=(",", ":"))
