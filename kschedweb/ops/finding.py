"""`./ksched find`: asks the running service what has a name, over the REST API, and prints it as a table."""

import argparse
import json
import sys
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Refused, cluster_id, connect
from kschedweb.ops.telling import number_of, table

HEAD = ("KIND", "CLUSTER", "NAMESPACE", "NAME", "STATE", "ABOUT")


def find(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Print what is found, the best first; 1 when nothing is or the service refuses."""
    query: dict[str, Any] = {"q": options.word, "limit": options.limit}
    if options.kind:
        query["kinds"] = ",".join(options.kind)
    try:
        client = connect(data_dir)
        if options.cluster is not None:
            query["cluster"] = cluster_id(client, options.cluster)
        _, answer = client.call("GET", f"/api/search?{urllib.parse.urlencode(query)}")
    except Refused as refusal:
        if options.json:
            print(json.dumps({"error": refusal.answer}, ensure_ascii=False))
        else:
            print(f"ksched: {refusal}", file=sys.stderr)
        return 1
    groups = answer["groups"]
    if options.json:
        print(json.dumps(answer, ensure_ascii=False))
    elif groups:
        print("\n".join(table(HEAD, [_row(hit) for group in groups for hit in group["hits"]], left=len(HEAD))))
        if any(group["more"] for group in groups):
            print(f"there is more: --limit shows more than {options.limit} of a kind")
    else:
        print(f"ksched: nothing is called {options.word}", file=sys.stderr)
    return 0 if groups else 1


def _row(hit: Mapping[str, Any]) -> tuple[str, ...]:
    pods = hit["pods"]
    about = [hit["of"], f"on {hit['node']}" if hit["node"] else "", "" if pods is None else number_of(pods, "pod")]
    state = hit["state"].replace("_", " ")
    return hit["kind"], hit["cluster"], hit["namespace"], hit["name"], state, ", ".join(filter(None, about))
