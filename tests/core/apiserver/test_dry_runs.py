"""Dry runs show what would be, the same each time, and change nothing; evictions, whose bodies ask for them too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.apiserver.bodies import Body, read_json
from scheduler_core.apiserver.bootstrap import bootstrap_requests
from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType
from scheduler_core.apiserver.server import ApiServer
from tests.cases import cases
from tests.core.apiserver.asking import NOW, POD, Manifest, done, pod, stored

MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
EVICTION = "/api/v1/namespaces/default/pods/p/eviction"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LABELS = {"app": "a"}


def ask(
    server: ApiServer, method: str, path: str, body: Any = None, patch_type: PatchType = PatchType.MERGE, **query: Any
) -> Any:
    read = Body() if body is None else read_json(json.dumps(body))
    values = {name: value if isinstance(value, list) else [value] for name, value in query.items()}
    return answer(server, Call(method, path, values, read, patch_type), NOW)


def service(**spec: Any) -> Manifest:
    ports = [{"port": 80}, {"name": "b", "port": 81}] if spec.get("type") == "LoadBalancer" else [{"port": 80}]
    named = [{"name": "a", **port} for port in ports]
    return {"metadata": {"name": "s"}, "spec": {"selector": LABELS, "ports": named, **spec}}


@pytest.fixture
def frozen(server: ApiServer) -> ApiServer:
    server.carry_out(bootstrap_requests(NOW), NOW)
    return server


def test_service_shows_what_no_service_can_have(frozen: ApiServer) -> None:
    balancer = service(type="LoadBalancer", externalTrafficPolicy="Local")
    first, second = (ask(frozen, "POST", SERVICES, balancer, dryRun="All").body["spec"] for _ in range(2))
    assert first == second
    assert (first["clusterIP"], first["clusterIPs"]) == ("10.96.0.0", ["10.96.0.0"])
    assert [port["nodePort"] for port in first["ports"]] == [32769, 32770]
    assert first["healthCheckNodePort"] == 32771


def test_service_may_ask_for_what_is_taken(frozen: ApiServer) -> None:
    taken = ask(frozen, "POST", SERVICES, service(type="NodePort")).body["spec"]
    other = {"metadata": {"name": "t"}, "spec": service(clusterIP=taken["clusterIP"])["spec"]}
    assert ask(frozen, "POST", SERVICES, other, dryRun="All").code == 201
    assert ask(frozen, "POST", SERVICES, other).code == 422
    port = {"name": "a", "port": 80, "nodePort": taken["ports"][0]["nodePort"]}
    other = {"metadata": {"name": "t"}, "spec": service(type="NodePort", ports=[port])["spec"]}
    assert ask(frozen, "POST", SERVICES, other, dryRun="All").code == 422


@cases(
    "method, path, body",
    ("create", "POST", MAPS, {"metadata": {"name": "c"}}),
    ("replace", "PUT", MAPS + "/there", {"metadata": {"name": "there"}, "data": {"a": "b"}}),
    ("patch", "PATCH", MAPS + "/there", {"data": {"a": "b"}}),
    ("patch of a service that gets a port", "PATCH", SERVICES + "/s", {"spec": {"type": "NodePort"}}),
    ("delete", "DELETE", MAPS + "/there", None),
)
def test_second_answer_is_the_first(frozen: ApiServer, method: str, path: str, body: Any) -> None:
    ask(frozen, "POST", MAPS, {"metadata": {"name": "there"}})
    ask(frozen, "POST", SERVICES, service())
    first, second = (ask(frozen, method, path, body, dryRun="All") for _ in range(2))
    assert first.code == second.code < 300
    for one in (first, second):
        one.body["metadata"].pop("uid", None) if method == "POST" else None
    assert first.body == second.body


# Evictions


def running(server: ApiServer, *allowed: int) -> None:
    """A pod that runs, and as many budgets of it as there are numbers of disruptions they allow."""
    done(server, pod(metadata={"labels": LABELS}, nodeName="n"))
    done(server, Patch(POD, {"status": {"phase": "Running"}}, PatchType.MERGE, "status"))
    for number, disruptions in enumerate(allowed):
        spec = {"minAvailable": 1, "selector": {"matchLabels": LABELS}}
        ask(server, "POST", BUDGETS, {"metadata": {"name": f"b{number}"}, "spec": spec})
        status = {"observedGeneration": 1, "disruptionsAllowed": disruptions, "desiredHealthy": 0, "currentHealthy": 0}
        assert ask(server, "PATCH", f"{BUDGETS}/b{number}/status", {"status": status}).code == 200


def evict(server: ApiServer, options: Any = None, **query: Any) -> Any:
    body = {"metadata": {"name": "p"}} | ({} if options is None else {"deleteOptions": options})
    return ask(server, "POST", EVICTION, body, **query)


def conditions(server: ApiServer) -> list[str]:
    return [one["type"] for one in stored(server)["status"].get("conditions") or ()]


def allowed(server: ApiServer) -> int:
    number: int = stored(server, ObjectKey("PodDisruptionBudget", "default", "b0"))["status"]["disruptionsAllowed"]
    return number


WRONG_POLICY = {"propagationPolicy": "Sideways"}


def test_two_budgets_are_an_error_without_a_reason(frozen: ApiServer) -> None:
    running(frozen, 1, 1)
    reply = evict(frozen, WRONG_POLICY)
    assert (reply.code, "reason" in reply.body, "details" in reply.body) == (500, False, False)
    assert reply.body["message"].startswith("This pod has more than one PodDisruptionBudget")


def test_budget_is_asked_before_the_options_are_looked_at(frozen: ApiServer) -> None:
    running(frozen, 0)
    assert evict(frozen, WRONG_POLICY).code == 429
    assert evict(frozen, {"dryRun": ["Some"]}).code == 429


def test_wrong_options_are_found_when_the_budget_is_taken(frozen: ApiServer) -> None:
    running(frozen, 1)
    reply = evict(frozen, WRONG_POLICY)
    assert reply.code == 422 and reply.body["message"].startswith('DeleteOptions.meta.k8s.io "" is invalid: ')
    assert allowed(frozen) == 0 and conditions(frozen) == ["DisruptionTarget"]
    assert "deletionTimestamp" not in stored(frozen)["metadata"]


@cases(
    "in_body, query, code",
    ("in the body", ["All"], {}, 201),
    ("in the query", [], {"dryRun": "All"}, 201),
    ("in both", ["All"], {"dryRun": "All"}, 201),
    ("in odd words", ["Some"], {}, 422),
    ("twice in the query", ["All"], {"dryRun": ["All", "All"]}, 500),
)
def test_dry_run_may_be_asked_in_two_places(
    frozen: ApiServer, in_body: list[str], query: dict[str, Any], code: int
) -> None:
    running(frozen, 1)
    reply = evict(frozen, {"dryRun": in_body}, **query)
    assert reply.code == code
    if code == 500:
        assert reply.body["message"] == "Non-matching dry-run options in request and content: [All All] and [All]"
    assert allowed(frozen) == 1 and conditions(frozen) == []


def test_missing_pod_is_found_missing_first(frozen: ApiServer) -> None:
    assert evict(frozen, WRONG_POLICY).code == 404


def test_options_may_say_what_they_are_and_count(frozen: ApiServer) -> None:
    running(frozen)
    options = {"kind": "DeleteOptions", "apiVersion": "policy/v1", "propagationPolicy": "Foreground"}
    reply = evict(frozen, options)
    assert (reply.code, reply.warnings) == (201, ())
    assert stored(frozen)["metadata"]["finalizers"] == ["foregroundDeletion"]


# Warnings of jobs and of owner references


@cases(
    "path, body, is_warned",
    ("one job", "/j", None, True),
    ("at once", "/j", {"gracePeriodSeconds": 0}, True),
    ("orphans", "/j", {"propagationPolicy": "Orphan"}, False),
    ("dependents that go, in old words", "/j", {"orphanDependents": False}, False),
    ("all jobs", "", None, True),
    ("all jobs with their pods", "", {"propagationPolicy": "Background"}, False),
)
def test_jobs_leave_their_pods_with_a_warning(frozen: ApiServer, path: str, body: Any, is_warned: bool) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    assert ask(frozen, "POST", jobs, {"metadata": {"name": "j"}, "spec": {"template": template}}).code == 201
    reply = ask(frozen, "DELETE", jobs + path, body)
    assert reply.code == 200
    assert [text[:10] for text in reply.warnings] == (["child pods"] if is_warned else [])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_owners_that_stand_twice_are_kept_once(frozen: ApiServer, method: str) -> None:
    ask(frozen, "POST", MAPS, {"metadata": {"name": "there"}})
    one, other = ({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name} for name in "ab")
    name = "new" if method == "POST" else "there"
    body = {"metadata": {"name": name, "ownerReferences": [one, other, one, {**one, "name": "c"}, other]}}
    reply = ask(frozen, method, MAPS if method == "POST" else f"{MAPS}/there", body)
    assert reply.code < 300
    assert reply.body["metadata"]["ownerReferences"] == [one, other, {**one, "name": "c"}]
    (warning,) = reply.warnings
    assert warning.endswith("duplicate UID(s) observed: a, b")
    assert ("after mutating admission happens" in warning) == (method == "PATCH")


# Default classes

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


@pytest.mark.parametrize("mark", ["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"])
@pytest.mark.parametrize(("made", "chosen"), [([("b", 0), ("a", 0)], "a"), ([("a", 0), ("b", 1)], "b")])
def test_of_two_default_classes_the_newer_then_the_first(
    frozen: ApiServer, mark: str, made: list[tuple[str, int]], chosen: str
) -> None:
    for name, seconds in made:
        metadata = {"name": name, "annotations": {f"{mark}/is-default-class": "true"}}
        call = Call("POST", CLASSES, {}, Body({"metadata": metadata, "provisioner": "x"}))
        answer(frozen, call, NOW + seconds * 1_000_000)
    claim = {"metadata": {"name": "c"}, **CLAIM}
    reply = ask(frozen, "POST", "/api/v1/namespaces/default/persistentvolumeclaims", claim)
    assert reply.body["spec"]["storageClassName"] == chosen
