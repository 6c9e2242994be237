"""Statuses and the finalizers of namespaces, as the API server looks at them when somebody writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scheduler_core.admission.validation import statuses
from scheduler_core.api.kept import KEPT
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.server import ApiServer
from tests.cases import cases
from tests.core.apiserver.asking import ask, make, problems

Manifest = dict[str, Any]
CONTAINERS = [{"name": "c", "image": "i"}]
LABELS = {"a": "b"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}}
SELECTED = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
ONE_EACH = "may specify no more than one IP for each IP family"
NUMBERS = "must be between 0 and 2147483647, inclusive"
STAYS = "Forbidden: may not be transitioned to non-terminated state"
ACTIVE = "may only be 'Active' if `deletionTimestamp` is empty"
ENDED = {"name": "c", "state": {"terminated": {"exitCode": 0}}}
WAITS = {"name": "c", "state": {"waiting": {}}}
FAILED = {"name": "c", "state": {"terminated": {"exitCode": 1}}}


def of_status(server: ApiServer, kind: str, status: Mapping[str, Any], before: Mapping[str, Any] = {}) -> list[str]:
    if before:
        assert problems(ask(server, "PATCH", kind, {"status": before}, "x", "status")) == []
    return problems(ask(server, "PATCH", kind, {"status": status}, "x", "status"))


def test_every_status_is_checked_or_there_is_nothing_to_check() -> None:
    unchecked = {kind for kind in KINDS if KINDS[kind].has_status and KINDS[kind].is_served} - statuses.CHECKS.keys()
    # ResourceClaims have rules of their own (`claim_statuses`); of the others upstream looks at the metadata alone.
    # Kinds that are kept have their schema (`kept_status_problems`).
    assert unchecked - KEPT.keys() == {"ResourceClaim", "PersistentVolume", "CronJob"}


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        ("Active", []),
        (None, []),  # what is not there is Active
        ("Terminating", [f'status.Phase: Invalid value: "Terminating": {ACTIVE}']),
        ("Odd", [f'status.Phase: Invalid value: "Odd": {ACTIVE}']),
    ],
)  # fmt: skip
def test_phase_of_a_namespace(frozen: ApiServer, phase: str | None, told: list[str]) -> None:
    make(frozen, "Namespace")
    assert of_status(frozen, "Namespace", {"phase": phase}) == told


def test_phase_of_a_namespace_that_goes(frozen: ApiServer) -> None:
    make(frozen, "Namespace")
    assert ask(frozen, "DELETE", "Namespace", None, "x").code == 200
    detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
    assert of_status(frozen, "Namespace", {"phase": "Active"}) == [f'status.Phase: Invalid value: "Active": {detail}']
    condition = {"type": "NamespaceContentRemaining", "status": "True"}
    assert of_status(frozen, "Namespace", {"conditions": [condition]}) == []


NAME = "name is neither a standard finalizer name nor is it fully qualified"


def test_finalizers_of_a_namespace(frozen: ApiServer) -> None:
    body = {"metadata": {"name": "x"}, "spec": {"finalizers": ["odd", "example.com/fine"]}}
    told = problems(ask(frozen, "POST", "Namespace", body))
    assert told == [f'spec.finalizers: Invalid value: "odd": {NAME}']
    make(frozen, "Namespace")
    body["spec"] = {"finalizers": ["kubernetes", "odd"]}
    told = problems(ask(frozen, "PUT", "Namespace", body, "x", "finalize"))
    assert told == [f'spec.finalizers[1]: Invalid value: "odd": {NAME}']


@cases(
    "ingress, told",
    ("both", {"ip": "10.0.0.1", "hostname": "a.example"}, []),
    ("leading zero", {"ip": "010.0.0.1"}, []),
    ("no address", {"ip": "10.0.0"}, [f'ip: Invalid value: "10.0.0": {IP}']),
    ("address for a name", {"hostname": "10.0.0.1"},
     ['hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address']),
    ("mode without an address", {"hostname": "a.example", "ipMode": "VIP"},
     ["ipMode: Forbidden: may not be specified when `ip` is not set"]),
    ("odd mode", {"ip": "10.0.0.1", "ipMode": "Odd"},
     ['ipMode: Unsupported value: "Odd": supported values: "Proxy", "VIP"']),
)  # fmt: skip
def test_addresses_of_a_load_balancer(frozen: ApiServer, ingress: Manifest, told: list[str]) -> None:
    make(frozen, "Service", spec={"type": "LoadBalancer", "ports": [{"port": 80}]})
    status = {"loadBalancer": {"ingress": [ingress]}}
    assert of_status(frozen, "Service", status) == [f"status.loadBalancer.ingress[0].{text}" for text in told]


def test_load_balancers_alone_have_addresses(frozen: ApiServer) -> None:
    make(frozen, "Service", spec={"ports": [{"port": 80}]})
    told = of_status(frozen, "Service", {"loadBalancer": {"ingress": [{"ip": "nonsense"}]}})
    where = "status.loadBalancer.ingress"
    assert told == [f"{where}: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"]


def test_what_a_node_says_of_itself(frozen: ApiServer) -> None:
    make(frozen, "Node", status={"capacity": {"hugepages-2Mi": "1500m"}})
    assert of_status(frozen, "Node", {"capacity": {"hugepages-2Mi": "0.5", "pods": "1", "a.b/c": "1"}}) == []
    told = of_status(frozen, "Node", {"capacity": {"pods": "1500m", "a.b/c": "0.5"}})
    assert told == [
        'status.capacity.pods: Invalid value: "1500m": must be an integer',
        'status.capacity.a.b/c: Invalid value: "500m": must be an integer',
    ]
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    (told,) = of_status(frozen, "Node", {"capacity": None, "addresses": [address, address]})
    assert told.startswith("status.addresses[1]: Duplicate value: {")


@cases(
    "policy, field, before, status, told",
    ("never", "Never", "containerStatuses", ENDED, WAITS, [STAYS]),
    ("ended before and after", "Never", "containerStatuses", ENDED, ENDED, []),
    ("always", "Always", "containerStatuses", ENDED, WAITS, []),
    ("on failure, success", "OnFailure", "containerStatuses", ENDED, WAITS, [STAYS]),
    ("on failure, failure", "OnFailure", "containerStatuses", FAILED, WAITS, []),
    ("sidecar", "Never", "initContainerStatuses", {**ENDED, "name": "sidecar"}, {**WAITS, "name": "sidecar"}, []),
    ("init container", "Never", "initContainerStatuses", {**ENDED, "name": "once"}, {**WAITS, "name": "once"}, [STAYS]),
    ("ephemeral container", "Always", "ephemeralContainerStatuses", FAILED, WAITS, [STAYS]),
)
def test_containers_that_ended(
    frozen: ApiServer, policy: str, field: str, before: Manifest, status: Manifest, told: list[str]
) -> None:
    first = [{"name": "sidecar", "image": "i", "restartPolicy": "Always"}, {"name": "once", "image": "i"}]
    make(frozen, "Pod", spec={"containers": CONTAINERS, "initContainers": first, "restartPolicy": policy})
    found = of_status(frozen, "Pod", {field: [status]}, {field: [before]})
    assert found == [f"status.{field}[0].state: {text}" for text in told]


@cases(
    "status, told",
    ("one address of each family", {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, []),
    ("no address", {"podIP": "x", "podIPs": [{"ip": "x"}]}, [f'status.podIPs[0]: Invalid value: "x": {IP}']),
    ("one address twice", {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}] * 2},
     [f'status.podIPs: Invalid value: [{{"IP":"10.0.0.1"}},{{"IP":"10.0.0.1"}}]: {ONE_EACH}',
      'status.podIPs[1]: Duplicate value: {"IP":"10.0.0.1"}']),
    ("two addresses of one family", {"hostIP": "10.0.0.2", "hostIPs": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.3"}]},
     [f'status.hostIPs: Invalid value: [{{"IP":"10.0.0.2"}},{{"IP":"10.0.0.3"}}]: {ONE_EACH}']),
    ("claim that the pod does not have", {"resourceClaimStatuses": [{"name": "odd"}]},
     ['status.resourceClaimStatuses[0].name: Invalid value: "odd": must match the name of an entry in'
      " `spec.resourceClaims`"]),
    ("condition of an odd type", {"conditions": [{"type": "a b", "status": "True"}]}, None),
)  # fmt: skip
def test_what_a_pod_says_of_itself(frozen: ApiServer, status: Manifest, told: list[str] | None) -> None:
    make(frozen, "Pod", spec={"containers": CONTAINERS})
    found = of_status(frozen, "Pod", status)
    if told is None:
        assert [text.partition(":")[0] for text in found] == ["metadata.conditions[0].Type"]
    else:
        assert found == told


@cases(
    "system, user, told",
    ("linux", "linux", {"uid": 0, "gid": 2147483647, "supplementalGroups": [1]}, []),
    ("numbers out of range", "linux", {"uid": -1, "gid": 2147483648, "supplementalGroups": [1, -2]},
     [f"uid: Invalid value: -1: {NUMBERS}", f"gid: Invalid value: 2147483648: {NUMBERS}",
      f"supplementalGroups[1]: Invalid value: -2: {NUMBERS}"]),
    ("windows", "windows", {"uid": -1, "gid": 0}, [": Forbidden: cannot be set for a windows pod"]),
)  # fmt: skip
@pytest.mark.parametrize("field", ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"])
def test_users_of_containers(frozen: ApiServer, system: str, user: Manifest, told: list[str], field: str) -> None:
    make(frozen, "Pod", spec={"containers": CONTAINERS, "os": {"name": system}})
    found = of_status(frozen, "Pod", {field: [{"name": "c", "user": {"linux": user}}]})
    at = f"status.{field}[0].linux"
    assert found == [f"{at}{text}" if text.startswith(":") else f"{at}.{text}" for text in told]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_collisions_are_counted_upwards(frozen: ApiServer, kind: str) -> None:
    make(frozen, kind, spec=SELECTED)
    assert of_status(frozen, kind, {"collisionCount": 3}, {"collisionCount": 2}) == []
    less = "status.collisionCount: Invalid value: 1: cannot be decremented"
    assert of_status(frozen, kind, {"collisionCount": 1}) == [less]
    gone = "status.collisionCount: Invalid value: 0: cannot be decremented"
    assert of_status(frozen, kind, {"collisionCount": None}) == [gone]


@cases(
    "status, told",
    ("storage",
     {"allocatedResources": {"storage": "1Gi"}, "allocatedResourceStatuses": {"storage": "NodeResizePending"}}, []),
    ("something else", {"allocatedResources": {"cpu": "1"}},
     ['status.allocatedResources: Unsupported value: "cpu": supported values: "storage"']),
    ("less than nothing", {"allocatedResources": {"storage": "-1"}},
     ["status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity"]),
)  # fmt: skip
def test_what_is_allocated_to_a_claim(frozen: ApiServer, status: Manifest, told: list[str]) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    make(frozen, "PersistentVolumeClaim", spec=spec)
    assert of_status(frozen, "PersistentVolumeClaim", status) == told


def test_errors_of_attachments_are_short(frozen: ApiServer) -> None:
    make(frozen, "VolumeAttachment", spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}})
    assert of_status(frozen, "VolumeAttachment", {"attached": False, "attachError": {"message": "x" * 1024}}) == []
    told = of_status(frozen, "VolumeAttachment", {"attached": False, "attachError": {"message": "x" * 1025}})
    # The server tells of the limit of another field.
    assert told == ["status.attachError.message: Too long: may not be more than 262144 bytes"]
