"""Clients list, watch and delete the events of the scheduler over a connection, in both forms."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.cluster.models import Cluster
from tests.builders import make_node, make_pod
from tests.web.kubeapi.conftest import Served
from tests.web.kubeapi.test_watch import watch
from tests.web.scheduling.conftest import lead, settle

PODS, EVENTS = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/events"
NOT_READY = "node.kubernetes.io/not-ready"


def test_clients_see_and_watch_them(served: Served) -> None:
    def post(path: str, body: dict[str, Any]) -> int:
        return served.send("POST", path, body).status

    listed = served.get(EVENTS)
    assert post("/api/v1/nodes", make_node("n1").capacity(cpu="1").manifest()) == 201
    made = make_pod("seen").req(cpu="1", memory="1Gi").toleration(NOT_READY).manifest()
    made["spec"]["containers"][0]["image"] = "i:1"
    assert post(PODS, made) == 201
    cluster = Cluster.objects.get(pk=served.cluster_id)
    with watch(served, f"{EVENTS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}") as response:
        settle(lead(cluster))
        line = json.loads(response.readline())
    assert (line["type"], line["object"]["reason"]) == ("ADDED", "Scheduled")
    pod_uid = line["object"]["involvedObject"]["uid"]
    found = served.get(f"{EVENTS}?fieldSelector=involvedObject.uid={pod_uid}")["items"]
    assert [one["metadata"] for one in found] == [line["object"]["metadata"]]
    newer = served.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    assert newer[0]["regarding"] == found[0]["involvedObject"] and newer[0]["note"] == found[0]["message"]
    assert served.ask("DELETE", EVENTS).status == 200 and served.get(EVENTS)["items"] == []
