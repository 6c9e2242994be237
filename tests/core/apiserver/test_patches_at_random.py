"""Patches at random, of all kinds and of every shape: none is an error of the server, and what it stores it shows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver.custom_samples import den
from tests.core.apiserver.customs import DEN_PATH, made, new_server, send

IN_DEFAULT = "/api/v1/namespaces/default"
CONTAINER = {"name": "c", "image": "i:1", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
OBJECTS: tuple[tuple[str, dict[str, Any]], ...] = (
    (f"{IN_DEFAULT}/configmaps", {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}}),
    (f"{IN_DEFAULT}/pods", {"kind": "Pod", "apiVersion": "v1", **TEMPLATE}),
    (f"{IN_DEFAULT}/services", {"kind": "Service", "apiVersion": "v1", "spec": {"ports": [{"port": 80}]}}),
    ("/apis/apps/v1/namespaces/default/deployments", {
        "kind": "Deployment", "apiVersion": "apps/v1",
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
    }),
    (DEN_PATH, den()),
)  # fmt: skip
STEPS = st.sampled_from(
    ("metadata", "name", "labels", "annotations", "managedFields", "spec", "status", "containers", "template", "ports",
     "replicas", "data", "depth", "conditions", "a", "kind", "apiVersion", "0", "-", "-1", "1", "", "~1", "~")
)  # fmt: skip
PATHS = st.lists(STEPS, max_size=5).map(lambda steps: "".join(f"/{step}" for step in steps)) | st.sampled_from(
    ("a", "/")
)
NAMES = ("metadata", "spec", "status", "labels", "containers", "name", "ports", "data", "a", "$patch", "$retainKeys",
         "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers", "finalizers", "kind")  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from((1.5, "", "a", "Pod", "delete", "replace"))
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(NAMES), below, max_size=3),
    max_leaves=8,
)


class OfThatObject(dict[str, Any]):
    """Parts of an object that says what it is."""


OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(("add", "remove", "replace", "move", "copy", "test", "x"))},
        optional={"path": PATHS, "from": PATHS, "value": VALUES},
    )
    | VALUES,
    max_size=6,
)
BODIES = (
    st.tuples(st.just(PatchType.JSON), OPERATIONS | VALUES)
    | st.tuples(st.sampled_from((PatchType.MERGE, PatchType.STRATEGIC)), VALUES)
    | st.tuples(st.just(PatchType.APPLY), VALUES | st.dictionaries(st.sampled_from(NAMES), VALUES).map(OfThatObject))
)


def served(path: str, manifest: dict[str, Any]) -> ApiServer:
    server = new_server()
    made(server, path, {**manifest, "metadata": {**manifest.get("metadata", {}), "name": "deep"}})
    return server


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@pytest.mark.parametrize(("path", "manifest"), OBJECTS, ids=lambda each: each if isinstance(each, str) else "")
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(patches=st.lists(st.tuples(st.sampled_from(("", "/status", "/scale")), BODIES), min_size=1, max_size=4))
def test_no_patch_is_an_error_of_the_server(
    path: str, manifest: dict[str, Any], patches: list[tuple[str, tuple[PatchType, Any]]]
) -> None:
    server, whole = served(path, manifest), f"{path}/deep"
    for part, (patch_type, body) in patches:
        force = {"force": "true", "fieldManager": "m"} if patch_type == PatchType.APPLY else {}
        if isinstance(body, OfThatObject):
            identity = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}
            body = {**identity, **body, "metadata": {"name": "deep", **_map(body.get("metadata"))}}
        reply = send(server, "PATCH", whole + part, body, patch_type, **force)
        # kube-apiserver says 500, in words, of what it cannot lay over an object.
        says_why = patch_type in (PatchType.STRATEGIC, PatchType.APPLY) and reply.body.get("message")
        assert reply.code < 500 or says_why, reply.body
        if reply.code == 200 and not part:
            assert send(server, "GET", whole).body == reply.body
