"""Clusters to be scheduled under faults: small ones made here from a seed, and the recorded one where it is at hand."""

import json
import random
from dataclasses import dataclass
from typing import Any

import pytest

from kschedweb.environment import ROOT
from tests.builders import make_manifest, make_node, make_pod

OPENB = ROOT.parent / "shared" / "data" / "openb"
ZONES = ("a", "b", "c")
SIZES = (("250m", "256Mi"), ("500m", "1Gi"), ("1", "2Gi"), ("2", "1Gi"), ("3", "6Gi"))
# Nobody preempts: what is left pending is what fits nowhere.
CLASSES = [
    make_manifest("PriorityClass", name, value=value, globalDefault=value == 0, preemptionPolicy="Never")
    for name, value in (("usual", 0), ("urgent", 10))
]
IN_ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In"}


@dataclass(frozen=True, slots=True)
class Workload:
    """Files to import, and the keys of the objects they hold."""

    files: list[tuple[str, bytes]]
    nodes: frozenset[str]
    pods: frozenset[str]

    def parted(self) -> tuple["Workload", list[dict[str, Any]]]:
        """The same without its pods, and those, to be sent one after the other."""
        items = json.loads(self.files[0][1])["items"]
        others = {"apiVersion": "v1", "kind": "List", "items": [one for one in items if one["kind"] != "Pod"]}
        files = [("cluster.json", json.dumps(others).encode())]
        return Workload(files, self.nodes, frozenset()), [one for one in items if one["kind"] == "Pod"]


def mixed(*, nodes: int, pods: int, seed: int) -> Workload:
    """Pods of several sizes, affinities and tolerations, about a tenth of which fits nowhere in the end."""
    chance = random.Random(seed)
    found: list[dict[str, Any]] = []
    for i in range(nodes):
        node = make_node(f"n{i:03}").zone(ZONES[i % 3]).label(disk="ssd" if i % 4 == 0 else "hdd")
        node.capacity(cpu=str(chance.choice((4, 8, 8, 16))), memory=f"{chance.choice((8, 16, 24))}Gi", pods="20")
        if i % 10 == 0:
            node.taint("team", "batch")
        found.append(node.manifest())
    for i in range(pods):
        cpu, memory = chance.choice(SIZES)
        pod = make_pod(f"p{i:04}").req(cpu=cpu, memory=memory)
        pod.spec(priorityClassName=chance.choice(("usual", "usual", "urgent")))
        kind = chance.random()
        if kind < 0.15:
            pod.node_selector(disk="ssd")
        elif kind < 0.35:
            pod.required_node_affinity({"matchExpressions": [{**IN_ZONE, "values": [chance.choice(ZONES)]}]})
        elif kind < 0.5:
            pod.preferred_node_affinity(50, {"matchExpressions": [{**IN_ZONE, "values": [chance.choice(ZONES)]}]})
        elif kind < 0.6:
            pod.toleration("team", value="batch", effect="NoSchedule")
        elif kind < 0.62:
            pod.node_selector(disk="tape")  # nobody has it
        found.append(pod.manifest())
    return _of(found)


def roomy(*, nodes: int, pods: int) -> Workload:
    """Room for all of them, wherever each goes."""
    found = [make_node(f"n{i:03}").capacity(cpu="64", memory="256Gi", pods="110").manifest() for i in range(nodes)]
    sizes = (("250m", "128Mi"), ("500m", "256Mi"), ("1", "512Mi"))
    for i in range(pods):
        cpu, memory = sizes[i % 3]
        found.append(make_pod(f"p{i:04}").req(cpu=cpu, memory=memory).manifest())
    return _of(found)


def openb() -> Workload:
    """A production cluster's nodes and tasks."""
    files = [OPENB / "openb_node_list_all_node.csv", OPENB / "openb_pod_list_default.csv"]
    if not all(path.exists() for path in files):
        pytest.skip(f"the recorded cluster is not at hand: {OPENB.name} is missing beside the project")
    names = [[line.partition(",")[0] for line in path.read_text().splitlines()[1:]] for path in files]
    return Workload(
        files=[(path.name, path.read_bytes()) for path in files],
        nodes=frozenset(names[0]),
        pods=frozenset(f"default/{name}" for name in names[1]),
    )


def _of(manifests: list[dict[str, Any]]) -> Workload:
    document = {"apiVersion": "v1", "kind": "List", "items": [*CLASSES, *manifests]}
    names = {
        kind: frozenset(
            "/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"])))
            for one in manifests
            if one["kind"] == kind
        )
        for kind in ("Node", "Pod")
    }
    return Workload([("cluster.json", json.dumps(document).encode())], names["Node"], names["Pod"])
