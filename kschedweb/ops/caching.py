"""`./ksched cache CLUSTER`: what the scheduler's cache holds, and what its last snapshot changed; `at` as it was."""

import argparse
import json
import sys
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Client, Refused, cluster_id, connect
from kschedweb.ops.telling import number_of, table

NAMED = 5  # nodes in one sentence


def show(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Print the cache as it is; 1 when the service does not tell."""
    return shown(data_dir, options)


def shown(data_dir: Path, options: argparse.Namespace, at: str | None = None) -> int:
    """Print the cache, as it is or as it was `at` a moment."""
    if len(options.query) > 1:
        print("ksched: cache takes one part of names", file=sys.stderr)
        return 2
    asked = {"limit": str(options.limit)} | ({"at": at} if at is not None else {})
    asked |= {"find": options.query[0]} if options.query else {}
    try:
        client = connect(data_dir)
        found = _asked(client, f"/api/clusters/{cluster_id(client, options.cluster)}/cache", asked)
    except Refused as problem:
        print(f"ksched: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(found) if options.json else "\n".join(told(found, options.limit)))
    return 0


def _asked(client: Client, url: str, asked: Mapping[str, str]) -> Any:
    return client.call("GET", f"{url}?{urllib.parse.urlencode(asked)}")[1]


def told(found: Mapping[str, Any], limit: int) -> Iterator[str]:
    """The answer in lines: figures, then nodes, then pods."""
    snapshot, nodes, pods = found["snapshot"], found["nodes"], found["pods"]
    pods_there = f"{number_of(found['assumed'], 'pod')} assumed, {found['confirmed']:,} confirmed"
    yield f"at {found['rv']}.{found['seq']}: {pods_there}"
    yield (
        f"cache: {number_of(found['nodes_total'], 'node')}, generation {found['generation']:,};"
        f" last snapshot: {number_of(snapshot['nodes'], 'node')}, generation {snapshot['generation']:,},"
        f" {snapshot['behind']:,} behind"
    )
    yield from _changes(snapshot, nodes)
    if nodes:
        yield ""
        yield from table(
            ("NODE", "LAST SNAPSHOT", "CACHE", "SNAPSHOT", "PODS", "ASSUMED"), [*map(_node, nodes[:limit])], left=2
        )
        yield from _more(len(nodes), limit, "node")
    if pods:
        yield ""
        head = ("POD", "NODE", "STAGE", "ASSUMED", "ATTEMPT", "CONFIRMED", "WAITS FOR")
        yield from table(head, [*map(_pod, pods)], left=len(head))
        yield from _more(found["pods_found"], len(pods), "pod")


def _changes(snapshot: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the last update of the snapshot did."""
    if snapshot["changed"] is None:
        yield "what the last snapshot changed is not known until the next cycle"
        return
    names = _named([node["name"] for node in nodes if node["changed"]], snapshot["changed"])
    yield f"it took over {number_of(snapshot['changed'], 'node')} changed after generation {snapshot['since']:,}{names}"
    if snapshot["dropped"]:
        yield f"it took out {number_of(len(snapshot['dropped']), 'node')}{_named(snapshot['dropped'], 0)}"


def _named(names: Sequence[str], total: int) -> str:
    if not names:
        return ""
    more = max(total, len(names)) > NAMED
    return f": {', '.join(names[:NAMED])}{', …' if more else ''}"


def _node(node: Mapping[str, Any]) -> list[str | int]:
    here, there = node["generation"], node["snapshot_generation"]
    state = {True: "changed", False: "as before", None: "-"}[node["changed"]]
    if node["is_ghost"]:
        state = "object gone"
    elif here is None:
        state = "gone since"
    elif there is None:
        state = "not in it"
    elif here != there:
        state += ", behind"
    numbers = [f"{number:,}" if number is not None else "-" for number in (here, there)]
    return [node["name"], state, *numbers, node["pods"], node["assumed"]]


def _pod(pod: Mapping[str, Any]) -> list[str]:
    number = "-" if pod["attempt"] is None else str(pod["attempt"])
    waits = ", ".join(pod["awaits"]) or {"binding": "its binding", "bound": "its confirmation"}.get(pod["stage"], "-")
    return [
        pod["key"],
        pod["node"],
        pod["stage"],
        _time(pod["assumed_at"]),
        number,
        _time(pod["confirmed_at"]),
        f"{waits}, until {_time(pod['until'])}" if pod["until"] else waits,
    ]


def _time(text: str | None) -> str:
    return "-" if text is None else text[:19].replace("T", " ")


def _more(total: int, shown: int, word: str) -> Iterator[str]:
    if total > shown:
        yield f"{shown:,} of {number_of(total, word)}"
