"""The live contract: a snapshot and the events after it are the later snapshot.

Here a real engine schedules in real tables while the logs are read as the feed reads them. What was read is kept in
frontend/src/live/__fixtures__/contract.json, made comparable (identities by order, one time for all times); vitest
plays it through applyFrame. KSCHED_RECORD=1 writes the file anew.
"""

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

from kschedweb.asgi import Logs
from kschedweb.cluster import clock, services
from kschedweb.cluster.models import Cluster
from kschedweb.environment import ROOT
from kschedweb.traces import selectors
from kschedweb.views import Cursor, Frame, encode
from scheduler_core.apiserver.requests import ObjectKey, Patch
from tests.builders import make_manifest, make_node, make_pod
from tests.web.scheduling.conftest import lead, put, settle

FIXTURE = ROOT / "frontend" / "src" / "live" / "__fixtures__" / "contract.json"
ONE_TIME_MS = 1_790_000_000_000
ENTRIES_PER_FRAME = 7  # small, so that frames cut through what belongs together
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def node(name: str, zone: str, cpu: str = "4") -> dict[str, Any]:
    labels = {"topology.kubernetes.io/zone": zone}
    manifest: dict[str, Any] = make_node(name).capacity(cpu=cpu).manifest()
    manifest["metadata"].setdefault("labels", {}).update(labels)
    return manifest


def pod(name: str, cpu: str = "1") -> dict[str, Any]:
    manifest: dict[str, Any] = make_pod(name).req(cpu=cpu, memory="1Gi").manifest()
    return manifest


def gated(name: str) -> dict[str, Any]:
    manifest = pod(name)
    manifest["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
    return manifest


def event(name: str, count: int = 1) -> dict[str, Any]:
    """An event as a controller writes it."""
    manifest = make_manifest("Event", name)
    manifest |= {"involvedObject": {"kind": "Node", "name": "n2"}, "reason": "Drained", "message": name, "count": count}
    return manifest


@pytest.mark.django_db(transaction=True)
def test_snapshot_and_events_are_the_later_snapshot_when_a_cluster_is_scheduled() -> None:
    cluster = Cluster.objects.create(name="recorded", seed=1)
    put(cluster, node("n1", "a"), node("n2", "b"), pod("early"), pod("too-large", "64"), gated("gated"))
    host = lead(cluster)
    # The same steps on any machine: no deadline cuts one short, and no timer comes due between two of them.
    host.monotonic, host.clock_us = lambda: 0.0, lambda: 1_790_000_000_000_000
    settle(host)
    before = snapshot(cluster)

    put(cluster, node("n3", "b", "16"), *(pod(f"p{i}") for i in range(6)), pod("too-large-too", "32"))
    host.step()  # assumed, not yet bound
    between = snapshot(cluster)
    settle(host)
    services.node_update(cluster_id=cluster.pk, name="n1", unschedulable=True, actor="test")
    annotated = {"metadata": {"annotations": {"kschedweb.io/drain": "requested"}}}
    services.requests_carry_out(
        cluster_id=cluster.pk,
        requests=[Patch(ObjectKey("Node", "", "n2"), annotated)],
        actor="test",
        now=clock.now_of(cluster.pk),
    )
    put(cluster, event("told"), event("counted"))
    put(cluster, event("counted", count=2))
    services.pace_set(cluster_id=cluster.pk, pace="slow", rate=2.5, actor="test")
    services.pod_delete(cluster_id=cluster.pk, namespace="default", name="too-large-too", grace_seconds=0, actor="test")
    ended = Patch(ObjectKey("Pod", "default", "early"), {"status": {"phase": "Succeeded"}}, subresource="status")
    services.requests_carry_out(cluster_id=cluster.pk, requests=[ended], actor="test", now=clock.now_of(cluster.pk))
    put(cluster, node("n4", "c", "2"), pod("last"))
    services.object_delete(cluster_id=cluster.pk, kind="Node", namespace="", name="n4", actor="test")
    settle(host)
    after = snapshot(cluster)

    recorded = comparable(
        {"frames": frames(cluster.pk, Cursor(*before["cursor"])), "snapshots": [before, between, after]}
    )
    kinds = {event["type"] for frame in recorded["frames"] for event in frame["events"]}
    assert kinds >= {"node_put", "node_deleted", "pod_put", "pod_deleted", "event_put", "cluster_setting"}
    assert kinds >= {"queue_move", "cache_move", "attempt", "event", "step"}
    assert [view["queue"] for view in recorded["snapshots"][1]["queue"]].count("assumed") > 0
    if os.environ.get("KSCHED_RECORD"):
        write(FIXTURE, recorded)
    assert recorded == orjson.loads(FIXTURE.read_bytes()), "changed on purpose? KSCHED_RECORD=1 writes it anew"


def frames(cluster_id: int, cursor: Cursor) -> list[Any]:
    found = []
    while (part := Logs().read(cluster_id, cursor, ENTRIES_PER_FRAME)).to != cursor:
        found.append(orjson.loads(encode(Frame(from_=cursor, to=part.to, at=ONE_TIME_MS, events=part.events))))
        cursor = part.to
    return found


def snapshot(cluster: Cluster) -> Any:
    return msgspec.to_builtins(selectors.snapshot(cluster.pk))


def comparable(recorded: Any) -> Any:
    """Identities and times of a run replaced by ones that every run has."""
    cluster_id = recorded["snapshots"][0]["cluster"]["id"]
    uids: dict[str, str] = {}

    def walk(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: walk(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner, name) for inner in value]
        if isinstance(value, str):
            return UID.sub(lambda match: uids.setdefault(match[0], f"uid-{len(uids) + 1}"), value)
        if name.endswith("_ms") and value is not None:
            return ONE_TIME_MS
        if name == "duration_us":
            return 1
        if name == "id" and value == cluster_id:
            return 1
        return value

    for found in recorded["snapshots"]:
        # By uid they would come in another order in every run.
        found["queue"].sort(key=lambda view: view["key"])
        found["throughput"] = at_one_time(found["throughput"])
    return walk(recorded)


def at_one_time(throughput: Any) -> Any:
    """Its points as the one point they are where there is but one time."""
    points = [point for point in (throughput["carried"], *throughput["points"]) if point is not None]
    results: Counter[str] = sum((Counter(point["results"]) for point in points), Counter())
    newest = [point for point in points if point["run"] is not None][-1]
    one = newest | {"results": dict(sorted(results.items())), "bound": sum(point["bound"] for point in points)}
    return throughput | {"carried": None, "points": [one]}


def write(path: Path, recorded: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(recorded, option=orjson.OPT_INDENT_2) + b"\n")
