"""Short ways for many pods must lead where the long ones do: reading stored pods, admitting pods of one template."""

from dataclasses import asdict
from typing import Any

import orjson

from kschedweb.cluster import adapters
from kschedweb.common.packing import kept_json
from tests.cases import cases


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
INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
RESIZED = {
    "name": "c",
    "image": "i",
    "imageID": "i",
    "ready": True,
    "restartCount": 0,
    "resources": {"requests": {"cpu": "300m"}},
    "allocatedResources": {"cpu": "200m"},
}


@cases(
    "manifest",
    ("nothing but a container", pod()),
    ("nulls", pod(status={"phase": None, "conditions": None, "startTime": None})),
    ("it runs on a node", pod({"nodeName": "n", "priority": 7, "schedulerName": "s"}, {"phase": "Running"})),
    ("it is refused and nominated", pod(status={"nominatedNodeName": "n", "conditions": [{"type": "Ready",
     "status": "False"}, SCHEDULED]})),
    ("it is gated", pod({"schedulingGates": [{"name": "example.com/wait"}]})),
    ("it has a controller", pod(ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "1"},
     {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "2", "controller": True}])),
    ("it is going", pod(deletionTimestamp="2030-01-01T00:00:30Z", deletionGracePeriodSeconds=30)),
    ("init containers and overhead", pod({"initContainers": [container("i", cpu="2"), container("s",
     cpu="1") | {"restartPolicy": "Always"}], "overhead": {"cpu": "10m"}}, {"startTime": "2030-01-01T00:00:01Z"})),
    ("requests of the pod", pod({"resources": {"requests": {"cpu": "3"}}})),
    ("it is being resized", pod(status={"phase": "Running", "containerStatuses": [RESIZED]})),
    ("it cannot be resized", pod(status={"containerStatuses": [RESIZED], "conditions": [INFEASIBLE]})),
    ("it runs", pod(status={"containerStatuses": [RESIZED | {"resources": {}, "allocatedResources": {}}]})),
)  # fmt: skip
def test_stored_pod_columns_are_those_of_the_typed_pod(manifest: dict[str, Any]) -> None:
    wanted = adapters.pod_columns(adapters.pod_of(manifest))
    assert adapters.stored_pod_columns(manifest) == wanted
    assert adapters.stored_pod_columns(manifest) == wanted  # from what is kept of the first time


NOW = 1_893_456_000_000_000
CLASS = {
    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9,
    "globalDefault": True,
}  # fmt: skip


def unstamped(name: str, **spec: Any) -> dict[str, Any]:
    manifest = pod(spec, labels={"app": "a"}, name=name)
    manifest["metadata"].pop("creationTimestamp")
    return manifest


@cases(
    "spec",
    ("plain", {}),
    ("gated", {"schedulingGates": [{"name": "example.com/wait"}]}),
    ("nulls", {"tolerations": [{"key": "k", "operator": "Exists"}], "nodeSelector": {"a": None}}),
    ("labels count", {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
     "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}, "matchLabelKeys": ["app"]}]}),
)  # fmt: skip
def test_pods_of_one_template_are_admitted_as_each_alone(spec: dict[str, Any]) -> None:
    admission = adapters.Admission([CLASS])
    first = admission.alike(unstamped("a", **spec), NOW)
    assert first is not None and first.made(name="a", uid="1") is None
    admitted = admission.create(unstamped("a", **spec), "1", NOW)
    first.keep(kept_json(admitted), {"priority": 9})
    second = admission.alike(unstamped("b", **spec), NOW)
    assert second is not None
    alone = adapters.Admission([CLASS]).create(unstamped("b", **spec), "2", NOW)
    made = second.made(name="b", uid="2")
    assert made is not None and (orjson.loads(made[0]), made[1]) == (alone, {"priority": 9})


@cases("name", ("a label", "n-2"), ("a domain", "ip-10-0-0-2.ec2.internal"))
def test_running_pods_of_one_template_share_it_whatever_their_nodes(name: str) -> None:
    admission = adapters.Admission([CLASS])
    first = admission.alike(unstamped("a", nodeName="n-1"), NOW)
    assert first is not None
    admitted = admission.create(unstamped("a", nodeName="n-1"), "1", NOW)
    columns = adapters.pod_columns(adapters.decode(admitted))
    first.keep(kept_json(admitted), asdict(columns))
    second = admission.alike(unstamped("b", nodeName=name), NOW)
    assert second is not None
    alone = adapters.Admission([CLASS]).create(unstamped("b", nodeName=name), "2", NOW)
    made = second.made(name="b", uid="2")
    assert made is not None
    assert (orjson.loads(made[0]), made[1]) == (alone, asdict(adapters.pod_columns(adapters.decode(alone))))
    assert first.made(name="a", uid="1") == (kept_json(admitted), asdict(columns))


@cases(
    "name",
    ("none", None),
    ("empty", ""),
    ("no name", "N_2"),
    ("too long", ".".join(["n" * 62] * 5)),
    ("a number", 7),
    ("a boolean", True),
)
def test_pods_with_no_name_of_a_node_share_nothing_with_running_ones(name: Any) -> None:
    admission = adapters.Admission([])
    first = admission.alike(unstamped("a", nodeName="n-1"), NOW)
    assert first is not None
    first.keep(b"{}", {})
    other = admission.alike(unstamped("b") if name is None else unstamped("b", nodeName=name), NOW)
    assert other is not None and other.made(name="b", uid="2") is None


def test_pods_are_not_alike_when_anything_else_differs() -> None:
    admission = adapters.Admission([])
    first = admission.alike(unstamped("a"), NOW)
    assert first is not None
    first.keep(admission.create(unstamped("a"), "1", NOW), {})
    labelled = unstamped("b")
    labelled["metadata"]["labels"] = {"app": "b"}
    for other in (labelled, unstamped("b", priorityClassName="high")):
        found = admission.alike(other, NOW)
        assert found is not None and found.made(name="b", uid="2") is None
    assert admission.alike(unstamped("a.b"), NOW) is None  # other rules hold for such a name
    admission.remember(adapters.decode(CLASS))
    assert first.made(name="b", uid="2") is None


def test_what_is_remembered_of_pods_is_bounded_in_number_and_size() -> None:
    adapters._requests_of.clear()
    for number in range(2_500):
        manifest = pod({"containers": [container("c", cpu=f"{number + 1}m")]})
        assert adapters.stored_pod_columns(manifest).requests["cpu"] == number + 1
    assert 0 < len(adapters._requests_of) <= 1_000
    adapters._requests_of.clear()
    large = pod({"containers": [container("c", cpu="1") | {"command": ["x" * 10_000]}]})
    assert adapters.stored_pod_columns(large).requests["cpu"] == 1_000
    assert not adapters._requests_of


def test_templates_of_one_import_are_bounded() -> None:
    admission = adapters.Admission(())
    for number in range(2_500):
        alike = admission.alike(pod({"priority": number}), NOW)
        assert alike is not None
        alike.keep(b"{}", {})
    assert 0 < len(admission._alike) <= 1_000
