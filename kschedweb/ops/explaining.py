"""`./ksched why`: what kept a pod from all nodes in its last attempt, with what was asked and what there was.

Of a pod that has a node, why it has that one and not another, or why it was evicted. Without a pod: what keeps those
that are pending.
"""

import argparse
import json
import sys
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kschedweb.ops.changed import told_changed
from kschedweb.ops.client import Client, Refused, cluster_id, connect
from kschedweb.ops.evicted import told_evicted
from kschedweb.ops.figures import amount_text, sentence
from kschedweb.ops.pending import told_pod
from kschedweb.ops.telling import number_of
from scheduler_core.explain.in_vain import REMEDY

MOST_ATTEMPTS = 1_000  # of a pod, among which one that chose a node is looked for
NOT_AGAIN = ("damaged", "gone", "not_replayable", "too_many")  # codes of refusals to make an attempt again
MOST_NEAR = 10  # nodes one reason away
HAS_NODE_OR_GONE = ("invalid", "not_found")


def why(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Print the pod's last attempt, or what keeps all; 1 when there is no attempt, or the service does not tell."""
    is_again, is_not = options.again or options.node is not None, options.other is not None
    questions = is_again + is_not + options.evicted + (options.since is not None)
    if options.pod is None and questions:
        print("ksched: --again, --node, --not, --evicted and --since are about a pod: name it", file=sys.stderr)
        return 1
    if questions > 1:
        print("ksched: --not, --evicted and --since each go alone, without --again and --node", file=sys.stderr)
        return 1
    namespace, _, name = (options.pod or "").rpartition("/")
    key = f"{namespace or 'default'}/{name}"
    try:
        client = connect(data_dir)
        path = f"/api/clusters/{cluster_id(client, options.cluster)}"
        if options.pod is None:
            _, pending = client.call("GET", f"{path}/pending")
            print(json.dumps(pending) if options.json else "\n".join(told_pending(pending)))
            return 0
        pod = "/".join(urllib.parse.quote(part, safe="") for part in key.split("/"))
        if options.evicted:
            return _evicted(client, f"{path}/pods/{pod}/evicted", key, is_json=options.json)
        _, answer = client.call("GET", f"{path}/pods/{pod}/attempts?limit={MOST_ATTEMPTS if is_not else 1}")
        if not answer["results"]:
            raise Refused(f"no attempt at the pod {key} is stored")
        if is_not:
            return _not(client, path, key, answer["results"], options)
        (attempt,) = answer["results"]
        if options.since is not None:
            return _since(client, path, f"{path}/pods/{pod}/attempts", attempt, options)
        if is_again:
            return _again(client, path, attempt, options)
        if options.json:
            print(json.dumps(attempt))
            return 0
        print("\n".join([*told(attempt), *_in_vain(client, f"{path}/pods/{pod}")]))
        if attempt["node_name"]:
            return _of_node(client, path, attempt, "", is_json=False)
        return _of_pending(client, f"{path}/pods/{pod}/why")
    except Refused as refusal:
        print(f"ksched: {refusal}", file=sys.stderr)
        return 1


def _in_vain(client: Client, path: str) -> list[str]:
    """What the pod and what it refers to wait for though no controller acts; nothing of a pod that is gone."""
    try:
        _, pod = client.call("GET", path)
    except Refused as refusal:
        if refusal.answer.get("code") != "not_found":
            raise
        return []
    found = [f"waits in vain: {one['message']}" for one in pod["in_vain"]]
    return [*found, REMEDY] if found else []


def _not(
    client: Client, path: str, key: str, attempts: Sequence[Mapping[str, Any]], options: argparse.Namespace
) -> int:
    """Print why the pod's last attempt that chose a node chose that one."""
    attempt = next((each for each in attempts if each["node_name"]), None)
    if attempt is None:
        raise Refused(f"no attempt at the pod {key} that chose a node is stored")
    if not options.json:
        print(next(told(attempt)))
    return _of_node(client, path, attempt, options.other, is_json=options.json)


def _of_node(client: Client, path: str, attempt: Mapping[str, Any], other: str, *, is_json: bool) -> int:
    """Print why an attempt chose its node; what its record says where it cannot be made again. 1 where they differ."""
    asked = f"{path}/attempts/{attempt['seq']}/why?" + (f"not={urllib.parse.quote(other, safe='')}&" if other else "")
    try:
        _, said = client.call("GET", f"{asked}again=true")
    except Refused as refusal:
        if refusal.answer.get("code") not in NOT_AGAIN:
            raise
        _, said = client.call("GET", f"{asked}again=false")
        print(f"ksched: of its record alone: {refusal}", file=sys.stderr)
    print(json.dumps(said) if is_json else "\n".join(told_why(said)))
    return 0 if said["difference"] is None else 1


def _of_pending(client: Client, path: str) -> int:
    """Print why a pod has no node, as far as it is told; 1 where the attempt made again is another."""
    try:
        _, said = client.call("GET", f"{path}?limit={MOST_NEAR}")
    except Refused as refusal:
        code = refusal.answer.get("code")
        if code in HAS_NODE_OR_GONE:
            return 0  # what became of the attempt is told
        if code not in NOT_AGAIN:
            raise
        _, said = client.call("GET", f"{path}?again=false")
        print(f"ksched: of its record alone: {refusal}", file=sys.stderr)
    for line in told_pod(said):
        print(line)
    return 0 if said["difference"] is None else 1


def _evicted(client: Client, path: str, key: str, *, is_json: bool) -> int:
    """Print why a pod was evicted; what its record says where the search cannot be made again. 1 where they differ."""
    try:
        _, said = client.call("GET", path)
    except Refused as refusal:
        if refusal.answer.get("code") not in NOT_AGAIN:
            raise
        _, said = client.call("GET", f"{path}?again=false")
        print(f"ksched: of its record alone: {refusal}", file=sys.stderr)
    print(json.dumps(said) if is_json else "\n".join(told_evicted(key, said)))
    return 0 if said["difference"] is None else 1


def _since(client: Client, path: str, attempts: str, attempt: Mapping[str, Any], options: argparse.Namespace) -> int:
    """Print what changed since an earlier attempt at the pod; 1 where one of the two is another made again."""
    asked = f"{path}/attempts/{attempt['seq']}/changed"
    if options.since:
        _, answer = client.call("GET", f"{attempts}?attempt={options.since}&limit=1")
        if not answer["results"]:
            raise Refused(f"no attempt {options.since:,} at this pod is stored")
        asked = f"{asked}?since={answer['results'][0]['seq']}"
    _, said = client.call("GET", asked)
    print(json.dumps(said) if options.json else "\n".join(told_changed(said)))
    return 0 if said["difference"] is None else 1


def told_why(said: Mapping[str, Any]) -> Iterator[str]:
    """Why a node was chosen and not another, a sentence a line."""
    other = said["other"]
    yield _decided(said)
    yield from (f"  {line}" for line in _of_other(said))
    apart = said["difference"]
    if apart is not None:
        yield f"  different: {apart['field']}; recorded: {apart['recorded']}; again: {apart['replayed']}"
    elif said["made_again"] and said["standing"] == "compared":
        yield f"  {_turned(said['turn'], other)}"
        yield from (
            f"  without the scores of {plugin} {other} alone would have been best" for plugin in said["without"]
        )


def _decided(said: Mapping[str, Any]) -> str:
    node = said["node"]
    match said["by"]:
        case "nominated":
            return f"the pod was nominated to {node}, which was tried first and fitted: no other was looked at"
        case "only":
            return f"{node} was the only feasible node of {said['looked_at']:,} looked at"
        case "first":
            return f"nobody scores: {node} was the first feasible node"
        case "draw":
            place = f"number {said['drawn']:,} in the order of the walk"
            return f"{said['tied']:,} nodes had the highest total; the draw fell on {node}, {place}"
    return f"{node} alone had the highest total of {number_of(said['feasible'], 'feasible node')}"


def _of_other(said: Mapping[str, Any]) -> Iterator[str]:
    """What became of the other node, and the totals of both."""
    other, status, totals = said["other"], said["status"], said["totals"]
    match said["standing"]:
        case "none":
            yield "there was no other node"
        case "absent":
            yield f"{other} was no node of the cluster at this attempt"
        case "refused":
            yield f"{other} was refused"
        case "leftOut":
            yield f"{other} was not among the nodes that PreFilter left"
        case "spare":
            yield f"{other} fitted, and enough feasible nodes had been found"
        case "unseen":
            of = f"{said['looked_at']:,} of {number_of(said['nodes_total'], 'node')} were"
            yield f"{other} was not looked at: {of}{_unseen(said)}"
    if status is not None:
        yield "  " + ": ".join(part for part in (status["plugin"], ", ".join(status["reasons"])) if part)
        yield from (f"    {sentence(each)}" for each in said["amounts"] or ())
    if totals is not None:
        yield from _compared(said["node"], other, totals)


def _unseen(said: Mapping[str, Any]) -> str:
    if not said["made_again"]:
        return ""
    return "; the pod fitted there" if said["status"] is None else "; it would have been refused"


def _compared(node: str, other: str, totals: Mapping[str, Any]) -> Iterator[str]:
    """The totals of both nodes and the plugins that tell them apart."""
    apart = totals["node"] - totals["other"]
    more = f"{abs(apart):,} {'more' if apart > 0 else 'less'}" if apart else "the same"
    of_all = "had every node been compared, " if totals["of_all"] else ""
    yield f"{of_all}{node} has {totals['node']:,}, {other} {totals['other']:,}: {more}"
    for part in totals["plugins"]:
        scores = f"{part['node']} against {part['other']}, weight {part['weight']:,}"
        yield f"  {part['difference']:+,}  {part['plugin']}: {scores}"
    if totals["by_extenders"]:
        yield f"  {totals['by_extenders']:+,}  extenders"
    if totals["of_all"]:
        yield f"the highest would have been {totals['best']:,}, of {number_of(totals['num_best'], 'node')}"


def _turned(turn: Mapping[str, Any] | None, other: str) -> str:
    if turn is None:
        return f"no other weight of one plugin, up to 100, gives {other} the highest total"
    change = f"with {turn['plugin']} at weight {turn['to']:,} instead of {turn['weight']:,}"
    if turn["outright"]:
        return f"{change} {other} alone has the highest total: made again, it is chosen"
    return f"{change} {other} shares the highest total: made again, the draw falls on {turn['node']}"


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
        subject = about["subject"]
        span = f" ask {amount_text(subject, least)} to {amount_text(subject, most)} of {subject}"
    return f"{asked['pods']:,} pods{span}; {nearest}"
