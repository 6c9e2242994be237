"""`./ksched clusters`: the clusters of the running service, and what each of them is."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Refused, connect
from kschedweb.ops.telling import table


def clusters(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Print them by name; 1 when the service does not answer."""
    try:
        found = connect(data_dir).all("/api/clusters")
    except Refused as refusal:
        print(f"ksched: {refusal}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(found))
        return 0
    rows = [(each["name"], str(each["id"]), what(each), each["pace"], each["description"] or "-") for each in found]
    print("\n".join(table(("NAME", "ID", "KIND", "SCHEDULER", "DESCRIPTION"), sorted(rows), left=5)))
    return 0


def what(cluster: Mapping[str, Any]) -> str:
    """What a cluster is, in a word."""
    if cluster["is_record"]:
        return "record"
    if cluster["is_mirror"]:
        return "mirror"
    return "simulated" if cluster["lifecycle_mode"] == "simulate" else "frozen"
