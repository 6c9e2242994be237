"""Server-side apply and managedFields: who owns what after creations, updates, patches and applies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.apiserver.bodies import Body
from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import Bind, Create, ObjectKey, Patch, PatchType, ReportUnschedulable
from scheduler_core.apiserver.server import ApiServer
from tests.cases import cases
from tests.core.apiserver.asking import NOW, POD, SECOND, UNSCHEDULABLE, done, empty_server, made, pod

PODS, PDBS = "/api/v1/namespaces/default/pods", "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
Manifest = dict[str, Any]


class Asking:
    """Clients of one API server, each request a second after the one before."""

    def __init__(self) -> None:
        self.server = empty_server(keeps_history=True, is_simulated=False)
        self.now = NOW
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        patch: PatchType = PatchType.MERGE,
        agent: str = "",
        **query: str,
    ) -> Reply:
        self.now += SECOND
        asked = {name: [value] for name, value in query.items()}
        reply = answer(self.server, Call(method, path, asked, Body(body), patch, agent), self.now)
        assert isinstance(reply, Reply)
        return reply

    def apply(self, path: str, body: Any, manager: str, **query: str) -> Reply:
        return self.ask("PATCH", path, body, PatchType.APPLY, fieldManager=manager, **query)


@pytest.fixture
def clients() -> Asking:
    return Asking()


def labelled(**labels: str) -> Manifest:
    containers = [{"name": "c", "image": "i:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **({"labels": labels} if labels else {})},
            "spec": {"schedulerName": "x", "containers": containers}}  # fmt: skip


def owners(reply: Reply) -> dict[tuple[str, str, str], Any]:
    """Fields by manager, operation and subresource."""
    assert reply.code in (200, 201), reply.body
    entries = reply.body["metadata"].get("managedFields", ())
    return {(each["manager"], each["operation"], each.get("subresource", "")): each["fieldsV1"] for each in entries}


def test_creation_belongs_to_its_manager_without_what_admission_adds(clients: Asking) -> None:
    reply = clients.ask("POST", PODS, labelled(a="b"), agent="kubectl/v1.34 (linux)")
    ((key, fields),) = owners(reply).items()
    assert key == ("kubectl", "Update", "")
    assert fields["f:metadata"] == {"f:labels": {".": {}, "f:a": {}}}
    assert fields["f:spec"]["f:containers"]['k:{"name":"c"}'].keys() >= {".", "f:image", "f:imagePullPolicy", "f:name"}
    assert "f:dnsPolicy" in fields["f:spec"]
    assert not fields["f:spec"].keys() & {"f:priority", "f:tolerations"} and "f:status" not in fields
    (entry,) = reply.body["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsType"], entry["time"]) == ("v1", "FieldsV1", "2030-01-01T00:00:02Z")


def test_update_takes_what_it_changes_and_no_more(clients: Asking) -> None:
    clients.ask("POST", PODS, labelled(a="1", b="1"), fieldManager="one")
    body = {"metadata": {"labels": {"a": "2", "b": "1", "c": "1"}}}
    found = owners(clients.ask("PATCH", f"{PODS}/p", body, fieldManager="two"))
    assert found["two", "Update", ""] == {"f:metadata": {"f:labels": {"f:a": {}, "f:c": {}}}}
    assert found["one", "Update", ""]["f:metadata"] == {"f:labels": {".": {}, "f:b": {}}}


def test_what_is_not_applied_any_more_goes_unless_somebody_else_owns_it(clients: Asking) -> None:
    created = clients.apply(f"{PODS}/p", labelled(a="1", b="1"), "one")
    assert created.code == 201
    assert owners(created)["one", "Apply", ""]["f:metadata"] == {"f:labels": {"f:a": {}, "f:b": {}}}
    clients.apply(f"{PODS}/p", labelled(b="1"), "two")
    reply = clients.apply(f"{PODS}/p", labelled(), "one")
    assert reply.body["metadata"]["labels"] == {"b": "1"}
    assert "f:metadata" not in owners(reply)["one", "Apply", ""]


def test_conflict_names_manager_and_field_and_force_takes_it(clients: Asking) -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    one, two = ({**budget, "spec": {"minAvailable": number}} for number in (1, 2))
    clients.apply(f"{PDBS}/b", one, "one")
    refused = clients.apply(f"{PDBS}/b", two, "two")
    assert (refused.code, refused.body["reason"]) == (409, "Conflict")
    assert refused.body["message"] == 'Apply failed with 1 conflict: conflict with "one": .spec.minAvailable'
    assert refused.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".spec.minAvailable"}
    ]
    found = owners(clients.apply(f"{PDBS}/b", two, "two", force="true"))
    assert found == {("two", "Apply", ""): {"f:spec": {"f:minAvailable": {}}}}


def test_conflicts_with_several_are_listed_by_manager(clients: Asking) -> None:
    clients.ask("POST", PODS, labelled(a="1"), fieldManager="made")
    status = {"status": {"phase": "Running"}, "metadata": {"labels": {"b": "1"}}}
    clients.ask("PATCH", f"{PODS}/p/status", status, fieldManager="kubelet")
    refused = clients.apply(f"{PODS}/p", labelled(a="2", b="2"), "me")
    assert refused.body["message"] == (
        'Apply failed with 2 conflicts: conflicts with "kubelet" with subresource "status" using v1:\n'
        '- .metadata.labels.b\nconflicts with "made" using v1:\n- .metadata.labels.a'
    )


def test_apply_of_the_same_changes_nothing(clients: Asking) -> None:
    before = clients.apply(f"{PODS}/p", labelled(a="1"), "one").body
    assert clients.apply(f"{PODS}/p", labelled(a="1"), "one").body == before
    assert clients.ask("PUT", f"{PODS}/p", before, fieldManager="other").body == before


def test_dry_run_shows_owners_and_stores_nothing(clients: Asking) -> None:
    reply = clients.apply(f"{PODS}/p", labelled(a="1"), "one", dryRun="All")
    assert reply.code == 201 and owners(reply)
    assert clients.ask("GET", f"{PODS}/p").code == 404


def test_items_are_merged_by_the_keys_of_their_list(clients: Asking) -> None:
    clients.apply(f"{PODS}/p", labelled(), "one")
    other = labelled()
    other["spec"]["containers"] = [
        {"name": "c", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]}
    ]
    refused = clients.apply(f"{PODS}/p", other, "two")
    assert refused.code == 422  # only images of a pod may change
    other["kind"], other["apiVersion"] = "ReplicaSet", "apps/v1"
    mine = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}}
    clients.apply(f"{SETS}/r", {**mine, "spec": SELECTED}, "one")
    ports = {"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}}}
    reply = clients.apply(f"{SETS}/r", {**mine, "spec": ports}, "two")
    (container,) = reply.body["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "i" and container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    fields = owners(reply)["two", "Apply", ""]["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert 'k:{"containerPort":80,"protocol":"TCP"}' in fields["f:ports"]


def test_claims_of_a_statefulset_may_say_that_they_are_claims(clients: Asking) -> None:
    path, labels = "/apis/apps/v1/namespaces/default/statefulsets/db", {"app": "db"}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    config = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
              "spec": {**spec, "volumeClaimTemplates": [{**claim, "spec": size}]}}  # fmt: skip
    reply = clients.apply(path, config, "me")
    assert reply.code == 201, reply.body
    assert reply.body["spec"]["volumeClaimTemplates"][0]["kind"] == "PersistentVolumeClaim"


def test_replicas_belong_to_who_scales(clients: Asking) -> None:
    spec = {"replicas": 1, **SELECTED}
    config = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": spec}
    clients.apply(f"{SETS}/r", config, "one")
    clients.ask("PATCH", f"{SETS}/r/scale", {"spec": {"replicas": 3}}, fieldManager="scaler")
    found = owners(clients.ask("GET", f"{SETS}/r"))
    assert found["scaler", "Update", "scale"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in found["one", "Apply", ""]["f:spec"]
    refused = clients.apply(f"{SETS}/r", config, "one")
    assert refused.body["details"]["causes"][0]["message"] == (
        'conflict with "scaler" with subresource "scale" using apps/v1'
    )


def test_kubectl_takes_over_what_it_applied_on_the_clients_side(clients: Asking) -> None:
    before = labelled(a="1")
    text = json.dumps(before)
    created = {**before, "metadata": {**before["metadata"], "annotations": {_LAST: text}}}
    clients.ask("POST", PODS, created, fieldManager="kubectl-client-side-apply")
    assert clients.apply(f"{PODS}/p", labelled(a="2"), "other").code == 409
    reply = clients.apply(f"{PODS}/p", labelled(a="2"), "kubectl")
    assert reply.code == 200
    assert json.loads(reply.body["metadata"]["annotations"][_LAST]) == labelled(a="2")


_LAST = "kubectl.kubernetes.io/last-applied-configuration"


def test_eleven_who_update_become_ten(clients: Asking) -> None:
    clients.ask("POST", PODS, labelled(), fieldManager="m00")
    for number in range(1, 12):
        body = {"metadata": {"labels": {f"l{number}": "1"}}}
        reply = clients.ask("PATCH", f"{PODS}/p", body, fieldManager=f"m{number:02}")
    names = [each["manager"] for each in reply.body["metadata"]["managedFields"]]
    assert len(names) == 10 and names[0] == "ancient-changes" and names[-1] == "m11"


def test_client_may_empty_the_list_and_the_first_apply_names_what_was_there(clients: Asking) -> None:
    clients.ask("POST", PODS, labelled(a="1"), fieldManager="one")
    emptied = clients.ask("PATCH", f"{PODS}/p", {"metadata": {"managedFields": [{}]}}, fieldManager="two")
    assert owners(emptied) == {}
    assert owners(clients.ask("PATCH", f"{PODS}/p", {"metadata": {"labels": {"b": "1"}}}, fieldManager="two")) == {}
    refused = clients.apply(f"{PODS}/p", labelled(a="2"), "me")
    assert 'conflict with "before-first-apply" using v1: .metadata.labels.a' in refused.body["message"]


def test_binds_reports_and_writes_without_manager_leave_the_list_alone(server: ApiServer) -> None:
    tracked = made(server, Create(pod().manifest, manager="one"))["metadata"]["managedFields"]
    reported = made(server, ReportUnschedulable(POD, UNSCHEDULABLE))
    assert reported["metadata"]["managedFields"] == tracked
    done(server, Bind(POD, "n1"))
    patched = made(server, Patch(POD, {"metadata": {"labels": {"x": "y"}}}))
    assert patched["metadata"]["managedFields"] == tracked
    untracked = made(server, Create({**pod("q").manifest}))
    assert "managedFields" not in untracked["metadata"]
    patch = Patch(ObjectKey("Pod", "default", "q"), {"metadata": {"labels": {"x": "y"}}}, manager="one")
    assert "managedFields" not in made(server, patch)["metadata"]


_TYPED = "failed to create typed patch object (/p; /v1, Kind=Pod): "


@cases(
    "change, code, message",
    ("another kind", {"kind": "Node"}, 400, "invalid object type: /v1, Kind=Node"),
    ("no version", {"apiVersion": None}, 400, "invalid object type: /, Kind=Pod"),
    ("unknown field", {"spec": {"x": 1}}, 500, f"{_TYPED}.spec.x: field not declared in schema"),
    ("text for a number", {"spec": {"priority": "5"}}, 500,
     f"{_TYPED}.spec.priority: expected numeric (int or float), got string"),
    ("map for a list", {"spec": {"containers": {"a": 1.5}}}, 500,
     f"{_TYPED}.spec.containers: expected list, got &{{map[a:1.5]}}"),
    ("twice in a set", {"metadata": {"finalizers": ["a", "a"]}}, 500,
     f'{_TYPED}.metadata.finalizers: duplicate entries for key [="a"]'),
    ("twice by key", {"spec": {"containers": [{"name": "c"}, {"name": "c"}]}}, 500,
     f'{_TYPED}.spec.containers: duplicate entries for key [name="c"]'),
    ("owners", {"metadata": {"managedFields": []}}, 400, "metadata.managedFields must be nil"),
    ("another name", {"metadata": {"name": "q"}}, 400,
     "the name of the object (q) does not match the name on the URL (p)"),
    ("another namespace", {"metadata": {"namespace": "other"}}, 400,
     "the namespace of the provided object does not match the namespace sent on the request"),
    ("an object that is gone", {"metadata": {"uid": "7"}}, 409,
     'Operation cannot be fulfilled on pods "p": uid mismatch: the provided object specified uid 7, and no'
     " existing object was found"),
)  # fmt: skip
def test_what_cannot_be_applied_is_refused_in_the_servers_words(
    clients: Asking, change: Manifest, code: int, message: str
) -> None:
    config = labelled()
    for name, value in change.items():
        config[name] = {**config[name], **value} if isinstance(value, dict) else value
    reply = clients.apply(f"{PODS}/p", config, "me")
    assert reply.code == code
    assert reply.body["message"].replace("/q;", "/p;").replace("other/p", "/p") == message


@cases(
    "body, message",
    ("a list", ["x"], "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array"
     " into Go value of type map[string]interface {}"),
    ("nothing", None, "invalid object type: /, Kind="),
)  # fmt: skip
def test_body_that_is_no_object_cannot_be_applied(clients: Asking, body: Any, message: str) -> None:
    reply = clients.apply(f"{PODS}/p", body, "me")
    assert (reply.code, reply.body["message"]) == (400, message)


@cases(
    "patch, query, problem",
    ("nobody", PatchType.APPLY, {}, "fieldManager: Required value: is required for apply patch"),
    ("force", PatchType.MERGE, {"force": "true"}, "force: Forbidden: may not be specified for non-apply patch"),
    ("a long name", PatchType.MERGE, {"fieldManager": "x" * 129},
     "fieldManager: Too long: may not be more than 128 bytes"),
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(
    clients: Asking, patch: PatchType, query: dict[str, str], problem: str
) -> None:
    reply = clients.ask("PATCH", f"{PODS}/p", labelled(), patch, **query)
    assert (reply.code, reply.body["message"]) == (422, f'PatchOptions.meta.k8s.io "" is invalid: {problem}')


def test_new_port_gets_a_number_that_no_later_port_of_the_service_has(clients: Asking) -> None:
    services, ports = "/api/v1/namespaces/default/services", [{"name": "b", "port": 81}]
    clients.ask("POST", services, {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}})
    spec = {"ports": [{"name": "a", "port": 80}, *ports]}
    reply = clients.ask("PATCH", f"{services}/s", {"spec": spec})
    assert reply.code == 200, reply.body
    assert len({port["nodePort"] for port in reply.body["spec"]["ports"]}) == 2
