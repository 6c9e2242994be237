"""Stored pods are read for frames without making the typed pod: both readings must say the same."""

from typing import Any

import pytest

from kschedweb.cluster import adapters


def container(name: str, **asks: str) -> dict[str, Any]:
    return {"name": name, "image": "i", "resources": {"requests": asks}}


def pod(spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d", "uid": "u", "creationTimestamp": "2030-01-01T00:00:00Z"} | metadata,
        "spec": {"containers": [container("c", cpu="100m", memory="1Gi")]} | (spec or {}),
        **({} if status is None else {"status": status}),
    }


SCHEDULED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
RESIZED = {
    "name": "c",
    "image": "i",
    "imageID": "i",
    "ready": True,
    "restartCount": 0,
    "resources": {"requests": {"cpu": "300m"}},
    "allocatedResources": {"cpu": "200m"},
}


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod(), id="nothing but a container"),
        pytest.param(pod(status={"phase": None, "conditions": None, "startTime": None}), id="nulls"),
        pytest.param(
            pod({"nodeName": "n", "priority": 7, "schedulerName": "s"}, {"phase": "Running"}), id="it runs on a node"
        ),
        pytest.param(
            pod(status={"nominatedNodeName": "n", "conditions": [{"type": "Ready", "status": "False"}, SCHEDULED]}),
            id="it is refused and nominated",
        ),
        pytest.param(pod({"schedulingGates": [{"name": "example.com/wait"}]}), id="it is gated"),
        pytest.param(pod(deletionTimestamp="2030-01-01T00:00:30Z", deletionGracePeriodSeconds=30), id="it is going"),
        pytest.param(
            pod(
                {
                    "initContainers": [container("i", cpu="2"), container("s", cpu="1") | {"restartPolicy": "Always"}],
                    "overhead": {"cpu": "10m"},
                },
                {"startTime": "2030-01-01T00:00:01Z"},
            ),
            id="init containers and overhead",
        ),
        pytest.param(pod({"resources": {"requests": {"cpu": "3"}}}), id="requests of the pod"),
        pytest.param(pod(status={"phase": "Running", "containerStatuses": [RESIZED]}), id="it is being resized"),
    ],
)
def test_stored_pod_columns_are_those_of_the_typed_pod(manifest: dict[str, Any]) -> None:
    wanted = adapters.pod_columns(adapters.pod_of(manifest))
    assert adapters.stored_pod_columns(manifest) == wanted
    assert adapters.stored_pod_columns(manifest) == wanted  # from what is kept of the first time
