"""Kinds for other programs are stored, refused and shown as kube-apiserver 1.34 does.

`stored_kinds.jsonl` has creations and what the real server made of them: the object without what differs by the moment,
its cells before its age, warnings; or why it was refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.apiserver import tables
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from tests.cases import cases
from tests.core.apiserver.asking import NOW, send

Json = dict[str, Any]
CASES = [json.loads(line) for line in (Path(__file__).parent / "stored_kinds.jsonl").read_text().splitlines()]
MOMENTARY = ("uid", "resourceVersion", "creationTimestamp", "managedFields")


def path(manifest: Json, name: str = "") -> str:
    version = manifest["apiVersion"]
    place = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{place}/namespaces/default/{KINDS[manifest['kind']].cls.plural}" + (f"/{name}" if name else "")


def lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in MOMENTARY}
    return [lasting(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", CASES, ids=[f"{case['plural']}-{number}" for number, case in enumerate(CASES)])
def test_creation_is_answered_as_the_real_server_does(frozen: ApiServer, case: Json) -> None:
    manifest = case["manifest"]
    reply = send(frozen, "POST", path(manifest), manifest)
    assert reply.code == case["status"], reply.body
    assert list(reply.warnings) == case.get("warnings", [])
    if reply.code != 201:
        causes = reply.body.get("details", {}).get("causes", [])
        assert sorted(f"{cause.get('field', '')}: {cause['message']}" for cause in causes) == case["causes"]
        assert causes or reply.body["message"] == case["message"]
        return
    assert lasting(dict(reply.body)) == case["stored"]
    assert reply.stored is not None
    (row,) = tables.table(reply.kind, [reply.stored], NOW)["rows"]
    assert row["cells"][: len(case["cells"])] == case["cells"]


def config(kind: str, **fields: Any) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, **fields}


@cases(
    "before, after, problems",
    ("what is not immutable", config("ConfigMap", data={"a": "1"}), config("ConfigMap", data={"b": "2"}), []),
    ("data, and that it is", config("ConfigMap", data={"a": "1"}, immutable=True), config("ConfigMap", data={"a": "2"}),
     ["data", "immutable"]),
    ("binary data", config("ConfigMap", immutable=True), config("ConfigMap", immutable=True, binaryData={"a": "AA=="}),
     ["binaryData"]),
    ("data of a secret that go", config("Secret", data={"a": "AA=="}, immutable=True), config("Secret", immutable=True),
     ["data"]),
    ("type of a secret", config("Secret"), config("Secret", type="my/type"), ["type"]),
)  # fmt: skip
def test_what_is_immutable_stays(frozen: ApiServer, before: Json, after: Json, problems: list[str]) -> None:
    assert send(frozen, "POST", path(before), before).code == 201
    reply = send(frozen, "PUT", path(before, "x"), after)
    assert sorted(cause["field"] for cause in reply.body.get("details", {}).get("causes", [])) == problems


def test_texts_of_a_secret_are_merged_into_its_data(frozen: ApiServer) -> None:
    secret = config("Secret", data={"a": "b2xk", "b": "Yg=="})
    send(frozen, "POST", path(secret), secret)
    patch = {"stringData": {"a": "new"}}
    reply = send(frozen, "PATCH", path(secret, "x"), patch, patch_type=PatchType.STRATEGIC)
    assert reply.body["data"] == {"a": "bmV3", "b": "Yg=="} and "stringData" not in reply.body


def test_bytes_that_are_written_in_two_ways_are_the_same(frozen: ApiServer) -> None:
    secret = config("Secret", data={"a": "AA=="}, immutable=True)
    send(frozen, "POST", path(secret), secret)
    reply = send(frozen, "PUT", path(secret, "x"), {**secret, "data": {"a": "AB==\n"}})
    assert reply.code == 200 and reply.body["data"] == {"a": "AA=="}


def test_a_refused_patch_of_a_secret_does_not_tell_it(frozen: ApiServer) -> None:
    secret = config("Secret", data={"a": "b3R0ZXI="})
    send(frozen, "POST", path(secret), secret)
    reply = send(frozen, "PATCH", path(secret, "x"), {"immutable": "b3R0ZXI="}, patch_type=PatchType.MERGE)
    assert reply.code == 422 and "b3R0ZXI=" not in json.dumps(reply.body)


def test_a_slice_counts_its_changes_and_keeps_its_type(frozen: ApiServer) -> None:
    part = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "x"}, "ports": []}
    first = {**part, "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]}
    send(frozen, "POST", path(first), first)
    same = {**first, "metadata": {"name": "x", "annotations": {"a": "b"}}}
    assert send(frozen, "PUT", path(first, "x"), same).body["metadata"]["generation"] == 1
    other = {**same, "endpoints": [{"addresses": ["10.0.0.2"]}]}
    assert send(frozen, "PUT", path(first, "x"), other).body["metadata"]["generation"] == 2
    refused = send(frozen, "PUT", path(first, "x"), {**other, "addressType": "IPv6"})
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["addressType"]
    refused = send(frozen, "PUT", path(first, "x"), {**other, "endpoints": [{"addresses": ["127.0.0.1"]}]})
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["endpoints[0].addresses[0]"]


def test_endpoints_are_made_by_an_update_too(frozen: ApiServer) -> None:
    endpoints = config("Endpoints", subsets=[{"addresses": [{"ip": "10.0.0.1"}]}])
    assert send(frozen, "PUT", path(endpoints, "x"), endpoints).code == 201


def test_a_revision_keeps_its_data(frozen: ApiServer) -> None:
    part = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "x"}, "data": {"a": 1}}
    send(frozen, "POST", path(part), {**part, "revision": 1})
    assert send(frozen, "PUT", path(part, "x"), {**part, "revision": 2}).code == 200
    refused = send(frozen, "PUT", path(part, "x"), {**part, "data": {"a": 2}, "revision": 2})
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["data"]


def test_a_cron_job_may_keep_a_long_name_and_not_a_bad_schedule(frozen: ApiServer) -> None:
    case = next(one for one in CASES if one["plural"] == "cronjobs" and one["status"] == 201)["manifest"]
    assert send(frozen, "POST", path(case), case).body["metadata"]["generation"] == 1
    place = path(case, case["metadata"]["name"])
    patch = {"spec": {"suspend": True}}
    assert send(frozen, "PATCH", place, patch, patch_type=PatchType.MERGE).body["metadata"]["generation"] == 2
    refused = send(frozen, "PATCH", place, {"spec": {"schedule": "x"}}, patch_type=PatchType.MERGE)
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["spec.schedule"]
    status = {"status": {"lastScheduleTime": "2030-01-01T00:00:00Z"}}
    told = send(frozen, "PATCH", f"{place}/status", status, patch_type=PatchType.MERGE)
    assert told.body["status"] == status["status"]
