"""Sequences of operations on the scheduling queue of our own in the form of the recorded ones, for each family.

What comes next depends on where pods are, so a sequence is made by running it: the queue of our engine is led through
it while it is written down.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.builders import make_manifest, make_node, make_pod
from tools.conformance.queue import QueueReplay

Json = dict[str, Any]
SCENARIOS, OPERATIONS = 3, 60
BLAMED = (
    "NodeResourcesFit",
    "InterPodAffinity",
    "TaintToleration",
    "PodTopologySpread",
    "NodeAffinity",
    "VolumeBinding",
)
# What happens how often, by family; the rest of the operations is common to all.
_USUAL = {"create": 6, "pop": 8, "fail": 6, "advance": 5, "flush_backoff": 3, "update": 3, "delete": 1, "node": 3}
FAMILIES: dict[str, dict[str, int]] = {
    "order": {"create": 9, "pop": 9},
    "backoff": {"fail": 9, "advance": 8, "flush_backoff": 6},
    "gates": {"ungate": 6},
    "hints": {"node": 6, "bind": 4, "move": 4},
    "inflight": {"node": 6, "assume": 4, "forget": 4, "done": 3},
    "flush": {"flush_leftover": 6, "advance": 8},
    "nominator": {"nominate": 5, "unnominate": 2, "nominated_for": 4},
    "mixed": {"assume": 3, "forget": 2, "bind": 2, "activate": 2, "flush_leftover": 2, "nominate": 2, "pending": 1},
    "edge": {"activate": 5, "done": 4, "q_fail": 4, "delete": 4},
    "hintsoff": {"bind": 4, "node": 5, "flush_leftover": 3},
}


def scenarios(family: str) -> list[Json]:
    """The scenarios of a family, always the same."""
    return [_Walk(family, number).scenario() for number in range(SCENARIOS)]


class _Walk:
    def __init__(self, family: str, number: int) -> None:
        self._family = family
        self._dice = random.Random(f"queue/{family}/{number}")
        gates: Json = {"SchedulerQueueingHints": False} if family == "hintsoff" else {}
        if family in ("edge", "mixed") and number == 0:
            gates["SchedulerPopFromBackoffQ"] = False
        names = [make_manifest("Namespace", name) for name in ("default", "other")]
        self._written: Json = {
            "name": f"{family}-{number}",
            "config": {
                "initialBackoffSeconds": 1,
                "maxBackoffSeconds": self._dice.choice((4, 10)),
                "maxInUnschedulableSeconds": self._dice.choice((60, 300)),
                "gates": gates,
                "profiles": [],
            },
            "start": self._dice.randrange(10_000),
            "objects": [*names, make_node("n0").capacity(cpu="1").manifest()],
            "ops": [],
        }
        self._version = 0
        for obj in self._written["objects"]:
            self._stamp(obj)
        self._pods: dict[str, Json] = {}  # stored and unassigned, by uid
        self._nodes = {"n0": self._written["objects"][-1]}
        self._replay = QueueReplay(self._written)
        self._replay.step({"op": "init"})

    def scenario(self) -> Json:
        weights = _USUAL | FAMILIES[self._family]
        while len(self._written["ops"]) < OPERATIONS:
            kind = self._dice.choices([*weights], [*weights.values()])[0]
            op = getattr(self, f"_{kind}")()
            if op is not None:
                self._written["ops"].append(copy.deepcopy(op))
                self._replay.step(op)
        return self._written

    # Each gives an operation, or None where there is nothing to do it with.

    def _create(self) -> Json:
        name = f"p{len(self._written['ops'])}"
        pod = make_pod(name, namespace=self._dice.choice(("default", "default", "other")))
        pod.label(app=self._dice.choice(("web", "db"))).priority(self._dice.choice((0, 0, 10)))
        pod.req(cpu=self._dice.choice(("500m", "2", "8")))
        if self._dice.random() < (0.5 if self._family == "gates" else 0.1):
            pod.gate("a", *(("b",) if self._dice.random() < 0.4 else ()))
        if self._dice.random() < 0.3:
            pod.pod_affinity("kubernetes.io/hostname", {"app": "db"})
        manifest = pod.manifest()
        manifest["spec"].setdefault("containers", [{"name": "c0"}])
        self._pods[manifest["metadata"]["uid"]] = self._stamp(manifest)
        return {"op": "create", "object": manifest}

    def _pop(self) -> Json:
        return {"op": "pop"}

    def _fail(self) -> Json | None:
        uid = self._flying()
        if uid is None:
            return None
        op: Json = {"op": "fail", "uid": uid, **self._blame()}
        if self._dice.random() < 0.2:
            op["nominate"] = self._dice.choice(("", "n0"))
        return op

    def _q_fail(self) -> Json | None:
        uid = self._flying()
        return None if uid is None else {"op": "q_fail", "uid": uid, **self._blame()}

    def _done(self) -> Json | None:
        uid = self._flying()
        return None if uid is None else {"op": "done", "uid": uid}

    def _advance(self) -> Json:
        return {"op": "advance", "ms": self._dice.choice((1, 400, 1_000, 2_500, 11_000, 61_000, 301_000))}

    def _flush_backoff(self) -> Json:
        return {"op": "flush_backoff"}

    def _flush_leftover(self) -> Json:
        return {"op": "flush_leftover"}

    def _update(self) -> Json | None:
        pod = self._some_pod()
        if pod is None:
            return None
        pod["metadata"]["labels"]["app"] = self._dice.choice(("web", "db", "cache"))
        if self._dice.random() < 0.3:
            pod["spec"].setdefault("tolerations", []).append({"key": f"k{self._version}", "operator": "Exists"})
        return {"op": "update", "object": self._stamp(pod)}

    def _ungate(self) -> Json | None:
        gated = [pod for pod in self._pods.values() if pod["spec"].get("schedulingGates")]
        if not gated:
            return None
        pod = self._dice.choice(gated)
        pod["spec"]["schedulingGates"].pop()
        if not pod["spec"]["schedulingGates"]:
            del pod["spec"]["schedulingGates"]
        return {"op": "update", "object": self._stamp(pod)}

    def _delete(self) -> Json | None:
        pod = self._some_pod()
        return None if pod is None else {"op": "delete", "object": self._pods.pop(pod["metadata"]["uid"])}

    def _bind(self) -> Json:
        """A pod that somebody else has put on the node."""
        pod = make_pod(f"b{len(self._written['ops'])}").label(app=self._dice.choice(("web", "db"))).on("n0")
        manifest = pod.req(cpu="100m").manifest()
        return {"op": "create", "object": self._stamp(manifest)}

    def _node(self) -> Json:
        name = self._dice.choice(("n0", "n1", "n2"))
        node = make_node(name).capacity(cpu=self._dice.choice(("1", "4", "16"))).zone(self._dice.choice("ab"))
        if self._dice.random() < 0.3:
            node.taint("team")
        op = "update" if name in self._nodes else "create"
        self._nodes[name] = self._stamp(node.manifest())
        return {"op": op, "object": self._nodes[name]}

    def _assume(self) -> Json | None:
        uid = self._flying()
        free = uid is not None and uid in self._pods and uid not in self._replay.assumed
        return {"op": "assume", "uid": uid, "node": "n0"} if free else None

    def _forget(self) -> Json | None:
        cache = self._replay.engine.cache
        known = [uid for uid in sorted(self._replay.assumed) if uid in cache.assumed_pods]
        return {"op": "forget", "uid": self._dice.choice(known), **self._blame()} if known else None

    def _activate(self) -> Json | None:
        pod = self._some_pod()
        return None if pod is None else {"op": "activate", "pods": [_key(pod), "default/nobody"]}

    def _nominate(self) -> Json | None:
        pod = self._some_pod()
        if pod is None:
            return None
        return {"op": "nominate", "pod": _key(pod)} | ({"node": "n0"} if self._dice.random() < 0.7 else {})

    def _unnominate(self) -> Json | None:
        pod = self._some_pod()
        return None if pod is None else {"op": "unnominate", "pod": _key(pod)}

    def _nominated_for(self) -> Json:
        return {"op": "nominated_for", "node": "n0"}

    def _pending(self) -> Json:
        return {"op": "pending"}

    def _move(self) -> Json:
        new = self._nodes[self._dice.choice([*self._nodes])]
        return {"op": "move", "resource": "Node", "action": 1, "label": "", "old": None, "new": new}

    # What they draw from

    def _some_pod(self) -> Json | None:
        return self._dice.choice([self._pods[uid] for uid in sorted(self._pods)]) if self._pods else None

    def _flying(self) -> str | None:
        """A pod that was popped last and is not back; of hints off nobody is followed in flight."""
        queue = self._replay.queue
        found = [
            uid
            for uid, info in sorted(self._replay.popped.items())
            if queue.get(info.key) is None and (not queue.options.queueing_hints or uid in queue.active.in_flight)
        ]
        return self._dice.choice(found) if found else None

    def _blame(self) -> Json:
        if self._dice.random() < 0.25:
            return {}
        blamed = sorted(self._dice.sample(BLAMED, self._dice.choice((1, 1, 2))))
        if self._dice.random() < 0.15:
            return {"unschedulable": blamed, "pending": ["DynamicResources"]}
        return {"unschedulable": blamed}

    def _stamp(self, manifest: Json) -> Json:
        self._version += 1
        manifest["metadata"]["resourceVersion"] = str(self._version)
        return manifest


def _key(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
