"""`./ksched fits`: what would make a pod fit, all that wait of an owner, or a manifest that is not in the cluster.

Exit codes, for pipelines: 0 the pod fits as it is, 1 it does not, 2 nobody could say. With `--apply`: 0 it was carried
out, or there was no need; 2 it was not.
"""

import argparse
import json
import sys
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Client, Refused, cluster_id, connect
from kschedweb.ops.telling import number_of

FITS, DOES_NOT, UNKNOWN = 0, 1, 2
MOST_NAMED = 5  # of those that have to go, and of nodes
COPY_SECONDS = 600.0  # that a large cluster may take to be copied
POLL_SECONDS = 1.0


def fits(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Print what would make the pod fit; whether it fits is the exit code."""
    if sum(each is not None for each in (options.pod, options.file, options.owner)) != 1:
        print("ksched: name a pod, an owner with --owner, or a manifest with -f", file=sys.stderr)
        return UNKNOWN
    if options.apply is not None and (options.file is not None or options.at):
        print("ksched: --apply is for pods that are in the cluster now", file=sys.stderr)
        return UNKNOWN
    if options.fork and options.dry_run:
        print("ksched: --dry-run makes no copy: leave --fork out", file=sys.stderr)
        return UNKNOWN
    if options.apply is None and (options.fork or options.dry_run):
        print("ksched: --fork and --dry-run need --apply", file=sys.stderr)
        return UNKNOWN
    try:
        client = connect(data_dir)
        said = _asked(client, options)
        if options.apply is not None and not said["node"]:
            done = _applied(client, options, said)
            print(json.dumps(done) if options.json else "\n".join(_told_applied(done)))
            return FITS
    except Refused as refusal:
        print(f"ksched: {refusal}", file=sys.stderr)
        return UNKNOWN
    print(json.dumps(said) if options.json else "\n".join(told_fits(said)))
    return FITS if said["node"] else DOES_NOT


def _asked(client: Client, options: argparse.Namespace) -> Any:
    cluster = cluster_id(client, options.cluster)
    wanted = {"limit": max(options.limit, options.apply or 0), "costs": ",".join(options.cost or ())}
    query = urllib.parse.urlencode(wanted | ({"at": options.at} if options.at else {}))
    if options.file is None:
        return client.call("GET", f"{_about(cluster, options)}?{query}")[1]
    try:
        body = sys.stdin.buffer.read() if str(options.file) == "-" else options.file.read_bytes()
    except OSError as error:
        raise Refused(f"{options.file}: {error.strerror}") from None
    return client.call("POST", f"/api/clusters/{cluster}/fits?{query}", body, "application/yaml")[1]


def _about(cluster: int, options: argparse.Namespace) -> str:
    """The address of the pod's answer, or of the owner's."""
    path = f"/api/clusters/{cluster}"
    if options.owner is not None:
        owned, _, name = options.owner.rpartition("/")
        namespace, _, kind = owned.rpartition("/")
        return f"{path}/workloads/{_path(kind, namespace or 'default', name)}/fits"
    namespace, _, name = options.pod.rpartition("/")
    return f"{path}/pods/{_path(namespace or 'default', name)}/fits"


def _applied(client: Client, options: argparse.Namespace, said: Mapping[str, Any]) -> dict[str, Any]:
    """What was written for a suggestion, in the cluster or in a copy of it that is made for it. Refused."""
    known = said["suggestions"]
    if not 1 <= options.apply <= len(known):
        raise Refused(f"there is no suggestion {options.apply}, of {len(known)}")
    chosen = known[options.apply - 1]
    changes = [{name: value for name, value in each.items() if name != "step"} for each in chosen["changes"]]
    wanted = {"changes": changes, "dry_run": options.dry_run}
    cluster = cluster_id(client, options.cluster)
    if not options.fork:
        told = wanted if options.owner is not None else wanted | {"uid": said["uid"]}
        return {"fork": None, "suggestion": chosen, **client.post(_about(cluster, options), told)}
    made = client.post("/api/forks", {"cluster_id": cluster, "name": options.fork})
    until = time.monotonic() + COPY_SECONDS
    while True:
        try:
            found = client.post(_about(made["id"], options), wanted)
            return {"fork": {"id": made["id"], "name": made["name"]}, "suggestion": chosen, **found}
        except Refused as refusal:
            if refusal.answer["code"] != "not_found" or time.monotonic() > until:  # else it is being copied
                raise
        time.sleep(POLL_SECONDS)


def _told_applied(done: Mapping[str, Any]) -> Iterator[str]:
    if done["fork"]:
        yield f"in {done['fork']['name']} (id {done['fork']['id']}), a copy:"
    yield "; ".join(map(change_text, done["suggestion"]["changes"]))
    for each in done["writes"]:
        name = f"{each['namespace']}/{each['name']}" if each["namespace"] else each["name"]
        yield f"    {each['verb']} {each['kind']} {name}"
    yield f"    then on {done['node']}"


def _path(*parts: str) -> str:
    return "/".join(urllib.parse.quote(part, safe="") for part in parts)


def told_fits(said: Mapping[str, Any]) -> Iterator[str]:
    """What would make a pod fit: a line for each suggestion, and what goes with it below."""
    key, of = f"{said['namespace']}/{said['name']}", number_of(said["nodes"], "node")
    together = len(said["pods"]) > 1
    if said["node"]:
        yield f"{key} fits as it is: {_nodes(said['places']) if together else said['node']} of {of}"
        return
    fit = f"of {number_of(len(said['pods']), 'pod')} {len(said['places'])} fit" if together else f"fits on none of {of}"
    yield f"{key} {'has gates' if said['is_gated'] else fit}"
    found = said["preemption"]
    if found is not None:
        yield f"  preemption would make room on {found['node']}: {_listed(found['victims'])}{_violating(found)}"
    if not said["suggestions"]:
        yield "  neither one change nor two are known to be enough"
    for each in said["suggestions"]:
        others = f", fits on {each['feasible']:,}" if each["feasible"] > 1 else ""
        where = _nodes(each["places"]) if each["places"] else f"{each['node']}{others}"
        yield f"  {each['cost']:>4}  {'; '.join(map(change_text, each['changes']))}"
        yield f"        then on {where}{_disturbed(each)}"


def _nodes(places: Sequence[Mapping[str, Any]]) -> str:
    """Nodes that pods get, with how many where these are several."""
    counted = Counter(each["node"] for each in places)
    return _listed([f"{node} ({pods:,})" if pods > 1 else node for node, pods in counted.items()])


def change_text(change: Mapping[str, Any]) -> str:
    """A change in words."""
    field, old, new, node = change["field"], change["old"], change["new"], _listed([change["node"], *change["more"]])
    match change["kind"]:
        case "gate":
            return f"lift the gate {old}"
        case "quota":
            return f"enlarge {field} of {change['of']} from {old} to {new}"
        case "devices":
            return f"ask for {new} instead of {old}: {field} of {change['of']}"
        case "deviceClass" | "storageClass":
            return f"{field} of {change['of']}: {new} instead of {old}"
        case "claim" | "spread":
            return f"{field}: {new} instead of {old}"
        case "uncordon":
            return f"uncordon {node}"
        case "maxSkew":
            return f"raise {field} from {old} to {new}"
        case "toleration":
            return f"tolerate {new}"
        case "request":
            return f"lower {field} from {old} to {new}"
        case "nodeSelector" | "hostPort":
            return f"drop {field}: {old}"
        case "nodeAffinity" if new != "preferred":
            return f"drop {field}: {old}"
        case "relabel":
            label = field.removeprefix("metadata.labels.")
            return f"label {node} {label}={new}" if new else f"take the label {label} off {node}"
        case "evict":
            return f"evict {_listed(change['pods'])} from {node}"
        case "priority":
            return f"raise the priority from {old} to {new}"
        case "addNode":
            return f"add {len(change['more']) + 1:,} nodes like {new}" if change["more"] else f"add a node like {new}"
    return f"only prefer {field}"


def _disturbed(suggestion: Mapping[str, Any]) -> str:
    if not suggestion["victims"] or any(each["kind"] == "evict" for each in suggestion["changes"]):
        return ""
    return f"; preempts {_listed(suggestion['victims'])}{_violating(suggestion)}"


def _violating(found: Mapping[str, Any]) -> str:
    return f", {number_of(found['violations'], 'disruption')} too many for budgets" if found["violations"] else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
