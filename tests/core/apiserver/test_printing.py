"""What kubectl shows of objects: cells by kind, at the edges where the API server decides between words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from scheduler_core.api.kept import KEPT
from scheduler_core.api.times import microseconds
from scheduler_core.apiserver.printing import PRINTED, cells
from scheduler_core.apiserver.printing.texts import NONE, age, duration
from scheduler_core.apiserver.tables import columns
from tests.cases import cases
from tests.core.apiserver.asking import NOW
from tests.core.apiserver.samples import OBJECTS

Manifest = dict[str, Any]
CREATED = "2029-12-31T23:59:00Z"  # a minute before NOW


def obj(kind: str, metadata: Mapping[str, Any] = {}, **parts: Any) -> Manifest:
    return {"kind": kind, "metadata": {"name": "o", "creationTimestamp": CREATED, **metadata}, **parts}


def shown(kind: str, *wanted: str, metadata: Mapping[str, Any] = {}, **parts: Any) -> list[Any]:
    """The cells of these columns."""
    found = cells(obj(kind, metadata, **parts), NOW)
    named = dict(zip((column.name for column in columns(kind)), found, strict=True))
    return [named[name] for name in wanted]


@pytest.mark.parametrize("kind", sorted(PRINTED))
def test_cells_of_every_kind_are_as_many_as_its_columns(kind: str) -> None:
    manifest = {**obj(kind), **OBJECTS.get(kind, {})}
    if kind == "Secret":
        manifest |= {"type": "Opaque", "data": {"a": "", "b": ""}}
    assert len(cells(manifest, NOW)) == len(columns(kind))


def test_what_a_kept_object_does_not_say_is_empty() -> None:
    assert [kind for kind in KEPT if len(cells(obj(kind), NOW)) != len(columns(kind))] == []
    assert shown("RoleBinding", "Role", "Users") == ["/", ""]
    assert shown("HorizontalPodAutoscaler", "Reference", "Targets", "MinPods", "MaxPods") == ["/", NONE, "<unset>", 0]
    assert shown("FlowSchema", "PriorityLevel", "MatchingPrecedence", "MissingPL") == ["", 0, "?"]
    assert shown("IPAddress", "ParentRef") + shown("CertificateSigningRequest", "SignerName") == [NONE, NONE]
    conditions: Manifest = {"status": {"conditions": [{}]}}
    assert shown("APIService", "Available", **conditions) == ["<unknown>"]
    assert shown("CertificateSigningRequest", "Condition", **conditions) == ["Pending"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (121, "2m1s"), (599, "9m59s"),
        (600, "10m"), (10_799, "179m"), (10_800, "3h"), (10_860, "3h1m"), (28_799, "7h59m"), (28_800, "8h"),
        (172_799, "47h"), (172_800, "2d"), (176_400, "2d1h"), (691_199, "7d23h"), (691_200, "8d"),
        (63_071_999, "729d"), (63_072_000, "2y"), (63_158_400, "2y1d"), (252_288_000, "8y"),
    ],
)  # fmt: skip
def test_duration_has_two_units_only_where_the_second_matters(seconds: int, text: str) -> None:
    assert duration(seconds) == text


def test_age_without_a_moment_is_unknown_and_one_ahead_is_invalid() -> None:
    assert (age(None, NOW), age(CREATED, NOW), age("2031-01-01T00:00:00Z", NOW)) == ("<unknown>", "60s", "<invalid>")
    assert age(CREATED, microseconds_of(CREATED)) == "0s"


def microseconds_of(text: str) -> int:
    return microseconds(datetime.fromisoformat(text))


def container(name: str = "c", state: Manifest | None = None, **parts: Any) -> Manifest:
    return {"name": name, "state": state or {}, **parts}


RUNS: Manifest = {"running": {"startedAt": CREATED}}
DONE: Manifest = {"terminated": {"exitCode": 0, "reason": "Completed"}}
SPEC: Manifest = {"containers": [{"name": "c"}]}
GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
KILLED: Manifest = {"terminated": {"signal": 9, "exitCode": 137}}
WAITS: Manifest = {"waiting": {"reason": "PodInitializing"}}
INITIALIZED = {"type": "Initialized", "status": "True"}


@cases(
    "spec, status, metadata, ready, word, restarts",
    ("waiting for a node", {}, {"phase": "Pending"}, {}, "0/1", "Pending", "0"),
    ("gated", {}, {"phase": "Pending", "conditions": [GATED]}, {}, "0/1", "SchedulingGated", "0"),
    ("running", {}, {"phase": "Running", "containerStatuses": [container(state=RUNS, ready=True)]}, {}, "1/1",
     "Running", "0"),
    ("not ready", {}, {"phase": "Running", "containerStatuses": [container(state=RUNS, ready=False)]}, {}, "0/1",
     "Running", "0"),
    ("restarted", {},
     {"phase": "Running",
      "containerStatuses": [container(state={"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=3,
                                      lastState={"terminated": {"finishedAt": "2029-12-31T23:59:50Z"}})]}, {}, "0/1",
     "CrashLoopBackOff", "3 (10s ago)"),
    ("ended without a reason", {},
     {"phase": "Failed", "containerStatuses": [container(state={"terminated": {"exitCode": 3}})]}, {}, "0/1",
     "ExitCode:3", "0"),
    ("ended by a signal", {}, {"phase": "Failed", "containerStatuses": [container(state=KILLED)]}, {}, "0/1",
     "Signal:9", "0"),
    ("evicted", {}, {"phase": "Failed", "reason": "Evicted"}, {}, "0/1", "Evicted", "0"),
    ("going", {}, {"phase": "Running", "containerStatuses": [container(state=RUNS, ready=True)]},
     {"deletionTimestamp": CREATED}, "1/1", "Terminating", "0"),
    ("ended, going", {}, {"phase": "Succeeded", "containerStatuses": [container(state=DONE)]},
     {"deletionTimestamp": CREATED}, "0/1", "Completed", "0"),
    ("going, on a lost node", {}, {"phase": "Running", "reason": "NodeLost"}, {"deletionTimestamp": CREATED}, "0/1",
     "Unknown", "0"),
    ("one of two ended", {"containers": [{"name": "c"}, {"name": "d"}]},
     {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
      "containerStatuses": [container("c", DONE), container("d", RUNS, ready=True)]}, {}, "1/2", "NotReady", "0"),
    ("being initialized", {"initContainers": [{"name": "i"}, {"name": "j"}]},
     {"phase": "Pending", "initContainerStatuses": [container("i", DONE), container("j", RUNS)]}, {}, "0/1", "Init:1/2",
     "0"),
    ("init container without its image", {"initContainers": [{"name": "i"}]},
     {"phase": "Pending",
      "initContainerStatuses": [container("i", {"waiting": {"reason": "ImagePullBackOff"}}, restartCount=2)]}, {},
     "0/1", "Init:ImagePullBackOff", "2"),
    ("not begun", {"initContainers": [{"name": "i"}]},
     {"phase": "Pending", "initContainerStatuses": [container("i", WAITS)]}, {}, "0/1", "Init:0/1", "0"),
    ("init container failed", {"initContainers": [{"name": "i"}]},
     {"phase": "Failed", "initContainerStatuses": [container("i", {"terminated": {"exitCode": 1}})]}, {}, "0/1",
     "Init:ExitCode:1", "0"),
    ("with a sidecar, whose restarts count and those of init containers do not",
     {"initContainers": [{"name": "i", "restartPolicy": "Always"}, {"name": "j"}]},
     {"phase": "Running", "conditions": [INITIALIZED],
      "initContainerStatuses": [container("i", RUNS, ready=True, started=True, restartCount=1),
                                container("j", DONE, restartCount=5)],
      "containerStatuses": [container("c", RUNS, ready=True)]}, {}, "2/2", "Running", "1"),
)  # fmt: skip
def test_pod_has_the_word_of_its_state(
    spec: Manifest, status: Manifest, metadata: Manifest, ready: str, word: str, restarts: str
) -> None:
    found = shown("Pod", "Ready", "Status", "Restarts", metadata=metadata, spec={**SPEC, **spec}, status=status)
    assert found == [ready, word, restarts]


def test_pod_shows_its_first_address_and_how_many_readiness_gates_are_met() -> None:
    spec = {**SPEC, "nodeName": "n", "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]}
    conditions = [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]
    status = {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "nominatedNodeName": "m", "conditions": conditions}
    wanted = ("IP", "Node", "Nominated Node", "Readiness Gates")
    assert shown("Pod", *wanted, spec=spec, status=status) == ["10.0.0.1", "n", "m", "1/2"]
    assert shown("Pod", *wanted, spec=SPEC) == ["<none>"] * 4


@pytest.mark.parametrize(
    ("kind", "parts", "wanted"),
    [
        ("Node", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}, "spec": {"unschedulable": True}},
         {"Status": "Ready,SchedulingDisabled", "Roles": "<none>", "External-IP": "<none>"}),
        ("Node", {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, {"Status": "NotReady"}),
        ("Node", {"status": {"addresses": [{"type": "InternalIP", "address": "1.1.1.1"},
                                           {"type": "InternalIP", "address": "2.2.2.2"}]}},
         {"Status": "Unknown", "Internal-IP": "1.1.1.1"}),
        ("Node", {"metadata": {"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a",
                                          "node-role.kubernetes.io/": ""}}}, {"Roles": "a,b"}),
        ("Service", {"spec": {"type": "NodePort", "clusterIPs": ["10.96.0.1"], "selector": {"b": "2", "a": "1"},
                              "ports": [{"port": 80, "nodePort": 30000, "protocol": "TCP"},
                                        {"port": 53, "protocol": "UDP"}]}},
         {"Cluster-IP": "10.96.0.1", "External-IP": "<none>", "Port(s)": "80:30000/TCP,53/UDP", "Selector": "a=1,b=2"}),
        ("Service", {"spec": {"type": "ExternalName", "externalName": "e.example"}},
         {"Cluster-IP": "<none>", "External-IP": "e.example", "Port(s)": "<none>"}),
        ("Endpoints", {"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "fd00::1"}, {"ip": "3.3.3.3"},
                                                  {"ip": "4.4.4.4"}], "ports": [{"port": 80}]}]},
         {"Endpoints": "1.1.1.1:80,[fd00::1]:80,3.3.3.3:80 + 1 more..."}),
        ("Endpoints", {}, {"Endpoints": "<none>"}),
        ("EndpointSlice", {"addressType": "IPv4", "ports": [{"name": "http"}, {"port": 80, "name": "x"}, {}],
                           "endpoints": [{"addresses": ["1.1.1.1"]}]}, {"Ports": "http,80,*", "Endpoints": "1.1.1.1"}),
        ("EndpointSlice", {"addressType": "IPv4"}, {"Ports": "<unset>", "Endpoints": "<unset>"}),
        ("ConfigMap", {"data": {"a": ""}, "binaryData": {"b": "", "c": ""}}, {"Data": 3}),
        ("PersistentVolume", {"metadata": {"deletionTimestamp": CREATED},
                              "spec": {"accessModes": ["ReadOnlyMany", "ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                                       "claimRef": {"namespace": "n", "name": "c"}}, "status": {"phase": "Bound"}},
         {"Status": "Terminating", "Access Modes": "RWO,ROX", "Claim": "n/c", "VolumeMode": "<unset>"}),
        ("PersistentVolumeClaim", {"spec": {"storageClassName": "s"}, "status": {"capacity": {"storage": "1Gi"}}},
         {"Capacity": "", "Access Modes": "", "StorageClass": "s"}),
        ("PersistentVolumeClaim", {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
                                   "spec": {"volumeName": "v", "storageClassName": "s"}, "status": {}},
         {"Capacity": "0", "StorageClass": "old"}),
        ("StorageClass", {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
         {"Name": "o (default)", "ReclaimPolicy": "Delete", "AllowVolumeExpansion": False}),
        ("CSIDriver", {"spec": {"tokenRequests": [{"audience": "a"}, {"audience": "b"}]}},
         {"TokenRequests": "a,b", "AttachRequired": True, "Modes": "<none>"}),
        ("CSIDriver", {"spec": {}}, {"TokenRequests": "<unset>"}),
        ("PodDisruptionBudget", {"spec": {"maxUnavailable": 0}, "status": {}},
         {"Min Available": "N/A", "Max Unavailable": "0", "Allowed Disruptions": 0}),
        ("ResourceQuota", {"status": {"hard": {"pods": "10", "limits.cpu": "2", "cpu": "4"}, "used": {"pods": "3"}}},
         {"Request": "cpu: 0/4, pods: 3/10", "Limit": "limits.cpu: 0/2"}),
        ("Job", {"spec": {"parallelism": 3}, "status": {"succeeded": 1}}, {"Completions": "1/1 of 3", "Duration": ""}),
        ("Job", {"spec": {"completions": 5, "parallelism": 3},
                 "status": {"startTime": CREATED, "completionTime": "2029-12-31T23:59:07Z", "conditions": [
                     {"type": "Suspended", "status": "False"}, {"type": "Complete", "status": "True"}]}},
         {"Completions": "0/5", "Duration": "7s", "Status": "Complete"}),
        ("Job", {"metadata": {"deletionTimestamp": CREATED}, "spec": {}}, {"Status": "Terminating"}),
        ("Job", {"spec": {}, "status": {"startTime": CREATED, "conditions": [{"type": "Suspended", "status": "True"}]}},
         {"Status": "Suspended", "Duration": "60s"}),
        *(
            ("HorizontalPodAutoscaler", {"spec": {"metrics": [metric]}, "status": {"currentMetrics": current}},
             {"Targets": targets})
            for metric, current, targets in (
                ({"type": "Odd"}, [], "<unknown type>"),
                ({"type": "Pods", "pods": {"target": {"averageValue": "10"}}}, [], "<unknown>/10"),
                ({"type": "Pods", "pods": {"target": {"averageValue": "10"}}},
                 [{"pods": {"current": {"averageValue": "500m"}}}], "500m/10"),
                ({"type": "External", "external": {"target": {"averageValue": "1k"}}},
                 [{"external": {"current": {"value": "3"}}}], "<unknown>/1k (avg)"),
                ({"type": "Object", "object": {"target": {"value": "2"}}},
                 [{"object": {"current": {"value": "3"}}}], "3/2"),
                ({"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Gi"}}}, [],
                 "memory: <unknown>/1Gi"),
                ({"type": "ContainerResource", "containerResource": {"name": "cpu", "target": {}}},
                 [{"containerResource": {"current": {"averageUtilization": 7}}}], "cpu: 7%/<auto>"),
            )
        ),
        ("PriorityLevelConfiguration", {"spec": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0}}},
         {"Type": "Exempt", "NominalConcurrencyShares": "<none>"}),
        ("CronJob", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {}}, "suspend": False},
                     "status": {"active": [{}, {}], "lastScheduleTime": CREATED}},
         {"Suspend": "False", "Active": 2, "Last Schedule": "60s", "Timezone": "<none>"}),
        ("ControllerRevision", {"metadata": {"ownerReferences": [
            {"apiVersion": "v1", "kind": "X", "name": "x"},
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "D", "controller": True}]}, "revision": 2},
         {"Controller": "daemonset.apps/D", "Revision": 2}),
        ("ResourceClaim", {"status": {"allocation": {}, "reservedFor": [{}]}}, {"State": "allocated,reserved"}),
        ("ResourceClaim", {"metadata": {"deletionTimestamp": CREATED}}, {"State": "deleted"}),
        ("ResourceClaim", {}, {"State": "pending"}),
        ("Event", {"involvedObject": {"kind": "Pod", "name": "p"}, "eventTime": "2029-12-31T23:59:50.000000Z",
                   "reportingComponent": "s", "reportingInstance": "h", "message": " m \n",
                   "series": {"count": 4, "lastObservedTime": "2029-12-31T23:59:57.000000Z"}},
         {"Last Seen": "3s", "First Seen": "10s", "Count": 4, "Object": "pod/p", "Source": "s, h", "Message": "m"}),
        ("Event", {"involvedObject": {"kind": "Pod"}, "firstTimestamp": CREATED, "lastTimestamp": None,
                   "source": {"component": "k"}}, {"Last Seen": "60s", "Count": 1, "Object": "pod", "Source": "k"}),
    ],
)  # fmt: skip
def test_cells_say_what_kubectl_shows(kind: str, parts: Manifest, wanted: Manifest) -> None:
    assert shown(kind, *wanted, **parts) == list(wanted.values())
