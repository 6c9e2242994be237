"""What requests do to objects that are deleted, and to pods, whatever store is below.

Each module that imports these tests gives a fixture `server`, an ApiServer on an empty store.
"""

from __future__ import annotations

from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.requests import (
    Bind,
    Create,
    Delete,
    Evict,
    ObjectKey,
    Patch,
    PatchType,
    Propagation,
    ReportStatus,
    ReportUnschedulable,
    Request,
)
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import Operation
from tests.cases import cases
from tests.core.apiserver.asking import (
    CLAIM,
    CLASS,
    NOW,
    POD,
    SECOND,
    UNSCHEDULABLE,
    Manifest,
    claim,
    done,
    made,
    pod,
    priority_class,
    refused,
    stored,
)


@cases(
    "spec, given, left",
    ("the pod's own", {"nodeName": "n1"}, None, 30),
    ("the pod's own, given", {"nodeName": "n1", "terminationGracePeriodSeconds": 5}, None, 5),
    ("the request's", {"nodeName": "n1"}, 7, 7),
    ("never negative", {"nodeName": "n1"}, -3, 1),
    ("none without a node", {}, 7, None),
    ("none asked for", {"nodeName": "n1"}, 0, None),
)
def test_delete_gives_a_pod_its_grace(server: ApiServer, spec: Manifest, given: int | None, left: int | None) -> None:
    created = made(server, pod(**spec))
    outcome = done(server, Delete(POD, given))
    assert isinstance(outcome.answer, dict)
    metadata = outcome.answer["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == (left or 0)
    assert metadata["deletionTimestamp"] == f"2030-01-01T00:00:{left or 0:02}Z"
    assert (metadata["generation"], metadata["uid"]) == (2, created["metadata"]["uid"])
    assert [change.operation for change in outcome.changes] == [Operation.UPDATED if left else Operation.DELETED]
    assert (server.store.get(POD) is None) == (left is None)


def test_a_finished_pod_has_no_grace(server: ApiServer) -> None:
    done(server, pod(nodeName="n1"))
    done(server, Patch(POD, {"status": {"phase": "Succeeded"}}, subresource="status"))
    done(server, Delete(POD))
    assert server.store.get(POD) is None


def test_a_second_delete_only_shortens_the_grace(server: ApiServer) -> None:
    done(server, pod(nodeName="n1"))
    done(server, Delete(POD))
    for longer in (None, 30, 60):
        assert done(server, Delete(POD, longer), NOW + SECOND).changes == ()
    metadata = made(server, Delete(POD, 10), NOW + 5 * SECOND)["metadata"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == ("2030-01-01T00:00:10Z", 10)
    assert metadata["generation"] == 2
    assert done(server, Delete(POD, 0), NOW + 6 * SECOND).changes[0].operation == Operation.DELETED


def test_a_finalizer_keeps_a_deleted_object_until_it_is_removed(server: ApiServer) -> None:
    created = made(server, priority_class(finalizers=["example.com/f"]))
    marked = made(server, Delete(CLASS))
    assert marked["metadata"] == {**created["metadata"], "generation": 2, "resourceVersion": server.store.version_of(2),
                                  "deletionTimestamp": "2030-01-01T00:00:00Z",
                                  "deletionGracePeriodSeconds": 0}  # fmt: skip
    assert done(server, Delete(CLASS)).changes == ()
    assert refused(server, Patch(CLASS, {"metadata": {"finalizers": ["example.com/f", "example.com/g"]}})).code == 422
    outcome = done(server, Patch(CLASS, {"metadata": {"finalizers": None}}))
    assert outcome.changes[0].operation == Operation.DELETED
    assert isinstance(outcome.answer, dict) and outcome.answer["metadata"][
        "resourceVersion"
    ] == server.store.version_of(2)
    assert server.store.get(CLASS) is None


def test_a_pod_waits_for_its_finalizers_and_for_its_grace(server: ApiServer) -> None:
    done(server, pod(metadata={"finalizers": ["example.com/f"]}, nodeName="n1"))
    done(server, Delete(POD))
    done(server, Patch(POD, {"metadata": {"finalizers": None}}))
    assert stored(server)["metadata"]["deletionGracePeriodSeconds"] == 30
    done(server, Delete(POD, 0))
    assert server.store.get(POD) is None


def test_delete_without_grace_is_answered_as_the_kind_has_it(server: ApiServer) -> None:
    uid = made(server, priority_class())["metadata"]["uid"]
    want = Status(200, name="high", group="scheduling.k8s.io", kind="priorityclasses", uid=uid)
    assert done(server, Delete(CLASS)).answer == want
    done(server, claim())
    assert made(server, Delete(CLAIM))["metadata"]["name"] == "data"


@cases(
    "asked, finalizers",
    ("foreground", Propagation.FOREGROUND, ["foregroundDeletion"]),
    ("orphan", Propagation.ORPHAN, ["orphan"]),
    ("background", Propagation.BACKGROUND, None),
    ("not said", None, None),
)
def test_delete_says_what_becomes_of_owned_objects(
    server: ApiServer, asked: Propagation | None, finalizers: list[str] | None
) -> None:
    done(server, priority_class())
    done(server, Delete(CLASS, propagation=asked))
    if finalizers is None:
        assert server.store.get(CLASS) is None
    else:
        assert stored(server, CLASS)["metadata"]["finalizers"] == finalizers


def test_delete_is_refused_when_the_object_is_another_or_has_changed(server: ApiServer) -> None:
    uid = made(server, pod())["metadata"]["uid"]
    status = refused(server, Delete(POD, uid="other"))
    assert (status.code, status.kind) == (409, "Pod")
    assert f"(other) does not match the UID in record ({uid})" in status.message
    version = server.store.version_of(1)
    message = f"(9) does not match the ResourceVersion in record ({version})"
    assert message in refused(server, Delete(POD, resource_version="9")).message
    done(server, Delete(POD, uid=uid, resource_version=version))
    assert refused(server, Delete(POD)).code == 404


def test_bind_sets_the_node_and_the_condition(server: ApiServer) -> None:
    created = made(server, pod())
    done(server, ReportUnschedulable(POD, UNSCHEDULABLE, "n2"))
    assert done(server, Bind(POD, "n1", created["metadata"]["uid"]), NOW + 60 * SECOND).answer == Status(201)
    bound = stored(server)
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["generation"] == 1
    assert bound["status"] == {"phase": "Pending", "qosClass": "Burstable", "nominatedNodeName": "n2",
                               "conditions": [{"type": "PodScheduled", "status": "True", "lastProbeTime": None,
                                               "lastTransitionTime": "2030-01-01T00:01:00Z"}]}  # fmt: skip


@cases(
    "request_, message",
    ("bound", pod(nodeName="n0"), 'pods/binding "p": pod p is already assigned to node "n0"'),
    ("gated", pod(schedulingGates=[{"name": "g"}]), 'pods/binding "p": pod p has non-empty .spec.schedulingGates'),
)
def test_bind_is_refused(server: ApiServer, request_: Create, message: str) -> None:
    done(server, request_)
    status = refused(server, Bind(POD, "n1"))
    assert status.message == f"Operation cannot be fulfilled on {message}"
    assert (status.code, status.kind) == (409, "pods/binding")


def test_bind_is_refused_when_the_pod_goes_or_is_another_or_none(server: ApiServer) -> None:
    assert refused(server, Bind(POD, "n1")).code == 404
    done(server, pod(metadata={"finalizers": ["example.com/f"]}))
    assert refused(server, Bind(POD, "n1", uid="other")).code == 409
    done(server, Delete(POD))
    assert refused(server, Bind(POD, "n1")).message.endswith("pod p is being deleted, cannot be assigned to a host")


def test_a_batch_goes_on_after_a_refusal_and_is_numbered_densely(server: ApiServer) -> None:
    server.carry_out([pod("a"), pod("b"), pod("c")], NOW)
    keys = [ObjectKey("Pod", "default", name) for name in ("a", "nobody", "b", "a", "c")]
    answers = server.carry_out([Bind(key, "n1") for key in keys], NOW)
    assert [type(answer) for answer in answers] == [Outcome, Refused, Outcome, Refused, Outcome]
    versions = [stored(server, keys[n])["metadata"]["resourceVersion"] for n in (0, 2, 4)]
    assert versions == [server.store.version_of(position) for position in (4, 5, 6)]


def test_evict_marks_the_pod_with_the_reason_and_gives_it_its_grace(server: ApiServer) -> None:
    done(server, pod(nodeName="n1"))
    outcome = done(server, Evict(POD, "PreemptionByScheduler", "preempted"))
    assert (outcome.answer, len(outcome.changes)) == (Status(201), 1)
    assert stored(server)["status"]["conditions"] == [
        {"type": "DisruptionTarget", "status": "True", "lastProbeTime": None,
         "lastTransitionTime": "2030-01-01T00:00:00Z", "reason": "PreemptionByScheduler", "message": "preempted"},
    ]  # fmt: skip
    assert stored(server)["metadata"]["deletionTimestamp"] == "2030-01-01T00:00:30Z"
    assert done(server, Evict(POD, "PreemptionByScheduler", "preempted"), NOW + SECOND).changes == ()
    assert refused(server, Evict(POD, "PreemptionByScheduler", uid="other")).code == 409


def test_evict_tells_why_of_a_pod_that_is_going_already(server: ApiServer) -> None:
    done(server, pod(nodeName="n1"))
    done(server, Delete(POD))
    done(server, Evict(POD, "PreemptionByScheduler"), NOW + SECOND)
    assert stored(server)["status"]["conditions"][0]["type"] == "DisruptionTarget"
    assert stored(server)["metadata"]["deletionTimestamp"] == "2030-01-01T00:00:30Z"


def test_a_pod_that_has_a_node_is_not_reported_unschedulable(server: ApiServer) -> None:
    done(server, pod(nodeName="n1"))
    assert done(server, ReportUnschedulable(POD, UNSCHEDULABLE, "n2")).changes == ()
    assert refused(server, ReportUnschedulable(POD, UNSCHEDULABLE, uid="other")).code == 404


def test_a_condition_keeps_its_time_while_its_status_stays(server: ApiServer) -> None:
    done(server, pod())
    done(server, ReportUnschedulable(POD, UNSCHEDULABLE))
    done(server, ReportUnschedulable(POD, ("False", "Unschedulable", "2 nodes")), NOW + 60 * SECOND)
    want = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "2 nodes"}
    assert stored(server)["status"]["conditions"] == [
        {**want, "lastProbeTime": None, "lastTransitionTime": "2030-01-01T00:00:00Z"}
    ]


def test_a_nomination_is_cleared_by_an_empty_name(server: ApiServer) -> None:
    done(server, pod())
    done(server, ReportUnschedulable(POD, nominated_node_name="n1"))
    assert stored(server)["status"]["nominatedNodeName"] == "n1"
    done(server, ReportUnschedulable(POD, nominated_node_name=""))
    assert "nominatedNodeName" not in stored(server)["status"]


def condition(name: str, status: str, **others: str | int | None) -> Manifest:
    return {"type": name, "status": status, "lastTransitionTime": "2030-01-01T00:00:20Z", **others}


STARTED = {"phase": "Running", "startTime": "2030-01-01T00:00:30Z", "observedGeneration": 1,
           "conditions": [condition("Initialized", "True", lastTransitionTime="2030-01-01T00:00:30Z"),
                          condition("Ready", "True", lastTransitionTime="2030-01-01T00:00:30Z", observedGeneration=1)],
           "containerStatuses": [{"name": "c", "image": "i", "imageID": "i@sha256:1", "ready": True, "restartCount": 0,
                                  "state": {"running": {"startedAt": "2030-01-01T00:00:30Z"}}, "lastState": {},
                                  "resources": {}}]}  # fmt: skip
ENDED = {
    "phase": "Succeeded",
    "conditions": [condition("Ready", "False", reason="PodCompleted", lastTransitionTime="2030-01-01T00:00:50Z")],
}
READY_AGAIN = {"conditions": [{"type": "Ready", "status": "True", "reason": None, "message": None}]}
WAITS = condition("Initialized", "False", reason="Waits", message="for a volume")


@cases(
    "before",
    ("none before", []),
    ("bound", [ReportUnschedulable(POD, UNSCHEDULABLE, "n2"), Bind(POD, "n1")]),
    ("running", [Bind(POD, "n1"), ReportStatus(POD, {"phase": "Running"})]),
    ("other order", [ReportStatus(POD, {"conditions": [condition("Ready", "True"), WAITS]})]),
    ("a reason before", [ReportStatus(POD, ENDED), Bind(POD, "n1")]),
)
@cases(
    "status",
    ("start", STARTED),
    ("end", ENDED | {"phase": "Failed"}),
    ("without reason", READY_AGAIN | {"phase": "Unknown"}),
    ("addresses", {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}),
)
def test_a_reported_status_is_what_a_strategic_patch_leaves(
    server: ApiServer, before: list[Request], status: Manifest
) -> None:
    made(server, pod())
    for request in before:
        done(server, request)
    (patched,) = server.decide([Patch(POD, {"status": status}, PatchType.STRATEGIC, "status")], NOW)
    assert isinstance(patched, Outcome) and isinstance(patched.answer, dict)
    assert done(server, ReportStatus(POD, status)).changes
    assert stored(server)["status"] == patched.answer["status"]
    assert done(server, ReportStatus(POD, status)).changes == ()


def test_a_status_is_reported_of_the_pod_that_was_meant(server: ApiServer) -> None:
    assert refused(server, ReportStatus(POD, STARTED)).code == 404
    done(server, pod())
    assert refused(server, ReportStatus(POD, STARTED, uid="other")).code == 409
    assert stored(server)["status"]["phase"] == "Pending"
