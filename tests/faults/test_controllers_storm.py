"""Simulated controllers while processes are killed: nothing is lost, and nothing is done twice that must not be.

Workloads are made, scaled and rolled out while the storm goes on; then time is skipped, and the change log is read from
its beginning: it tells of every pod that ever was.
"""

import contextlib
import http.client
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.common import packing
from kschedweb.ops.client import Refused
from tests.faults import storm
from tests.faults.service import Service
from tests.faults.storm import Storm, wait_until_tended
from tests.waiting import HANG_SECONDS

SEED = 23
NODES = 20
REPLICAS, SCALED = 12, 20
COMPLETIONS = 10
MEMBERS = 4
CALM_SECONDS = 1800.0

Manifest = dict[str, Any]


def test_controllers_do_everything_once_in_a_short_storm(stormy: Service) -> None:
    weather(stormy, kills=8, stops=2, seconds=10)


@pytest.mark.slow
def test_controllers_do_everything_once_in_a_long_storm(stormy: Service) -> None:
    weather(stormy, kills=40, stops=12, seconds=90)


def weather(service: Service, *, kills: int, stops: int, seconds: float) -> None:
    body = {"name": "works", "seed": SEED, "lifecycle_mode": "simulate"}
    cluster_id = int(service.client.post("/api/clusters", body)["id"])
    api = Api(service, "works")
    for number in range(NODES):
        api.until_taken("POST", "/api/v1/nodes", node(f"n{number:02d}"))
    users = threading.Thread(target=use, args=(api, seconds), daemon=True)
    users.start()
    dealt = Storm(service)
    dealt.deal(storm.blows(kills=kills, stops=stops, seconds=seconds, seed=SEED))
    assert wait_until_tended(service, lambda: not users.is_alive(), seconds=seconds + HANG_SECONDS)
    assert not api.refusals, api.refusals
    assert dealt.kills.total() >= kills

    def over() -> bool:
        """Whether all is as it was asked for, and time has passed since."""
        return not unfinished(api) and not clock(service, cluster_id)["until_us"]

    assert wait_until_tended(service, lambda: not unfinished(api), seconds=HANG_SECONDS), (
        unfinished(api),
        service.logs(),
    )
    service.client.post(f"/api/clusters/{cluster_id}/clock", {"skip_seconds": CALM_SECONDS})
    assert wait_until_tended(service, over, seconds=HANG_SECONDS), (
        unfinished(api),
        clock(service, cluster_id),
        service.logs(),
    )
    assert problems(pod_history(service, cluster_id), api) == []


def use(api: "Api", seconds: float) -> None:
    """What people do meanwhile; everything is sent until it is taken."""
    acts: list[Callable[[], None]] = []
    for name in ("web", "shop"):
        acts.append(lambda name=name: api.until_taken("POST", DEPLOYMENTS, deployment(name)))  # type: ignore[misc]
    acts += [
        lambda: api.until_taken("POST", REPLICA_SETS, replica_set("lone")),
        lambda: api.until_taken("POST", STATEFUL_SETS, stateful_set("db")),
        lambda: api.until_taken("POST", JOBS, job("batch")),
        lambda: api.until_taken("POST", DAEMON_SETS, daemon_set("agent")),
        lambda: api.until_taken("POST", JOBS, job("indexed", completionMode="Indexed")),
        lambda: api.until_taken("PATCH", f"{REPLICA_SETS}/lone", {"spec": {"replicas": SCALED}}),
        lambda: api.until_taken("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": SCALED}}),
        lambda: api.until_taken(
            "PATCH", f"{DEPLOYMENTS}/shop", {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
        ),
        lambda: api.until_taken("PATCH", f"{REPLICA_SETS}/lone", {"spec": {"replicas": REPLICAS}}),
    ]
    began = time.monotonic()
    for place, act in enumerate(acts):
        time.sleep(max(0.0, began + seconds * place / len(acts) - time.monotonic()))
        act()


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
DAEMON_SETS = "/apis/apps/v1/namespaces/default/daemonsets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


class Api:
    """The Kubernetes API of one cluster, as a client that does not give up."""

    def __init__(self, service: Service, cluster: str) -> None:
        self._service, self._base = service, f"/k8s/{cluster}"
        self.refusals: list[str] = []

    def ask(self, method: str, path: str, body: Manifest | None = None) -> Manifest:
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        text = None if body is None else json.dumps(body).encode()
        _, answer = self._service.client.call(method, self._base + path, text, content_type)
        return dict(answer)

    def until_taken(self, method: str, path: str, body: Manifest) -> None:
        """Send it until it is taken; one that is there already was taken before."""
        deadline, refusal = time.monotonic() + HANG_SECONDS, ""
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                try:
                    self.ask(method, path, body)
                    return
                except Refused as error:
                    refusal = f"{method} {path}: {error}"
                    if method == "POST" and "already exists" in refusal:
                        return
            time.sleep(0.3)
        self.refusals.append(refusal or f"{method} {path}: no answer")


def unfinished(api: Api) -> str:
    """What is not yet as it was asked for, empty when all is."""
    try:
        for path in (f"{DEPLOYMENTS}/web", f"{DEPLOYMENTS}/shop", f"{REPLICA_SETS}/lone", f"{STATEFUL_SETS}/db"):
            found = api.ask("GET", path)
            spec, status = found["spec"], found.get("status", {})
            ready = [status.get(name, 0) for name in ("replicas", "readyReplicas", "availableReplicas")]
            is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
            if not is_seen or ready != [spec["replicas"]] * 3:
                return f"{path}: {spec['replicas']} wanted, {status}"
        agent = api.ask("GET", f"{DAEMON_SETS}/agent").get("status", {})
        if agent.get("numberReady") != NODES:
            return f"the DaemonSet: {agent}"
        for name in ("batch", "indexed"):
            status = api.ask("GET", f"{JOBS}/{name}").get("status", {})
            if status.get("succeeded") != COMPLETIONS or "completionTime" not in status:
                return f"job {name}: {status}"
    except (Refused, OSError, http.client.HTTPException, ValueError) as error:
        return repr(error)
    return ""


def clock(service: Service, cluster_id: int) -> Manifest:
    return dict(service.client.call("GET", f"/api/clusters/{cluster_id}/clock")[1])


def pod_history(service: Service, cluster_id: int) -> list[tuple[str, str, Manifest]]:
    """Every entry of the change log about a pod: what happened, its uid, the pod."""
    rows = service.rows(
        "SELECT operation, uid, object FROM cluster_change WHERE cluster_id = %s AND kind = 'Pod' ORDER BY rv",
        cluster_id,
    )
    return [(operation, uid, packing.unpacked(content)) for operation, uid, content in rows]


def problems(history: list[tuple[str, str, Manifest]], api: Api) -> list[str]:
    """What was lost, or done more often than once."""
    found: list[str] = []
    made: dict[str, Counter[str]] = defaultdict(Counter)  # by owner: uids
    alive: dict[str, dict[str, Manifest]] = defaultdict(dict)  # by owner: pods that are neither over nor going
    for operation, uid, pod in history:
        (owner,) = pod["metadata"]["ownerReferences"]
        name = f"{owner['kind']}/{owner['name']}"
        made[name][uid] += operation == "created"
        is_over = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        is_alive = operation != "deleted" and not is_over and "deletionTimestamp" not in pod["metadata"]
        alive[name].pop(uid, None)
        if is_alive:
            alive[name][uid] = pod
        if owner["kind"] == "DaemonSet":
            places = Counter(target(each) for each in alive[name].values())
            found += [f"{name}: {count} pods for {node}" for node, count in places.items() if count > 1]
        most = {"ReplicaSet/lone": SCALED, "StatefulSet/db": MEMBERS}.get(name)
        if most is not None and len(alive[name]) > most:
            found.append(f"{name}: {len(alive[name])} pods at once, at most {most} were wanted")
    found += [
        f"{name}: {count} times made: {uid}" for name, uids in made.items() for uid, count in uids.items() if count != 1
    ]
    for name in ("batch", "indexed"):
        if len(made[f"Job/{name}"]) != COMPLETIONS:
            found.append(f"job {name}: {len(made[f'Job/{name}'])} pods were made for {COMPLETIONS} completions")
    indexes = Counter(
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
        for operation, _, pod in history
        if operation == "created" and pod["metadata"]["ownerReferences"][0]["name"] == "indexed"
    )
    if indexes != Counter(map(str, range(COMPLETIONS))):
        found.append(f"indexes of the job: {indexes}")
    if not REPLICAS <= len(made["ReplicaSet/lone"]) <= SCALED:
        found.append(f"the ReplicaSet made {len(made['ReplicaSet/lone'])} pods")
    return found


def target(pod: Manifest) -> str:
    """The node a DaemonSet meant its pod for."""
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


def node(name: str) -> Manifest:
    size = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": size, "capacity": size, "conditions": conditions}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def labelled(more: Manifest | None = None, seconds: str = "") -> Manifest:
    """A pod template; `seconds` is how long its pods run."""
    annotations = {"annotations": {"kschedweb.io/run-seconds": seconds}} if seconds else {}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    metadata = {"labels": {"app": "a", **(more or {})}, **annotations}
    return {"metadata": metadata, "spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}


def owner(kind: str, name: str, spec: Manifest) -> Manifest:
    labels = {"app": name}
    template = labelled(labels)
    selected = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {**selected, **spec}}


def deployment(name: str) -> Manifest:
    return owner("Deployment", name, {"replicas": REPLICAS})


def replica_set(name: str) -> Manifest:
    return owner("ReplicaSet", name, {"replicas": REPLICAS})


def stateful_set(name: str) -> Manifest:
    return owner("StatefulSet", name, {"replicas": MEMBERS, "serviceName": name})


def daemon_set(name: str) -> Manifest:
    return owner("DaemonSet", name, {})


def job(name: str, **spec: Any) -> Manifest:
    template = labelled(seconds="0.5")
    template["spec"]["restartPolicy"] = "Never"
    body = {"completions": COMPLETIONS, "parallelism": 3, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}
