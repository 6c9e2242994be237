"""PodTemplates and VolumeAttributesClasses, as kube-apiserver treats them."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.manifests import decode
from scheduler_core.api.storage import VolumeAttributesClass
from scheduler_core.api.workload import PodTemplate
from scheduler_core.apiserver import tables
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import Stored
from tests.builders import written
from tests.cases import cases

NOW = 1_900_000_000_000_000
TEMPLATE = ObjectKey("PodTemplate", "default", "otter")
CLASS = ObjectKey("VolumeAttributesClass", "", "silver")
Manifest = dict[str, Any]


@pytest.fixture
def server() -> ApiServer[MemoryStore]:
    return ApiServer(MemoryStore(), lambda: "00000000-0000-4000-8000-000000000001")


def template(**spec: Any) -> Create:
    pod = {"containers": [{"name": "c", "image": "i:1"}], **spec}
    made = {"metadata": {"labels": {"app": "otter", "a": "b"}}, "spec": pod}
    return Create(written("PodTemplate", "otter", template=made), manager="kubectl")


def attributes(**fields: Any) -> Create:
    given = {"driverName": "example.com/p", "parameters": {"iops": "100"}} | fields
    return Create(written("VolumeAttributesClass", "silver", **given), manager="kubectl")


def ask(server: ApiServer[MemoryStore], request: Request) -> Outcome | Refused:
    (answer,) = server.carry_out([request], NOW)
    return answer


def done(server: ApiServer[MemoryStore], request: Request) -> Stored:
    answer = ask(server, request)
    assert isinstance(answer, Outcome) and isinstance(answer.answer, dict), answer
    return answer.answer


def refusal(server: ApiServer[MemoryStore], request: Request) -> str:
    answer = ask(server, request)
    assert isinstance(answer, Refused) and answer.status.code == 422
    return answer.status.message


def test_template_is_defaulted_and_its_changes_are_counted(server: ApiServer[MemoryStore]) -> None:
    made = done(server, template(hostnameOverride="h"))
    spec = made["template"]["spec"]
    assert (made["metadata"]["generation"], spec["restartPolicy"], spec["schedulerName"]) == (
        1,
        "Always",
        "default-scheduler",
    )
    assert "hostnameOverride" not in spec, "behind a gate that is off"
    assert "tolerations" not in spec, "admission of pods is not that of templates"
    labelled = done(server, Patch(TEMPLATE, {"metadata": {"labels": {"x": "y"}}}))
    changed = done(server, Patch(TEMPLATE, {"template": {"metadata": {"labels": {"app": "seal"}}}}))
    assert [one["metadata"]["generation"] for one in (labelled, changed)] == [1, 2]
    obj = decode(changed)
    assert isinstance(obj, PodTemplate) and obj.template.metadata.labels == {"app": "seal", "a": "b"}


def test_template_is_checked_as_pods_of_workloads_are(server: ApiServer[MemoryStore]) -> None:
    message = refusal(server, template(dnsPolicy="Never"))
    assert message.startswith('PodTemplate "otter" is invalid: template.spec.dnsPolicy: Unsupported value: "Never"')
    done(server, template())
    message = refusal(server, Patch(TEMPLATE, {"template": {"spec": {"restartPolicy": "Sometimes"}}}))
    assert message.startswith('PodTemplate "otter" is invalid: template.spec.restartPolicy: Unsupported value')


def test_template_has_the_warnings_of_its_pods(server: ApiServer[MemoryStore]) -> None:
    answer = ask(server, template(nodeSelector={"beta.kubernetes.io/os": "linux"}))
    assert isinstance(answer, Outcome)
    assert [one for one in answer.warnings if one.startswith("template.spec.nodeSelector")]
    again = ask(server, Patch(TEMPLATE, {"metadata": {"labels": {"x": "y"}}}, manager="kubectl"))
    assert isinstance(again, Outcome) and again.warnings == ()


def test_deleted_ones_are_shown_as_they_were(server: ApiServer[MemoryStore]) -> None:
    done(server, template())
    done(server, attributes())
    assert done(server, Delete(TEMPLATE))["kind"] == "PodTemplate"
    assert done(server, Delete(CLASS))["kind"] == "VolumeAttributesClass"


def test_attributes_never_change(server: ApiServer[MemoryStore]) -> None:
    obj = decode(done(server, attributes()))
    assert isinstance(obj, VolumeAttributesClass)
    assert (obj.driver_name, obj.parameters) == ("example.com/p", {"iops": "100"})
    message = refusal(server, Patch(CLASS, {"parameters": {"iops": "200"}}))
    assert message.endswith(' "silver" is invalid: parameters: Forbidden: updates to parameters are forbidden.')
    message = refusal(server, Patch(CLASS, {"driverName": "example.com/q"}))
    assert "driverName: Forbidden: updates to driverName are forbidden." in message
    assert "generation" not in done(server, Patch(CLASS, {"metadata": {"labels": {"x": "y"}}}))["metadata"]


@cases(
    "fields, detail",
    ("no driver", {"driverName": ""}, "driverName: Required value"),
    ("a driver of no name", {"driverName": "-"}, 'driverName: Invalid value: "-"'),
    ("none", {"parameters": {}}, "parameters: Required value: must contain at least one key/value pair"),
    ("an empty key", {"parameters": {"": "x"}}, 'parameters: Invalid value: "": field can not be empty.'),
)
def test_attributes_are_checked(server: ApiServer[MemoryStore], fields: Manifest, detail: str) -> None:
    assert refusal(server, attributes(**fields)).startswith(
        f'VolumeAttributesClass.storage.k8s.io "silver" is invalid: {detail}'
    )


def test_tables_have_kubectls_columns(server: ApiServer[MemoryStore]) -> None:
    shown = [tables.table_of_object(done(server, each), NOW, "None") for each in (template(), attributes())]
    columns = [[column["name"] for column in table["columnDefinitions"]] for table in shown]
    assert columns == [["Name", "Containers", "Images", "Pod Labels"], ["Name", "DriverName", "Age"]]
    cells = [table["rows"][0]["cells"] for table in shown]
    assert cells == [["otter", "c", "i:1", "a=b,app=otter"], ["silver", "example.com/p", "0s"]]
