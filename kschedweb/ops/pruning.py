"""`./ksched prune`: clears away the past of the running service's clusters over the REST API, and says what went."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Client, Refused, connect
from kschedweb.ops.telling import counts, no_cluster


def prune(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Ask again until a cluster has nothing more to give; 1 when something could not be done."""
    limits = {name: value for name, value in (("hours", options.hours), ("megabytes", options.mb)) if value is not None}
    try:
        client = connect(data_dir)
        known = list(client.all("/api/clusters"))
        clusters = [one for one in known if options.cluster in (None, one["name"])]
        if not clusters:
            raise Refused(no_cluster(options.cluster, (one["name"] for one in known)))
        done = {}
        for cluster in clusters:
            done[cluster["name"]] = _pruned(client, cluster["id"], limits)
            if not options.json:
                print(told(cluster["name"], done[cluster["name"]]))
        if options.json:
            print(json.dumps(done))
    except Refused as refusal:
        print(f"ksched: {refusal}", file=sys.stderr)
        return 1
    return 0


def told(name: str, done: dict[str, Any]) -> str:
    """One line for a cluster."""
    if gone := counts(done["rows"]):
        return f"{name}: cut at {done['cut_at']}; rows gone: {gone}"
    if done["waits_for_checkpoint"]:
        return f"{name}: nothing went; there is no checkpoint yet that is old enough to be cut at"
    return f"{name}: nothing to clear away"


def _pruned(client: Client, cluster_id: int, limits: dict[str, float]) -> dict[str, Any]:
    rows: dict[str, int] = {}
    while True:
        done: dict[str, Any] = client.post(f"/api/clusters/{cluster_id}/prune", limits)
        for table, count in done["rows"].items():
            rows[table] = rows.get(table, 0) + count
        if not done["more"]:
            return done | {"rows": rows}
