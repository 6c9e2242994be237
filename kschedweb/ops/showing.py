"""`./ksched at CLUSTER WHEN …`: what the running service shows of a moment, in tables as kubectl prints them.

Lists that are asked by a query are printed as their own commands print them.
"""

import argparse
import json
import sys
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from kschedweb.ops import caching, listing
from kschedweb.ops.client import Client, Refused, cluster_id, connect
from kschedweb.ops.telling import counts, number_of, table
from kschedweb.query import LISTS
from scheduler_core.api.times import microseconds
from scheduler_core.apiserver.printing import cells
from scheduler_core.apiserver.tables import columns

KINDS = {"pods": "Pod", "pod": "Pod", "nodes": "Node", "node": "Node"}
NAMED = ("pod", "node", "objects")
AT_ONCE = 1000


def show(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Print what was there; 1 when the service does not tell."""
    what, words = options.what, options.query
    if what in LISTS and (words or what not in KINDS or options.csv or options.sort or options.columns):
        return listing.shown(LISTS[what], data_dir, options, options.at)
    if what == "cache" and not (options.csv or options.sort or options.columns):
        return caching.shown(data_dir, options, options.at)
    if what not in LISTS and (options.csv or options.sort or options.columns):
        print(f"ksched: {what} is no list: it takes no --csv, --sort and --columns", file=sys.stderr)
        return 2
    if len(words) != (what in NAMED):
        wanted = "a kind" if what == "objects" else "a name" if what in NAMED else "no name"
        print(f"ksched: {what} takes {wanted}", file=sys.stderr)
        return 2
    name = words[0] if words else None
    try:
        client = connect(data_dir)
        found = _asked(client, f"/api/clusters/{cluster_id(client, options.cluster)}", options.at, what, name)
    except Refused as problem:
        print(f"ksched: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(found) if options.json else "\n".join(told(what, found)))
    return 0


def _asked(client: Client, path: str, at: str, what: str, name: str | None) -> Any:
    """The service's answer; of objects all pages in one. Refused."""
    if what == "pending":
        return client.call("GET", f"{path}/pending?{urllib.parse.urlencode({'at': at})}")[1]
    query = {"at": at, "kind": KINDS.get(what) or name, "limit": AT_ONCE}
    found: dict[str, Any] = {}
    if what in ("pod", "node"):
        _, found = client.call("GET", f"{path}/objects?{urllib.parse.urlencode({**query, 'limit': 1})}")
        key = name or ""
        key = key if what == "node" or "/" in key else f"default/{key}"
        place = urllib.parse.quote(f"{path}/objects/{query['kind']}/{key}")
        _, one = client.call("GET", f"{place}?at={found['rv']}.{found['seq']}")
        return {**found, "objects": [one], "after": None}
    while found.get("after", "") is not None:
        more = {"after": found["after"]} if found else {}
        _, page = client.call("GET", f"{path}/objects?{urllib.parse.urlencode({**query, **more})}")
        found = {**page, "objects": [*found.get("objects", ()), *page["objects"]]}
        query["at"] = f"{page['rv']}.{page['seq']}"  # the same moment, however long ago it is meanwhile
    return found


def told(what: str, found: Mapping[str, Any]) -> Iterator[str]:
    """The answer in lines."""
    if what != "pending":
        yield from objects_table([each["manifest"] for each in found["objects"]], found["at"])
        return
    yield f"{number_of(found['pods'], 'pod')} without a node; {counts(found['queues']) or 'none is queued'}"
    rows = [(each["plugin"], each["reason"], each["pods"], each["nodes"]) for each in found["reasons"]]
    yield from table(("PLUGIN", "REASON", "PODS", "NODES"), rows, left=2) if rows else ()


def objects_table(manifests: Sequence[Mapping[str, Any]], at: str) -> list[str]:
    """Objects of one kind as kubectl shows them, with their namespaces; ages are counted to that time."""
    if not manifests:
        return ["none"]
    now = microseconds(datetime.fromisoformat(at))
    shown = [(place, one.name) for place, one in enumerate(columns(manifests[0]["kind"])) if one.priority == 0]
    has_namespace = any(each["metadata"].get("namespace") for each in manifests)
    head = [*(["NAMESPACE"] if has_namespace else []), *(name.upper() for _, name in shown)]
    rows = []
    for each in manifests:
        printed = cells(each, now)
        namespace = [each["metadata"].get("namespace", "")] if has_namespace else []
        rows.append([*namespace, *(str(printed[place]) for place, _ in shown)])
    return table(head, rows, left=len(head))
