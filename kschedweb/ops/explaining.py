"""`./ksched why`: what kept a pod from all nodes in its last attempt, with what was asked and what there was.

Without a pod: what keeps those that are pending.
"""

import argparse
import json
import sys
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Client, Refused, cluster_id, connect
from kschedweb.ops.telling import number_of

Amounts = Mapping[str, Any]
_BYTES = ("memory", "ephemeral-storage")


def why(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Print the pod's last attempt, or what keeps all; 1 when there is no attempt, or the service does not tell."""
    if options.pod is None and (options.again or options.node):
        print("ksched: --again and --node are about a pod: name it", file=sys.stderr)
        return 1
    namespace, _, name = (options.pod or "").rpartition("/")
    try:
        client = connect(data_dir)
        path = f"/api/clusters/{cluster_id(client, options.cluster)}"
        if options.pod is None:
            _, pending = client.call("GET", f"{path}/pending")
            print(json.dumps(pending) if options.json else "\n".join(told_pending(pending)))
            return 0
        pod = "/".join(urllib.parse.quote(part, safe="") for part in (namespace or "default", name))
        _, answer = client.call("GET", f"{path}/pods/{pod}/attempts?limit=1")
        if not answer["results"]:
            raise Refused(f"no attempt at the pod {namespace or 'default'}/{name} is stored")
        (attempt,) = answer["results"]
        if options.again or options.node:
            return _again(client, path, attempt, options)
    except Refused as refusal:
        print(f"ksched: {refusal}", file=sys.stderr)
        return 1
    print(json.dumps(attempt) if options.json else "\n".join(told(attempt)))
    return 0


def _again(client: Client, path: str, attempt: Mapping[str, Any], options: argparse.Namespace) -> int:
    """Print the attempt made again, of the chosen node and the one that was named."""
    names = dict.fromkeys(
        name for name in (attempt["node_name"] or attempt["nominated_node_name"], options.node) if name
    )
    query = f"nodes={urllib.parse.quote(','.join(names))}" if names else "limit=1"
    _, made = client.call("GET", f"{path}/attempts/{attempt['seq']}/again?{query}")
    print(json.dumps(made) if options.json else "\n".join(told_again(made)))
    return 0 if made["difference"] is None else 1


def told_again(made: Mapping[str, Any]) -> Iterator[str]:
    """An attempt made again in lines: whether it is the stored one, then each node with what plugins say of it."""
    apart = made["difference"]
    if apart is not None:
        yield f"different: {apart['field']}; recorded: {apart['recorded']}; again: {apart['replayed']}"
    else:
        yield "made again: identical to its record"
    for node in made["nodes"]:
        yield f"{node['node']}{'' if node['looked_at'] else ' (not looked at then)'}"
        if node["status"] is not None:
            yield f"  {node['status']['plugin']}: {', '.join(node['status']['reasons'])}"
        yield from (f"    {sentence(each)}" for each in node["amounts"] or ())
        scores, total = node["scores"], node["total"]
        if not scores and node["scores_of_all"]:
            scores, total = node["scores_of_all"], node["total_of_all"]
            yield "  had every node been compared:"
        for plugin, score in scores.items():
            raw, normalized, weighted = score["raw"], score["normalized"], score["weighted"]
            yield f"  {plugin}: raw {raw:,}, normalized {normalized}, weighted {weighted}"
        if scores:
            yield f"  total {total}"


def told(attempt: Mapping[str, Any]) -> Iterator[str]:
    """The attempt in lines: its result, its message, and below each reason what was asked and what there was."""
    place = f" on {attempt['node_name']}" if attempt["node_name"] else ""
    yield f"{attempt['namespace']}/{attempt['name']}: attempt {attempt['last_attempt']}, {attempt['result']}{place}"
    if attempt["message"]:
        yield attempt["message"]
    for rejection in attempt["rejections"]:
        yield f"  {rejection['count']:>6}  {rejection['plugin']}: {rejection['reason']}"
        yield from (f"          {sentence(each)}" for each in rejection["amounts"])


def told_pending(pending: Mapping[str, Any]) -> Iterator[str]:
    """What keeps pods pending in lines: how many there are, then each reason with what is asked and what there is."""
    unqueued = pending["unqueued"]
    parts = [f"{pods:,} {queue}" for queue, pods in pending["queues"].items()]
    parts += [f"{pods:,} for the scheduler {name}" for name, pods in unqueued["no_profile"].items()]
    parts += [f"{unqueued['unseen']:,} not seen yet"] if unqueued["unseen"] else []
    yield f"{pending['pods']:,} pending{': ' if parts else ''}{', '.join(parts)}"
    for reason in pending["reasons"]:
        yield f"  {reason['pods']:>6}  {reason['plugin']}: {reason['reason']}"
        yield from (f"          {_asked_by(each)}" for each in reason["amounts"])


def _asked_by(asked: Mapping[str, Any]) -> str:
    about, least, most = asked["amounts"], asked["asked_least"], asked["asked_most"]
    nearest = f"{asked['pod']}: {sentence(about)}"
    if asked["pods"] == 1:
        return nearest
    span = ""
    if least != most:
        span = f" ask {_amount(about['subject'], least)} to {_amount(about['subject'], most)} of {about['subject']}"
    return f"{asked['pods']:,} pods{span}; {nearest}"


def sentence(about: Amounts) -> str:
    """What was asked and what there was of one subject."""
    subject, node, pod = about["subject"], about["node"], about["pod"] or "another pod"
    is_one = about["nodes"] == 1
    nodes = number_of(about["nodes"], "node")
    named = node if is_one else f"{nodes} such as {node}"
    match about["kind"]:
        case "resource":
            return _lack(about)
        case "pods":
            return f"all places for pods are taken; {node} has {about['capacity']}"
        case "taint" | "cordon":
            return f"not tolerated: {subject}, on {named}"
        case "label":
            return f"wanted: {subject}; on {node if is_one else nodes}: {_values(about) or 'others'}"
        case "port" | "disk":
            return f"{subject} is taken on {'' if is_one else f'{nodes}; on '}{node} by {pod}"
        case "spread":
            fewest = f"the emptiest has {about['there']}, maxSkew is {about['asked']}"
            return f"{subject}: {fewest}; too full on {node if is_one else nodes}: {_values(about)}"
        case "near":
            return f"{subject}: {number_of(about['there'], 'such pod')} in all, none near {named}"
        case "apart" | "keptApart":
            return f"{subject}: {pod} stands against {node}{'' if is_one else f', one of {nodes}'}"
        case "limit":
            return f"asks {about['asked']} of {subject}, most left {about['there']} of {about['capacity']} on {node}"
        case "claim":
            return f"{subject} is used by {pod}"
        case "noKey":
            return f"no label {subject} on {named}"
        case "volume":
            return f"cannot be reached from {named}: {subject}"
    return f"{subject}: {named}"


def _lack(about: Amounts) -> str:
    """How much is asked of a resource, the most that is free, and of nodes that lack nothing else the nearest."""
    subject, asked, only = about["subject"], about["asked"], about["only"]
    text = f"asks {_amount(subject, asked)}, most free {_amount(subject, about['there'])} on {about['node']}"
    if not only:
        return text
    lack, nearest = _amount(subject, asked - about["nearest"]), about["nearest_node"]
    if only == 1:
        return f"{text}; {nearest} lacks only {subject}, by {lack}"
    return f"{text}; {only:,} lack only {subject}, the nearest by {lack} ({nearest})"


def _values(about: Amounts) -> str:
    values = [f"{each['value']} ({each['count']:,})" for each in about["values"]]
    values += [number_of(about["others"], "more value")] if about["others"] else []
    return ", ".join(values + ([f"no such label ({about['without']:,})"] if about["without"] else []))


def _amount(resource: str, value: int) -> str:
    """CPU in cores, or thousandths below one; bytes with a unit only where it divides them."""
    if resource == "cpu":
        return f"{value}m" if 0 < abs(value) < 1000 else str(value / 1000).removesuffix(".0")
    if resource in _BYTES or resource.startswith("hugepages-"):
        for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
            if value and value % size == 0:
                return f"{value // size:,}{unit}"
    return f"{value:,}"
