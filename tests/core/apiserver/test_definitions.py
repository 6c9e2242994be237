"""Definitions of kinds are checked as kube-apiserver checks them, served at once, and gone with their objects."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from scheduler_core.apiserver.custom.definitions import is_defined_anew, version_order
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.tables import table
from tests.cases import cases
from tests.core.apiserver.asking import NOW, problems
from tests.core.apiserver.custom_samples import DENS, GROUP, definition, den, version
from tests.core.apiserver.customs import DEFINITIONS, DEN_PATH, made, new_server, send

TEXT = {"type": "string"}
OBJECT = {"type": "object"}


@pytest.fixture
def server() -> ApiServer:
    return new_server()


def conditions(manifest: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in manifest["status"]["conditions"]}


def test_a_definition_is_served_as_soon_as_it_is_there(server: ApiServer) -> None:
    found = send(server, "GET", f"{DEFINITIONS}/dens.{GROUP}").body
    assert conditions(found) == {"NamesAccepted": "True", "Established": "True"}
    names = {"plural": "dens", "singular": "den", "kind": "Den", "listKind": "DenList", "shortNames": ["dn"]}
    assert found["spec"]["names"] == names | {"categories": ["all", "otters"]} == found["status"]["acceptedNames"]
    assert found["status"]["storedVersions"] == ["v1"] and found["spec"]["conversion"] == {"strategy": "None"}
    assert send(server, "GET", DEN_PATH).body["items"] == []
    (row,) = table("CustomResourceDefinition", [found], NOW)["rows"]
    assert row["cells"] == [
        f"dens.{GROUP}", "Namespaced", "v1(storage)", "2030-01-01T00:00:00Z", GROUP, "Den", "dn", True,
    ]  # fmt: skip


def test_there_is_nothing_where_nothing_is_defined(server: ApiServer) -> None:
    for path in (f"/apis/{GROUP}/v2/dens", f"/apis/{GROUP}/v1/otters", "/apis/other.example/v1/dens"):
        assert send(server, "GET", path).code == 404
    assert send(server, "GET", DEFINITIONS).body["kind"] == "CustomResourceDefinitionList"


def with_schema(schema: Any, **parts: Any) -> dict[str, Any]:
    return definition(versions=[version(schema=schema, **parts)])


def of(properties: Any) -> dict[str, Any]:
    return with_schema({"type": "object", "properties": properties})


SCHEMA = "spec.validation.openAPIV3Schema"
FIELD = f"{SCHEMA}.properties[spec]"


@cases(
    "manifest, told",
    ("its name", definition() | {"metadata": {"name": "x"}},
     ['metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group']),
    ("a group without a point", definition(group="otters"),
     ['spec.group: Invalid value: "otters": should be a domain with at least one dot']),
    ("a scope", definition(scope="World"),
     ['spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"']),
    ("no schema", definition(versions=[{"name": "v1", "served": True, "storage": True}]),
     ["spec.versions[0].schema.openAPIV3Schema: Required value"]),
    ("a kind that is its list", definition(names={"listKind": "Den"}),
     ['spec.names.listKind: Invalid value: "Den": kind and listKind may not be the same']),
    ("no type at the root", with_schema({"properties": {}}),
     [f"{SCHEMA}.type: Required value: must not be empty at the root"]),
    ("no type of a field", of({"spec": {"description": "x"}}),
     [f"{FIELD}.type: Required value: must not be empty for specified object fields"]),
    ("a list of what", of({"spec": {"type": "array"}}), [f"{FIELD}.items: Required value: must be specified"]),
    ("metadata", of({"metadata": {"type": "object", "properties": {"labels": OBJECT}}}),
     [f"{SCHEMA}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but"
      " metadata is implicitly specified"]),
    ("structure in a combination", of({"spec": {"type": "string", "anyOf": [{"type": "string"}]}}),
     [f"{FIELD}.anyOf[0].type: Forbidden: must be empty to be structural"]),
    ("a field of combinations alone", with_schema({"type": "object", "not": {"properties": {"a": {"minLength": 1}}}}),
     [f"{SCHEMA}.properties[a]: Required value: because it is defined in {SCHEMA}.not.properties[a]"]),
    ("a type that there is not", of({"spec": {"type": "otter"}}),
     [f'{FIELD}.type: Unsupported value: "otter": supported values: "array", "boolean", "integer", "number", "object",'
      ' "string"']),
    ("a reference", of({"spec": {"type": "object", "$ref": "x"}}), [f"{FIELD}.$ref: Forbidden: $ref is not supported"]),
    ("a default that does not fit", of({"spec": {"type": "string", "default": 7}}),
     [f'{FIELD}.default: Invalid value: "integer": {FIELD}.default in body must be of type string: "integer"']),
    ("a default with more than there is", of({"spec": {"type": "object", "default": {"x": 1}}}),
     [f'{FIELD}.default: Invalid value: {{"x":1}}: must not have unknown fields']),
    ("an expression that is none", of({"spec": {"type": "string", "pattern": "("}}),
     [f'{FIELD}.pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: missing ): (']),
    ("keys of no map", of({"spec": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "map"}}),
     [f"{FIELD}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
      f'{FIELD}.items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map']),
    ("a column's type", with_schema(OBJECT, additionalPrinterColumns=[{"name": "A", "type": "x", "jsonPath": ".a"}]),
     ['spec.additionalPrinterColumns[0].type: Invalid value: "x": must be one of boolean,date,integer,number,string']),
    ("a column's path", with_schema(OBJECT, additionalPrinterColumns=[{"name": "A", "type": "date", "jsonPath": "a"}]),
     ['spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .']),
    ("replicas elsewhere",
     with_schema(OBJECT, subresources={"scale": {"specReplicasPath": ".a", "statusReplicasPath": ".status.b"}}),
     ['spec.subresources.scale.specReplicasPath: Invalid value: ".a": should be a json path under .spec']),
    ("a webhook that nobody names", definition(conversion={"strategy": "Webhook"}),
     ["spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
      "spec.conversion.conversionReviewVersions: Required value"]),
    ("all fields kept", definition(preserveUnknownFields=True),
     ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to"
      " true in spec.versions[*].schema instead"]),
    ("a protected group", definition(group="den.k8s.io"),
     ['metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation'
      ' "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111']),
    ("a rule without words", with_schema({**OBJECT, "x-kubernetes-validations": [{"rule": " "}]}),
     [f"{SCHEMA}.x-kubernetes-validations[0].rule: Required value: rule is not specified"]),
)  # fmt: skip
def test_a_definition_is_checked(manifest: Any, told: list[str]) -> None:
    server = new_server(definition("seals", "Seal"))
    assert problems(send(server, "POST", DEFINITIONS, manifest)) == told


@cases(
    "versions, told",
    ("no version is stored", [version(storage=False)], "must have exactly one version marked as storage version"),
    ("two are", [version(), version("v2", OBJECT)], "must have exactly one version marked as storage version"),
    ("two have a name", [version(), version(storage=False)], "must contain unique version names"),
    ("a name", [version("V1")], "spec.versions[0].name: Invalid value"),
)  # fmt: skip
def test_one_version_is_that_of_storage(versions: list[Any], told: str) -> None:
    reply = send(new_server(), "POST", DEFINITIONS, definition("seals", "Seal", versions=versions))
    assert reply.code == 422 and told in reply.body["message"]


def test_what_names_its_objects_stays(server: ApiServer) -> None:
    found = deepcopy(send(server, "GET", f"{DEFINITIONS}/dens.{GROUP}").body)
    found["spec"]["scope"], found["spec"]["names"]["kind"] = "Cluster", "Lair"
    told = problems(send(server, "PUT", f"{DEFINITIONS}/dens.{GROUP}", found))
    assert told == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Lair": field is immutable',
    ]


@cases(
    "other, reason, name",
    ("a plural", definition("den", "Cave"), "PluralConflict", "den"),
    ("a singular", definition("caves", "Cave", names={"singular": "dens"}), "SingularConflict", "dens"),
    ("a short name", definition("caves", "Cave", names={"shortNames": ["dn"]}), "ShortNamesConflict", "dn"),
    ("a kind", definition("caves", "Den", names={"listKind": "Caves"}), "KindConflict", "Den"),
    ("a kind of lists", definition("caves", "Cave", names={"listKind": "DenList"}), "ListKindConflict", "DenList"),
    ("many", definition("caves", "Den", names={"shortNames": ["dn"]}), "ListKindConflict", "DenList"),
)
def test_names_that_others_have_are_not_accepted(server: ApiServer, other: Any, reason: str, name: str) -> None:
    found = made(server, DEFINITIONS, other)
    assert conditions(found) == {"NamesAccepted": "False", "Established": "False"}
    (said,) = [one for one in found["status"]["conditions"] if one["type"] == "NamesAccepted"]
    assert (said["reason"], said["message"]) == (reason, f'"{name}" is already in use')
    assert send(server, "GET", f"/apis/{GROUP}/v1/{other['spec']['names']['plural']}").code == 404


def test_versions_are_preferred_by_how_stable_and_how_new_they_are() -> None:
    # The example of the documentation of Kubernetes.
    order = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert sorted({*order}, key=version_order) == order


def test_a_version_that_is_not_served_is_not_there() -> None:
    server = new_server(definition(versions=[version(storage=False), version("v2", served=False)]))
    made(server, DEN_PATH, den())
    assert send(server, "GET", f"{DEN_PATH}/deep").code == 200
    assert send(server, "GET", f"/apis/{GROUP}/v2/namespaces/default/dens/deep").code == 404


def test_a_new_storage_version_is_one_more_of_those_that_were_stored(server: ApiServer) -> None:
    found = deepcopy(send(server, "GET", f"{DEFINITIONS}/dens.{GROUP}").body)
    found["spec"]["versions"][0]["storage"] = False
    found["spec"]["versions"].append(version("v2"))
    reply = send(server, "PUT", f"{DEFINITIONS}/dens.{GROUP}", found)
    assert reply.body["status"]["storedVersions"] == ["v1", "v2"] and reply.body["metadata"]["generation"] == 2
    reply.body["spec"]["versions"].pop(0)
    told = send(server, "PUT", f"{DEFINITIONS}/dens.{GROUP}", reply.body)
    assert "v1 was previously a storage version" in told.body["message"]


def test_its_objects_go_with_it(server: ApiServer) -> None:
    made(server, DEN_PATH, den())
    reply = send(server, "DELETE", f"{DEFINITIONS}/dens.{GROUP}")
    assert reply.code == 200 and conditions(reply.body)["Terminating"] == "True"
    assert server.store.list("Den.otters.example") == []
    assert server.store.get(ObjectKey("CustomResourceDefinition", "", f"dens.{GROUP}")) is None
    operations = [(entry.operation, entry.manifest["kind"]) for entry in server.store._history[-3:]]  # type: ignore[index]
    assert operations == [
        ("updated", "CustomResourceDefinition"), ("deleted", "Den"), ("deleted", "CustomResourceDefinition"),
    ]  # fmt: skip


def test_it_waits_for_objects_that_are_kept(server: ApiServer) -> None:
    kept = den() | {"metadata": {"name": "deep", "finalizers": ["otters.example/sleep"]}}
    made(server, DEN_PATH, kept)
    send(server, "DELETE", f"{DEFINITIONS}/dens.{GROUP}")
    assert send(server, "GET", f"{DEN_PATH}/deep").body["metadata"]["deletionTimestamp"]
    assert send(server, "POST", DEN_PATH, den("other")).code == 403
    assert send(server, "PATCH", f"{DEN_PATH}/deep", {"metadata": {"finalizers": None}}).code == 200
    assert send(server, "GET", f"{DEFINITIONS}/dens.{GROUP}").code == 404


def test_finalizers_of_others_keep_a_definition_whose_objects_are_gone() -> None:
    path, kept = f"{DEFINITIONS}/dens.{GROUP}", ["otters.example/sleep"]
    server = new_server({**DENS, "metadata": {**DENS["metadata"], "finalizers": kept}})
    made(server, DEN_PATH, den())
    send(server, "DELETE", path)
    found = send(server, "GET", path).body
    assert found["metadata"]["finalizers"] == kept and conditions(found)["Terminating"] == "False"
    assert server.store.list("Den.otters.example") == []
    assert send(server, "PATCH", path, {"metadata": {"finalizers": None}}).code == 200
    assert send(server, "GET", path).code == 404


def test_what_a_change_of_a_definition_defines_anew() -> None:
    server, path = new_server(DENS), f"{DEFINITIONS}/dens.{GROUP}"
    for body in ({"metadata": {"labels": {"a": "b"}}}, {"spec": {"names": {"shortNames": ["lodge"]}}}):
        assert send(server, "PATCH", path, body).code == 200
    send(server, "DELETE", path)
    entries = server.store.logged_after("CustomResourceDefinition", 0)
    assert [(each.operation, is_defined_anew(each)) for each in entries] == [
        ("created", True), ("updated", False), ("updated", True), ("updated", False), ("deleted", True),
    ]  # fmt: skip


@pytest.mark.parametrize("is_dry", (True, False))
def test_a_dry_run_defines_nothing(server: ApiServer, is_dry: bool) -> None:
    query = {"dryRun": "All"} if is_dry else {}
    assert send(server, "POST", DEFINITIONS, definition("seals", "Seal"), **query).code == 201
    assert (send(server, "GET", f"/apis/{GROUP}/v1/seals").code == 200) is not is_dry


def test_what_is_without_effect_is_told() -> None:
    hook = {"clientConfig": {"url": "https://x.example"}, "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": hook}
    reply = send(new_server(), "POST", DEFINITIONS, definition("seals", "Seal", conversion=conversion))
    assert reply.code == 201 and "no webhook is called" in reply.warnings[0]
    assert DENS["spec"]["names"]["kind"] == "Den"
